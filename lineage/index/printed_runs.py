"""What tools printed in the sessions of one import, whichever is captured first (reliability: overlap).

An import captures the newest sessions first and several at once: the index doesn't hold the older ones by then. So
their hashes lie in a temporary database until the import ends. They are of texts that nobody has redacted yet: each is
sealed with a key that no file holds.
"""

import json
import secrets
import sqlite3
import tempfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from lineage.index.shadow_build import temporary_folder
from lineage.index.tool_runs import Printed
from lineage.store.platform import make_private_file

_TABLES = (
    "create table sessions (id integer primary key, token text, at text)",
    "create table runs (run integer, session integer, primary key (run, session)) without rowid",
)
_SELECT = """
    select value from json_each(:keys) where exists (
        select 1 from runs r join sessions s on s.id = r.session
        where r.run = value and s.at <= :until and s.token <> :token)
"""
_BUSY_SECONDS = 600.0  # each process writes what it read in one go
_KEY_BYTES, _SEALED_BYTES = 32, 8


class PrintedSession(NamedTuple):
    """The hashes that a session's tools printed up to `at`. `owner` is its project's key, or its token without one."""

    owner: str
    token: str
    at: str
    runs: Collection[int]


@dataclass(frozen=True, slots=True)
class PrintedRuns:
    """The database, to be used from any process."""

    path: Path
    key: bytes

    def add(self, sessions: Iterable[PrintedSession]) -> None:
        """Write what these sessions printed."""
        read = [(one, sorted(self._seal(one.owner, run) for run in one.runs)) for one in sessions]
        with self._open() as connection:
            connection.execute("begin immediate")
            for one, sealed in read:
                row = connection.execute("insert into sessions (token, at) values (?, ?)", (one.token, one.at))
                values = ((run, row.lastrowid) for run in sealed)
                connection.executemany("insert or ignore into runs values (?, ?)", values)
            connection.execute("commit")

    def find(self, place: Printed, runs: Collection[int]) -> set[int]:
        """Return those of these hashes that another session of the owner printed by then."""
        sealed = {self._seal(place.owner, run): run for run in runs}
        bound = {"keys": json.dumps(list(sealed)), "until": place.until, "token": place.token}
        with self._open() as connection:
            return {sealed[value] for (value,) in connection.execute(_SELECT, bound)}

    def _seal(self, owner: str, run: int) -> int:
        digest = blake2b(f"{run} {owner}".encode(), key=self.key, digest_size=_SEALED_BYTES).digest()
        return int.from_bytes(digest, signed=True)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)) as connection:
            connection.execute("pragma synchronous = off")  # nobody reads it after a crash
            yield connection


@contextmanager
def create_printed_runs(parent: Path | None) -> Iterator[PrintedRuns]:
    """Yield an empty database in a folder, or in the system's own for temporary files; delete it afterwards."""
    with temporary_folder(parent or Path(tempfile.gettempdir())) as folder:
        path = folder / "printed.db"
        make_private_file(path)
        with closing(sqlite3.connect(path)) as connection:
            for statement in _TABLES:
                connection.execute(statement)
        yield PrintedRuns(path, secrets.token_bytes(_KEY_BYTES))
