"""The floors that run in process: the least that gives the same result, with nothing checked and nothing typed."""

import hashlib
import os
import re
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path

from benchmarks.plain_capture import read
from lineage.core.capture.ledger import LedgerEntry
from lineage.core.search.index_sql import MAX_PASSAGES
from lineage.index import schema
from lineage.index.rows import COLUMNS

_BATCH = 500
_MARKUP = re.compile(r"^(?:## |> \[!|> ~~~|\^t-).*$", re.MULTILINE)
_INSERT = f"insert into artifacts (id, {', '.join(COLUMNS)}) values (?{', ?' * len(COLUMNS)})"
_INSERT_TEXT = "insert into search (rowid, title, sentence, body) values (?, ?, ?, ?)"
_PIECE = 900

LedgerRow = tuple[str, str, str, str, str]


def scan(folder: Path) -> list[tuple[str, int, int]]:
    """A directory scan with stat: path, size and mtime of every file below."""
    found: list[tuple[str, int, int]] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                found += scan(Path(entry.path))
            else:
                status = entry.stat(follow_symlinks=False)
                found.append((entry.path, status.st_size, status.st_mtime_ns))
    return found


def reindex(memory: Path, database: Path) -> None:
    """Plain reads, SHA-256 and `executemany` into the index's own schema."""
    database.unlink(missing_ok=True)
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = normal")
        schema.create_tables(connection)
        files = enumerate((entry.path for entry in os.scandir(memory) if entry.is_file()), 1)
        with connection:
            while batch := [_file(number, path) for number, path in islice(files, _BATCH)]:
                connection.executemany(_INSERT, (row for row, _ in batch))
                connection.executemany(_INSERT_TEXT, (piece for _, pieces in batch for piece in pieces))


def _file(number: int, path: str) -> tuple[Sequence[object], Sequence[Sequence[object]]]:
    """A row and its text in pieces of a passage's length, from the file's lines as they stand."""
    data = read(path)
    _, block, body = data.decode().split("---\n", 2)
    meta = dict(line.split(": ", 1) for line in block.splitlines())
    stem, _, kind = os.path.basename(path).removesuffix(".md").rpartition("--")  # noqa: PTH119  (no objects in a floor)
    values = {
        **meta,
        "source_path": path,
        "source_sha256": hashlib.sha256(data).hexdigest(),
        "source_kind": kind,
        "stem": stem,
        "session_token": stem[-16:],
        "membership_ts": meta.get("ended_at", ""),
        "visible": 1,
    }
    row = (number, *map(values.get, COLUMNS))
    text = "" if kind == "manifest" else _MARKUP.sub("", body)
    pieces = (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
    head = meta.get("title"), meta.get("memory_sentence")
    return row, [
        (number * MAX_PASSAGES + place, *(("", "") if place else head), piece) for place, piece in enumerate(pieces)
    ]


def digest(path: Path) -> str:
    """A file of any size, read in pieces and hashed."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def ledger_rows(entries: Iterable[LedgerEntry]) -> list[LedgerRow]:
    """The ledger's rows as plain tuples, for `ledger`."""
    return [
        (e.membership, e.session_id, e.project or "-", e.sentence, " ".join(f"[[{p}|{label}]]" for p, label in e.links))
        for e in entries
    ]


def ledger(rows: Iterable[LedgerRow]) -> str:
    """The text of the ledger's rows, joined."""
    return "\n".join(
        [f"- {time} | session={name} | project={project} | {text} {links}" for time, name, project, text, links in rows]
    )


def search(connection: sqlite3.Connection, expressions: Iterable[str]) -> list[int]:
    """The bare full-text query: the ten best rows of each expression."""
    sql = "select rowid from search where search match ? order by rank limit 10"
    return [row[0] for expression in expressions for row in connection.execute(sql, (expression,))]
