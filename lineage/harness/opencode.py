"""The adapter of OpenCode: its SQLite database in both schemas, an export, and the older tree of JSON files.

For a session in both schemas of a database it reads the newer one: the older is frozen there. (harnesses.md, section 4)
"""

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from lineage.core.capture.capture import Capture
from lineage.errors import TranscriptError
from lineage.harness import opencode_parts
from lineage.harness.adapter import SessionLocation, choose_session, list_files
from lineage.harness.json_values import JsonObject, as_list, as_mapping, as_string, decode_json
from lineage.harness.jsonl import DAMAGED, read_bytes, read_text
from lineage.harness.sqlite import Row, fetch_rows, list_known_tables, list_tables, read_database

# The tables of each schema. A migrated database has both.
_V1 = frozenset({"session", "message", "part"})
_V2 = frozenset({"session_v2", "session_message"})
_EXPORT_KEYS = frozenset({"info", "messages"})
# A project's folder may hold any JSON: the first key shows an export.
_EXPORT = re.compile(rb'\s*\{\s*"info"\s*:')
_HEAD_BYTES = 256
_HINT = "name a database `opencode.db`, or what `opencode export SESSION > FILE.json` wrote"


def read(path: Path, session: str | None = None) -> Capture:
    """Return a session of a database, or the one of a `.json` file: an export, or a session of the old tree.

    Raise TranscriptError for files that are unreadable, damaged or foreign, and databases that lack the session.
    """
    skipped: Counter[str] = Counter()
    if path.suffix.lower() != ".json":
        info, messages = read_database(path, lambda connection: _read_session(connection, path, session, skipped))
        return opencode_parts.build_capture(info, messages, skipped)
    document = _read_document(path)
    if document is None:
        return Capture(turns=())
    if document.keys() >= _EXPORT_KEYS:
        messages = _objects(document["messages"], skipped)
        return opencode_parts.build_capture(as_mapping(document["info"]), messages, skipped)
    if _is_in_tree(path) and document.get("id") == path.stem:
        return opencode_parts.build_capture(document, list(_read_tree(path, skipped)), skipped)
    raise TranscriptError(f"no OpenCode session in {path}", hint=_HINT)


def list_roots(home: Path, environment: Mapping[str, str]) -> list[Path]:
    """Return the data folder, and the database that `OPENCODE_DB` names if it lies elsewhere."""
    data = Path(environment.get("XDG_DATA_HOME") or home / ".local/share", "opencode")
    named = environment.get("OPENCODE_DB", "")
    if named in ("", ":memory:") or _is_database(data / named, data):
        return [data]
    return [data, data / named]


def list_sub_agent_places(transcript: Path, session: str) -> list[Path]:
    """Return the files and folders that may hold the transcripts of a session's sub-agents."""
    return [transcript] if transcript.suffix == ".db" else []


def discover(root: Path) -> Iterator[SessionLocation]:
    """Yield the sessions of the databases, then the other ones of the old tree, and exports.

    An unreadable database is listed, so that reading it reports the error.
    """
    if root.is_file() and root.suffix.lower() == ".json":
        yield SessionLocation(root)
        return
    known_ids: set[str] = set()
    for item in list_files(root, (".db",)):
        if item.path == root or _is_database(item.path, item.path.parent):
            for location in _discover_in_database(item.path):
                known_ids.add(location.session or "")
                yield location
    if root.is_dir():
        for item in list_files(root, (".json",)):
            yield from _locate_in_file(item, known_ids)


# Databases


def _is_database(path: Path, folder: Path) -> bool:
    return path.parent == folder and path.name.startswith("opencode") and path.suffix == ".db"


def _discover_in_database(path: Path) -> Iterator[SessionLocation]:
    try:
        sessions = read_database(path, _list_sessions)
    except TranscriptError:
        yield SessionLocation(path)
        return
    yield from (SessionLocation(path, name, info["parentID"]) for name, info in sorted(sessions.items()))


def _list_sessions(connection: sqlite3.Connection) -> dict[str, JsonObject]:
    tables = list_known_tables(connection, _V1, _V2)
    old = fetch_rows(connection, "SELECT * FROM session") if tables >= _V1 else []
    new = fetch_rows(connection, "SELECT * FROM session_v2") if tables >= _V2 else []
    return {as_string(row.get("id")): _info(row) for row in (*old, *new) if as_string(row.get("id"))}


def _info(row: Row) -> JsonObject:
    """Return a session's row in the form of an export's `info`."""
    return {
        "id": row["id"],
        "parentID": row.get("parent_id"),
        "forkedFrom": row.get("fork_session_id"),
        "directory": row.get("directory"),
        "title": row.get("title"),
        "revert": decode_json(row.get("revert")),
    }


