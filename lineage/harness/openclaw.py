"""The adapter of OpenClaw: pi's entries, since July 2026 in a database of each agent. (harnesses.md, section 8).

`agents/<agent>/agent/openclaw-agent.sqlite` holds the entries of every session, long ones compressed; before they lay
in `agents/<agent>/sessions/<id>.jsonl`. Sessions in OpenClaw's own archive are no longer read.

The session key is a lane: a lasting chat with one session after another. The database names it, as the hook's payload
does; in files it is unknown. (format: Identity)
"""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from lineage.core.capture.capture import Capture
from lineage.errors import TranscriptError, format_package_hint
from lineage.harness.adapter import SessionLocation, choose_session, list_files
from lineage.harness.json_values import JsonObject, as_string, decode_json
from lineage.harness.jsonl import DAMAGED
from lineage.harness.pi import read_tree_records, read_tree_transcript
from lineage.harness.sqlite import Row, fetch_rows, list_known_tables, read_database

ARCHIVED = "in OpenClaw's archive"

_DATABASE = "openclaw-agent.sqlite"
_TABLES = frozenset({"session_windows", "transcript_events"})
_MAX_EVENT_BYTES = 4 << 20  # OpenClaw compresses no longer one
# The kinds of sessions that begin with entries of the one before.
_CONTINUING = frozenset({"fork", "rewind", "compaction"})


def read(path: Path, session: str | None = None) -> Capture:
    """Return a session of a database, or the one of a file.

    Raise TranscriptError for files that are unreadable, damaged or foreign, databases that lack the session, and
    compressed entries without the library that reads them.
    """
    if path.suffix.lower() == ".sqlite":
        return read_database(path, lambda connection: _read_session(connection, path, session))
    # A chat's topics have files of their own with the same id in each header: there the file's name is the id.
    capture = read_tree_transcript(path, "OpenClaw")
    is_topic = capture.session_id is not None and path.stem.startswith(f"{capture.session_id}-topic-")
    return replace(capture, session_id=path.stem) if is_topic else capture


def discover(root: Path) -> Iterator[SessionLocation]:
    """Yield every live session. An unreadable database is listed, so that reading it reports the error."""
    for item in list_files(root, (".jsonl", _DATABASE)):
        if item.path.suffix.lower() == ".sqlite":
            try:
                names = sorted(read_database(item.path, _list_sessions))
            except TranscriptError:
                yield item
                continue
            yield from (SessionLocation(item.path, name) for name in names)
        # Copies that were set aside have one more dot: `<id>.checkpoint.<uuid>.jsonl`, `<id>.jsonl.reset.<time>`.
        elif item.path == root or "." not in item.path.stem:
            yield item


def _list_sessions(connection: sqlite3.Connection) -> dict[str, Row]:
    if not list_known_tables(connection, _TABLES):
        return {}
    rows = fetch_rows(connection, "SELECT * FROM session_windows")
    return {as_string(row.get("session_id")): row for row in rows if as_string(row.get("session_id"))}


def _read_session(connection: sqlite3.Connection, path: Path, session: str | None) -> Capture:
    sessions = _list_sessions(connection)
    name = choose_session(sessions, session, f"the database {path}", "name one of its sessions by its id")
    window, skipped = sessions[name], Counter[str]()
    query = "SELECT * FROM transcript_events WHERE session_id = ? ORDER BY seq"
    capture = read_tree_records(_decode_events(fetch_rows(connection, query, name), path, skipped), skipped)
    node = next(iter(_fetch_if_there(connection, "session_nodes", "session_key", window.get("session_key"))), {})
    origin = as_string(node.get("fork_source_session_id")) or as_string(window.get("previous_session_id"))
    cold = _fetch_if_there(connection, "session_transcript_cold_archives", "session_id", name)
    return replace(
        capture,
        session_id=name,
        lane=as_string(window.get("session_key")) or None,
        parent_session=_find_parent(sessions, window),
        forked_from=capture.forked_from or (origin if window.get("reason") in _CONTINUING else "") or None,
        title=capture.title or as_string(node.get("label")) or as_string(node.get("display_name")) or None,
        skipped={**capture.skipped, **({ARCHIVED: cold[0]["event_count"]} if cold else {})},
    )


def _find_parent(sessions: Mapping[str, Row], window: Row) -> str | None:
    """Return the session that was going on in the chat that started a sub-agent."""
    spawner, began = window.get("spawned_by"), window.get("created_at") or 0
    going_on = {
        row.get("created_at") or 0: name
        for name, row in sessions.items()
        if spawner and row.get("session_key") == spawner and (row.get("created_at") or 0) <= began
    }
    return going_on[max(going_on)] if going_on else None


def _fetch_if_there(connection: sqlite3.Connection, table: str, column: str, value: object) -> list[Row]:
    try:
        return fetch_rows(connection, f"SELECT * FROM {table} WHERE {column} = ?", value)
    except sqlite3.OperationalError:  # an older schema
        return []


def _decode_events(rows: list[Row], path: Path, skipped: Counter[str]) -> Iterator[JsonObject]:
    decompress = _load_decompressor(path) if any(row.get("event_zstd") for row in rows) else None
    for row in rows:
        packed = row.get("event_zstd")
        event = decode_json(decompress(packed) if decompress and packed else row.get("event_json"))
        if isinstance(event, dict):
            yield event
        else:
            skipped[DAMAGED] += 1


def _load_decompressor(path: Path) -> Callable[[bytes], bytes]:
    """Return the decompression of entries; b"" for a damaged one. Raise TranscriptError without its library."""
    try:
        import zstandard  # noqa: PLC0415  (only OpenClaw's databases need it)
    except ImportError as error:
        # Not without the compressed ones: entries that come later into the middle of a captured session would be lost.
        what = f"cannot read the database {path}: its entries are compressed, and `zstandard` is not installed"
        raise TranscriptError(what, hint=format_package_hint("zstandard")) from error

    def decompress(packed: bytes) -> bytes:
        try:
            return zstandard.ZstdDecompressor().stream_reader(packed).read(_MAX_EVENT_BYTES)
        except (zstandard.ZstdError, TypeError):
            return b""

    return decompress
