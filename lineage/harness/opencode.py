"""OpenCode's sessions: its SQLite database in both schemas, an export, and the tree of JSON files before it.
(harnesses.md, section 4)

Where a session lies in a database in both schemas, the newer one is read: the older is frozen there.
"""

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lineage.core.capture.capture import Capture
from lineage.errors import TranscriptError
from lineage.harness import opencode_parts
from lineage.harness.adapter import SessionLocation
from lineage.harness.history_files import list_files
from lineage.harness.json_values import as_list, as_mapping, as_string
from lineage.harness.jsonl import DAMAGED, read_bytes
from lineage.harness.sqlite import Row, fetch_rows, list_tables, read_database

_V1 = frozenset({"session", "message", "part"})
_V2 = frozenset({"session_v2", "session_message"})
_EXPORT_KEYS = frozenset({"info", "messages"})
_EXPORT = re.compile(rb'\s*\{\s*"info"\s*:')
_HEAD_BYTES = 256
_SPACE = " \t\r\n\x00\ufeff"
_HINT = "name a database `opencode.db`, or what `opencode export SESSION > FILE.json` wrote"

JsonObject = dict[str, Any]


def read(path: Path, session: str | None = None) -> Capture:
    """A session of a database, or the one that a `.json` file holds: an export, or a session of the old tree.

    Raises TranscriptError for files that are unreadable, damaged or foreign, and databases that lack the session.
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
    """The data folder, and the database that `OPENCODE_DB` names, if it isn't found in there."""
    data = Path(environment.get("XDG_DATA_HOME") or home / ".local/share", "opencode")
    named = environment.get("OPENCODE_DB", "")
    if named in ("", ":memory:") or _is_database(data / named, data):
        return [data]
    return [data, data / named]


def discover(root: Path) -> Iterator[SessionLocation]:
    """The sessions of the databases, then those of the old tree that no database holds, and exports. Sub-agents'
    sessions are passed over; a database that cannot be read is named, so that the reader says why."""
    if root.is_file() and root.suffix.lower() == ".json":
        yield SessionLocation(root)
        return
    known: set[str] = set()
    for item in list_files(root, (".db",)):
        if item.path == root or _is_database(item.path, item.path.parent):
            for one in _discover_in_database(item.path):
                known.add(one.session or "")
                yield one
    if root.is_dir():
        yield from (item for item in list_files(root, (".json",)) if _is_session_file(item.path, known))


# Databases


def _is_database(path: Path, folder: Path) -> bool:
    return path.parent == folder and path.name.startswith("opencode") and path.suffix == ".db"


def _discover_in_database(path: Path) -> Iterator[SessionLocation]:
    try:
        sessions = read_database(path, _list_sessions)
    except TranscriptError:
        yield SessionLocation(path)
        return
    yield from (SessionLocation(path, name) for name in sorted(sessions) if not sessions[name]["parentID"])


def _list_sessions(connection: sqlite3.Connection) -> dict[str, JsonObject]:
    """The sessions by id."""
    held = list_tables(connection)
    old = fetch_rows(connection, "SELECT * FROM session") if held >= _V1 else []
    new = fetch_rows(connection, "SELECT * FROM session_v2") if held >= _V2 else []
    return {as_string(row.get("id")): _info(row) for row in (*old, *new) if as_string(row.get("id"))}


def _info(row: Row) -> JsonObject:
    """A session's row in the form of an export's `info`."""
    return {
        "id": row["id"],
        "parentID": row.get("parent_id"),
        "forkedFrom": row.get("fork_session_id"),
        "directory": row.get("directory"),
        "title": row.get("title"),
        "revert": _decode_json(row.get("revert")),
    }


def _read_session(
    connection: sqlite3.Connection, path: Path, session: str | None, skipped: Counter[str]
) -> tuple[JsonObject, list[JsonObject]]:
    skipped.clear()  # it is read again where the database changed meanwhile
    sessions = _list_sessions(connection)
    name = session or (next(iter(sessions)) if len(sessions) == 1 else "")
    if name not in sessions:
        what = f"session {session}" if session else f"one session but {len(sessions)}"
        raise TranscriptError(f"the database {path} does not hold {what}", hint="name one of its sessions by its id")
    held = list_tables(connection)
    messages = _read_v2_messages(connection, name, skipped) if held >= _V2 else []
    if not messages and held >= _V1:
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
    data = _decode_json(row["data"])
    if not isinstance(data, dict):
        skipped[DAMAGED] += 1
        return None
    return data


def _decode_json(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None


# Files


def _read_document(path: Path) -> JsonObject | None:
    """A file's JSON object; None where the file holds nothing."""
    text = read_bytes(path).decode("utf-8", errors="replace").strip(_SPACE)
    if not text:
        return None
    document = _decode_json(text)
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
    """`storage/session/<project>/<session>.json`"""
    return path.absolute().parts[-4:-2] == ("storage", "session")


def _read_tree(path: Path, skipped: Counter[str]) -> Iterator[JsonObject]:
    """The messages, each with its parts, in the order of the database: by time, then id."""
    storage = path.absolute().parents[2]
    infos = _read_files(storage / "message" / path.stem, skipped)
    infos.sort(key=lambda info: (_creation_time(info), info["id"]))
    for info in infos:
        yield {"info": info, "parts": _read_files(storage / "part" / info["id"], skipped)}


def _read_files(folder: Path, skipped: Counter[str]) -> list[JsonObject]:
    """The objects of a folder's files, by name; the name is the id."""
    objects = []
    for item in list_files(folder, (".json",)) if folder.is_dir() else ():
        value = _decode_json(read_bytes(item.path))
        if isinstance(value, dict):
            objects.append({**value, "id": item.path.stem})
        else:
            skipped[DAMAGED] += 1
    return objects


def _creation_time(info: JsonObject) -> float:
    created = as_mapping(info.get("time")).get("created")
    return created if isinstance(created, int | float) else 0


def _is_session_file(path: Path, known_ids: set[str]) -> bool:
    """An export, or a main session of the old tree that isn't among those that are known."""
    try:
        if not _is_in_tree(path):
            with path.open("rb") as file:
                return _EXPORT.match(file.read(_HEAD_BYTES)) is not None
        info = _read_document(path)
    except (OSError, TranscriptError):
        return False
    return path.stem not in known_ids and info is not None and not info.get("parentID")
