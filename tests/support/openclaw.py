"""OpenClaw's database of an agent, with the tables and columns that its source gives it (version 2026.9.6)."""

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import zstandard

Entry = dict[str, Any]

_MIN_COMPRESSED = 1024
TABLES = """
    CREATE TABLE schema_meta(
        meta_key TEXT NOT NULL PRIMARY KEY, role TEXT NOT NULL, schema_version INTEGER NOT NULL, agent_id TEXT,
        app_version TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE session_nodes(
        session_key TEXT NOT NULL PRIMARY KEY, current_session_id TEXT NOT NULL, entry_json TEXT NOT NULL,
        updated_at INTEGER NOT NULL, spawned_by TEXT, fork_source_session_id TEXT, label TEXT, display_name TEXT
    ) STRICT;
    CREATE TABLE session_windows(
        session_id TEXT NOT NULL PRIMARY KEY, session_key TEXT NOT NULL, previous_session_id TEXT, reason TEXT,
        created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, spawned_by TEXT,
        FOREIGN KEY (session_key) REFERENCES session_nodes(session_key) ON DELETE CASCADE
    ) STRICT;
    CREATE TABLE transcript_events(
        session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT, created_at INTEGER NOT NULL, event_zstd BLOB,
        event_utf8_bytes INTEGER, navigation_json TEXT, PRIMARY KEY (session_id, seq),
        FOREIGN KEY (session_id) REFERENCES session_windows(session_id) ON DELETE CASCADE,
        CHECK ((event_json IS NULL) = (event_zstd IS NOT NULL AND navigation_json IS NOT NULL))
    ) STRICT;
    CREATE TABLE session_transcript_cold_archives(
        session_id TEXT NOT NULL PRIMARY KEY, archive_name TEXT NOT NULL, event_count INTEGER NOT NULL
    ) STRICT;
"""


def create_database(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = wal")
        connection.executescript(TABLES)
    return path


def add_session(
    path: Path, session: str, entries: Iterable[Entry], key: str = "agent:main:main", **window: Any
) -> None:
    """Adds a session to a database, or entries to a session of it; `label` is that of its chat."""
    label, fork = window.pop("label", None), window.pop("fork_source_session_id", None)
    values = {"session_id": session, "session_key": key, "created_at": 1, "updated_at": 1, **window}
    node = (key, session, "{}", 1, label, fork)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "INSERT OR IGNORE INTO session_nodes(session_key, current_session_id, entry_json, updated_at, label,"
            " fork_source_session_id) VALUES (?, ?, ?, ?, ?, ?)",
            node,
        )
        names, places = ", ".join(values), ", ".join("?" * len(values))
        connection.execute(f"INSERT OR IGNORE INTO session_windows({names}) VALUES ({places})", tuple(values.values()))
        query = "SELECT coalesce(max(seq) + 1, 0) FROM transcript_events WHERE session_id = ?"
        first = connection.execute(query, (session,)).fetchone()[0]
        for number, entry in enumerate(entries, first):
            row = (session, number, *pack(entry))
            connection.execute(
                "INSERT INTO transcript_events(session_id, seq, created_at, event_json, event_zstd, event_utf8_bytes,"
                " navigation_json) VALUES (?, ?, 1, ?, ?, ?, ?)",
                row,
            )


def pack(entry: Entry) -> tuple[str | None, bytes | None, int, str | None]:
    """As OpenClaw stores an entry: the header and short ones as they are, long ones compressed with a checksum."""
    text = json.dumps(entry, ensure_ascii=False, separators=(",", ":"))
    data = text.encode()
    if len(data) < _MIN_COMPRESSED or entry["type"] == "session":
        return text, None, len(data), None
    packed = zstandard.ZstdCompressor(level=1, write_checksum=True, write_content_size=False).compress(data)
    return None, packed, len(data), '{"version":1}'


def read_entries(path: Path) -> list[Entry]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