def _read_session(
    connection: sqlite3.Connection, path: Path, session: str | None, skipped: Counter[str]
) -> tuple[JsonObject, list[JsonObject]]:
    skipped.clear()  # a change of the database makes `read_database` call this again
    sessions = _list_sessions(connection)
    name = choose_session(sessions, session, f"the database {path}", "name one of its sessions by its id")
    tables = list_tables(connection)
    messages = _read_v2_messages(connection, name, skipped) if tables >= _V2 else []
    if not messages and tables >= _V1:
        messages = _read_v1_messages(connection, name, skipped)
    return sessions[name], messages


def _read_v1_messages(connection: sqlite3.Connection, session: str, skipped: Counter[str]) -> list[JsonObject]:
    parts: dict[str, list[JsonObject]] = {}
    query = "SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY id"
    for row in fetch_rows(connection, query, session):
        if (data := _decode_row(row, skipped)) is not None:
            parts.setdefault(row["message_id"], []).append({**data, "id": row["id"]})
    query = "SELECT id, time_created, data FROM message WHERE session_id = ? ORDER BY time_created, id"
    return [
        {"info": {**_with_time(data, row), "id": row["id"]}, "parts": parts.get(row["id"], [])}
        for row in fetch_rows(connection, query, session)
        if (data := _decode_row(row, skipped)) is not None
    ]


def _read_v2_messages(connection: sqlite3.Connection, session: str, skipped: Counter[str]) -> list[JsonObject]:
    query = "SELECT id, type, time_created, data FROM session_message WHERE session_id = ? ORDER BY seq, id"
    return [
        {**_with_time(data, row), "id": row["id"], "type": row["type"]}
        for row in fetch_rows(connection, query, session)
        if (data := _decode_row(row, skipped)) is not None
    ]


def _with_time(data: JsonObject, row: Row) -> JsonObject:
    return {**data, "time": {"created": row["time_created"], **as_mapping(data.get("time"))}}


def _decode_row(row: Row, skipped: Counter[str]) -> JsonObject | None:
    data = decode_json(row["data"])
    if not isinstance(data, dict):
        skipped[DAMAGED] += 1
        return None
    return data


# Files


def _read_document(path: Path) -> JsonObject | None:
    """Return a file's JSON object, None for an empty file."""
    text = read_text(path)
    if not text:
        return None
    document = decode_json(text)
    if not isinstance(document, dict):
        raise TranscriptError(f"no JSON object: {path}", hint=_HINT)
    return document


def _objects(values: Any, skipped: Counter[str]) -> list[JsonObject]:
    objects = []
    for value in as_list(values):
        if isinstance(value, dict):
            objects.append(value)
        else:
            skipped[DAMAGED] += 1
    return objects


def _is_in_tree(path: Path) -> bool:
    """Return whether a path is `storage/session/<project>/<session>.json`."""
    return path.absolute().parts[-4:-2] == ("storage", "session")


def _read_tree(path: Path, skipped: Counter[str]) -> Iterator[JsonObject]:
    """Yield the messages, each with its parts, in the order of the database: by time, then id."""
    storage = path.absolute().parents[2]

    def order(info: JsonObject) -> tuple[float, str]:
        created = as_mapping(info.get("time")).get("created")
        return (created if isinstance(created, int | float) else 0), info["id"]

    for info in sorted(_read_files(storage / "message" / path.stem, skipped), key=order):
        yield {"info": info, "parts": _read_files(storage / "part" / info["id"], skipped)}


def _read_files(folder: Path, skipped: Counter[str]) -> list[JsonObject]:
    """Return the objects of a folder's files in the order of their names: those are the ids."""
    objects = []
    for item in list_files(folder, (".json",)) if folder.is_dir() else ():
        value = decode_json(read_bytes(item.path))
        if isinstance(value, dict):
            objects.append({**value, "id": item.path.stem})
        else:
            skipped[DAMAGED] += 1
    return objects


def _locate_in_file(item: SessionLocation, known_ids: set[str]) -> Iterator[SessionLocation]:
    """Yield a file if it is an export, or a session of the old tree outside of `known_ids`, with its parent."""
    try:
        if not _is_in_tree(item.path):
            with item.path.open("rb") as file:
                yield from [item] * (_EXPORT.match(file.read(_HEAD_BYTES)) is not None)
            return
        info = _read_document(item.path)
    except (OSError, TranscriptError):
        return
    if item.path.stem not in known_ids and info is not None:
        yield replace(item, parent=as_string(info.get("parentID")) or None)
