"""The floor of a capture: the same reads, hashes, durable writes and index transaction, and nothing else.

The folder PLAN holds `index.db` (a database of the index's schema), `text` (what is indexed) and `steps`, a line each:
`read PATH`, `write BYTES`, `delete`.
"""

# ruff: noqa: PTH104, PTH108, PTH120
import hashlib
import os
import sqlite3

_ROW = (
    "insert into artifacts (source_path, source_sha256, source_kind, agent_id, session_token, session_id, stem,"
    " membership_ts, captured_at, visible, private) values (?, ?, ?, 'default', ?, ?, ?, ?, ?, 1, 0)"
)
_TEXT = "insert into search (rowid, title, sentence, body) values (?, 'a title', 'a sentence', ?)"
_PIECE, _MOST = 900, 1 << 20
_TIME = "2026-03-28T22:34:06.792Z"


def read(path: str) -> bytes:
    """A whole file, without objects around it."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)


def run(plan: str) -> None:
    """Carries the plan out once."""
    name, written = os.urandom(8).hex(), []
    filler = bytes(1 << 20)
    for number, step in enumerate(read(f"{plan}/steps").decode().splitlines()):
        verb, _, value = step.partition(" ")
        path = f"{plan}/{name}-{number}"
        if verb == "read":
            hashlib.sha256(read(value)).hexdigest()
        elif verb == "write":
            _write(path, (filler * (int(value) // len(filler) + 1))[: int(value)])
            written.append(path)
        else:
            os.unlink(written.pop())
            _sync_folder(plan)
    _index(plan, name)
    for path in written:
        os.unlink(path)


def _write(path: str, data: bytes) -> None:
    hashlib.sha256(data).hexdigest()
    descriptor = os.open(path + ".tmp", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    os.write(descriptor, data)
    os.fsync(descriptor)
    os.close(descriptor)
    os.rename(path + ".tmp", path)
    _sync_folder(os.path.dirname(path))


def _sync_folder(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def _index(plan: str, name: str) -> None:
    """One transaction: three rows, and the texts of two of them in pieces of a passage's length."""
    text = read(f"{plan}/text").decode()
    connection = sqlite3.connect(f"{plan}/index.db")
    connection.execute("pragma synchronous = normal")
    with connection:
        for kind, body in (("transcript", text), ("summary", text[:4_000]), ("manifest", "")):
            row = connection.execute(_ROW, (f"{name}-{kind}", name, kind, name, name, name, _TIME, _TIME))
            pieces = (body[start : start + _PIECE] for start in range(0, len(body), _PIECE))
            texts = (((row.lastrowid or 0) * _MOST + place, piece) for place, piece in enumerate(pieces))
            connection.executemany(_TEXT, texts)
    connection.close()
