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

from lineage.core.capture import Capture
from lineage.errors import TranscriptError
from lineage.harness import opencode_parts
from lineage.harness.jsonl import DAMAGED, read_bytes
from lineage.harness.listing import files
from lineage.harness.port import Found
from lineage.harness.sqlite import Row, inspected, rows, tables
from lineage.harness.values import mapping, sequence, string

_V1 = frozenset({"session", "message", "part"})
_V2 = frozenset({"session_v2", "session_message"})
_EXPORT_KEYS = frozenset({"info", "messages"})
_EXPORT = re.compile(rb'\s*\{\s*"info"\s*:')
_OPENING = 256
_SPACE = " \t\r\n\x00\ufeff"
_HINT = "name a database `opencode.db`, or what `opencode export SESSION > FILE.json` wrote"

Object = dict[str, Any]


def read(path: Path, session: str | None = None) -> Capture:
    """A session of a database, or the one that a `.json` file holds: an export, or a session of the old tree.

    Raises TranscriptError for files that are unreadable, damaged or foreign, and databases that lack the session.
    """
    skipped: Counter[str] = Counter()
    if path.suffix.lower() != ".json":
        info, messages = inspected(path, lambda connection: _of_database(connection, path, session, skipped))
        return opencode_parts.capture(info, messages, skipped)
    document = _document(path)
    if document is None:
        return Capture(turns=())
    if document.keys() >= _EXPORT_KEYS:
        messages = _objects(document["messages"], skipped)
        return opencode_parts.capture(mapping(document["info"]), messages, skipped)
    if _is_in_tree(path) and document.get("id") == path.stem:
        return opencode_parts.capture(document, list(_of_tree(path, skipped)), skipped)
    raise TranscriptError(f"no OpenCode session in {path}", hint=_HINT)


def roots(home: Path, environment: Mapping[str, str]) -> list[Path]:
    """The data folder, and the database that `OPENCODE_DB` names, if it isn't found in there."""
    data = Path(environment.get("XDG_DATA_HOME") or home / ".local/share", "opencode")
    named = environment.get("OPENCODE_DB", "")
    if named in ("", ":memory:") or _is_database(data / named, data):
        return [data]
    return [data, data / named]


def found(root: Path) -> Iterator[Found]:
    """The sessions of the databases, then those of the old tree that no database holds, and exports. Sub-agents'
    sessions are passed over; a database that cannot be read is named, so that the reader says why."""
    if root.is_file() and root.suffix.lower() == ".json":
        yield Found(root)
        return
    known: set[str] = set()
    for item in files(root, (".db",)):
        if item.path == root or _is_database(item.path, item.path.parent):
            for one in _found_in_database(item.path):
                known.add(one.session or "")
                yield one
    if root.is_dir():
        yield from (item for item in files(root, (".json",)) if _is_session_file(item.path, known))


# Databases


def _is_database(path: Path, folder: Path) -> bool:
    return path.parent == folder and path.name.startswith("opencode") and path.suffix == ".db"


def _found_in_database(path: Path) -> Iterator[Found]:
    try:
        sessions = inspected(path, _sessions)
    except TranscriptError:
        yield Found(path)
        return
    yield from (Found(path, name) for name in sorted(sessions) if not sessions[name]["parentID"])


def _sessions(connection: sqlite3.Connection) -> dict[str, Object]:
    """The sessions by id."""
    held = tables(connection)
    old = rows(connection, "SELECT * FROM session") if held >= _V1 else []
    new = rows(connection, "SELECT * FROM session_v2") if held >= _V2 else []
    return {string(row.get("id")): _info(row) for row in (*old, *new) if string(row.get("id"))}


def _info(row: Row) -> Object:
    """A session's row in the form of an export's `info`."""
    return {
        "id": row["id"],
        "parentID": row.get("parent_id"),
        "forkedFrom": row.get("fork_session_id"),
        "directory": row.get("directory"),
        "title": row.get("title"),
        "revert": _decoded(row.get("revert")),
    }


