"""OpenCode's sessions, made up: as an export, as a database in the older schema, and as the tree of files before it."""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from lineage.core.capture.capture import Capture

Record = dict[str, Any]

T = 1790931600000
AT = "2026-10-02T09:00:00.000Z"

V1_TABLES = """
    CREATE TABLE session(
        id text primary key, parent_id text, directory text, title text, time_created integer, revert text
    );
    CREATE TABLE message(id text primary key, session_id text, time_created integer, data text);
    CREATE TABLE part(id text primary key, message_id text, session_id text, data text);
"""
V2_TABLES = """
    CREATE TABLE session_v2(id text primary key, parent_id text, fork_session_id text, directory text, title text);
    CREATE TABLE session_message(
        id text primary key, session_id text, type text, seq integer, time_created integer, data text
    );
"""


def make_export(*messages: Record, **info: Any) -> Record:
    return {"info": {"id": "ses_1", "directory": "/home/ada/demo", **info}, "messages": list(number_messages(messages))}


def number_messages(messages: Iterable[Record]) -> Iterator[Record]:
    for number, message in enumerate(messages, 1):
        base = {"id": f"msg_{number}", "time": {"created": T, **({"completed": T} if is_done(message) else {})}}
        if "info" not in message:
            yield base | message
            continue
        parts = [{"id": f"prt_{number}_{index}", **part} for index, part in enumerate(message["parts"], 1)]
        yield {"info": base | message["info"], "parts": parts}


def is_done(message: Record) -> bool:
    """Whether a message has ended; `done` says so and is no part of it."""
    return message.pop("done", True)


def make_user_message(*parts: Record, **info: Any) -> Record:
    return {"info": {"role": "user", **info}, "parts": list(parts)}


def make_assistant_message(*parts: Record, done: bool = True, **info: Any) -> Record:
    return {"info": {"role": "assistant", "modelID": "claude-opus-5", **info}, "parts": list(parts), "done": done}


def make_text(words: str, **more: Any) -> Record:
    return {"type": "text", "text": words, **more}


def make_tool_call(name: str, status: str = "completed", state: Record | None = None, **arguments: Any) -> Record:
    return {"type": "tool", "tool": name, "state": {"status": status, "input": arguments, **(state or {})}}


def list_messages(capture: Capture) -> list[tuple[str, str]]:
    """Role and text, or the tool's name where a turn has no text."""
    return [(turn.role, turn.text or turn.name) for turn in capture.turns]


def write_database(path: Path, *sessions: Record) -> Path:
    """A database of exports' sessions in the tables of version 1."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(V1_TABLES)
        for session in sessions:
            info = session["info"]
            values = (info["id"], info.get("parentID"), info["directory"], info.get("title"), T, info.get("revert"))
            connection.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?)", values)
            for message in session["messages"]:
                row = (message["info"]["id"], info["id"], T, json.dumps(message["info"]))
                connection.execute("INSERT INTO message VALUES (?, ?, ?, ?)", row)
                for part in message["parts"]:
                    row = (part["id"], message["info"]["id"], info["id"], json.dumps(part))
                    connection.execute("INSERT INTO part VALUES (?, ?, ?, ?)", row)
        connection.commit()
    return path


def write_tree(root: Path, session: Record) -> Path:
    """A session as the files that OpenCode kept before it had a database; the file to read."""
    info = session["info"]
    files = {f"session/proj/{info['id']}": info}
    for message in session["messages"]:
        files[f"message/{info['id']}/{message['info']['id']}"] = message["info"]
        files |= {f"part/{message['info']['id']}/{part['id']}": part for part in message["parts"]}
    for name, value in files.items():
        path = root / f"storage/{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))
    return root / f"storage/session/proj/{info['id']}.json"
