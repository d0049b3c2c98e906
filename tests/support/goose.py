"""Goose's sessions, made up: as an export and as a database."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

Record = dict[str, Any]

T = 1790931600
AT = "2026-10-02T09:00:00.000Z"
PNG = "iVBORw0KGgo" * 30
NOTE = "[image image/png, 247 bytes left out]"

TABLES = """
    CREATE TABLE sessions(id TEXT PRIMARY KEY, name TEXT, description TEXT, session_type TEXT, working_dir TEXT,
        parent_session_id TEXT, model_config_json TEXT);
    CREATE TABLE messages(id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT, role TEXT,
        content_json TEXT, created_timestamp INTEGER, metadata_json TEXT);
"""


def make_export(*messages: Record, **header: Any) -> Record:
    conversation = [
        {"id": f"m{number}", "created": T + 60 * number} | message for number, message in enumerate(messages)
    ]
    return {"id": "20261002_1", "working_dir": "/home/ada/demo", "conversation": conversation, **header}


def make_user_message(*contents: Any, **more: Any) -> Record:
    return {"role": "user", "content": list(contents), **more}


def make_assistant_message(*contents: Any, **more: Any) -> Record:
    return {"role": "assistant", "content": list(contents), **more}


def make_text(words: str) -> Record:
    return {"type": "text", "text": words}


def make_image() -> Record:
    return {"type": "image", "data": PNG, "mimeType": "image/png"}


def make_tool_call(name: str, call_id: str = "t1", **arguments: Any) -> Record:
    return {
        "type": "toolRequest", "id": call_id,
        "toolCall": {"status": "success", "value": {"name": name, "arguments": arguments}},
    }  # fmt: skip


def make_tool_result(value: Any, call_id: str = "t1", status: str = "success", **more: Any) -> Record:
    return {"type": "toolResponse", "id": call_id, "toolResult": {"status": status, "value": value, **more}}


def make_visibility(*, people: bool, agent: bool) -> Record:
    return {"metadata": {"userVisible": people, "agentVisible": agent}}


def write_database(path: Path, *sessions: Record) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(TABLES)
        for session in sessions:
            keys = ("id", "name", "description", "session_type", "working_dir", "parent_session_id")
            config = json.dumps({"model_name": "claude-opus-5"})
            values = (*(session.get(key) for key in keys), config)
            connection.execute("INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?)", values)
            for message in session["conversation"]:
                content, metadata = json.dumps(message["content"]), json.dumps(message.get("metadata"))
                row = (message["id"], session["id"], message["role"], content, message["created"], metadata)
                connection.execute("INSERT INTO messages VALUES (NULL, ?, ?, ?, ?, ?, ?)", row)
        connection.commit()
    return path