def _of_database(
    connection: sqlite3.Connection, path: Path, session: str | None, skipped: Counter[str]
) -> tuple[Object, list[Object]]:
    skipped.clear()  # it is read again where the database changed meanwhile
    sessions = _sessions(connection)
    name = session or (next(iter(sessions)) if len(sessions) == 1 else "")
    if name not in sessions:
        what = f"session {session}" if session else f"one session but {len(sessions)}"
        raise TranscriptError(f"the database {path} does not hold {what}", hint="name one of its sessions by its id")
    held = tables(connection)
    messages = _new_messages(connection, name, skipped) if held >= _V2 else []
    if not messages and held >= _V1:
        messages = _old_messages(connection, name, skipped)
    return sessions[name], messages


def _old_messages(connection: sqlite3.Connection, session: str, skipped: Counter[str]) -> list[Object]:
    parts: dict[str, list[Object]] = {}
    query = "SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY id"
    for row in rows(connection, query, session):
        if (data := _data(row, skipped)) is not None:
            parts.setdefault(row["message_id"], []).append({**data, "id": row["id"]})
    query = "SELECT id, time_created, data FROM message WHERE session_id = ? ORDER BY time_created, id"
    return [
        {"info": {**_timed(data, row), "id": row["id"]}, "parts": parts.get(row["id"], [])}
        for row in rows(connection, query, session)
        if (data := _data(row, skipped)) is not None
    ]


def _new_messages(connection: sqlite3.Connection, session: str, skipped: Counter[str]) -> list[Object]:
    query = "SELECT id, type, time_created, data FROM session_message WHERE session_id = ? ORDER BY seq, id"
    return [
        {**_timed(data, row), "id": row["id"], "type": row["type"]}
        for row in rows(connection, query, session)
        if (data := _data(row, skipped)) is not None
    ]


def _timed(data: Object, row: Row) -> Object:
    return {**data, "time": {"created": row["time_created"], **mapping(data.get("time"))}}


def _data(row: Row, skipped: Counter[str]) -> Object | None:
    data = _decoded(row["data"])
    if not isinstance(data, dict):
        skipped[DAMAGED] += 1
        return None
    return data


def _decoded(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None


# Files


def _document(path: Path) -> Object | None:
    """A file's JSON object; None where the file holds nothing."""
    text = read_bytes(path).decode("utf-8", errors="replace").strip(_SPACE)
    if not text:
        return None
    document = _decoded(text)
    if not isinstance(document, dict):
        raise TranscriptError(f"no JSON object: {path}", hint=_HINT)
    return document


def _objects(values: Any, skipped: Counter[str]) -> list[Object]:
    objects = []
    for value in sequence(values):
        if isinstance(value, dict):
            objects.append(value)
        else:
            skipped[DAMAGED] += 1
    return objects


def _is_in_tree(path: Path) -> bool:
    """`storage/session/<project>/<session>.json`"""
    return path.absolute().parts[-4:-2] == ("storage", "session")


def _of_tree(path: Path, skipped: Counter[str]) -> Iterator[Object]:
    """The messages, each with its parts, in the order of the database: by time, then id."""
    storage = path.absolute().parents[2]
    infos = _files_of(storage / "message" / path.stem, skipped)
    infos.sort(key=lambda info: (_created(info), info["id"]))
    for info in infos:
        yield {"info": info, "parts": _files_of(storage / "part" / info["id"], skipped)}


def _files_of(folder: Path, skipped: Counter[str]) -> list[Object]:
    """The objects of a folder's files, by name; the name is the id."""
    objects = []
    for item in files(folder, (".json",)) if folder.is_dir() else ():
        value = _decoded(read_bytes(item.path))
        if isinstance(value, dict):
            objects.append({**value, "id": item.path.stem})
        else:
            skipped[DAMAGED] += 1
    return objects


def _created(info: Object) -> float:
    created = mapping(info.get("time")).get("created")
    return created if isinstance(created, int | float) else 0


def _is_session_file(path: Path, known: set[str]) -> bool:
    """An export, or a main session of the old tree that isn't among those that are known."""
    try:
        if not _is_in_tree(path):
            with path.open("rb") as file:
                return _EXPORT.match(file.read(_OPENING)) is not None
        info = _document(path)
    except (OSError, TranscriptError):
        return False
    return path.stem not in known and info is not None and not info.get("parentID")
