"""Counted work: what a command does in a process of its own, whatever the clock says.

As a program, `python work_counts.py WORKSPACE ARGUMENTS…` runs a command of lineage and says on its last line of stderr
what it imported, opened, listed, read, flushed and asked its databases. Only what lies in the workspace counts.
"""

import json
import os
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PROJECT = Path(__file__).parents[2]
_MODULES = (
    "import os, sys; known = set(sys.modules); from lineage.__main__ import main; os._exit = sys.exit\n"
    "try: main()\n"
    "finally: print(*sorted(set(sys.modules) - known), file=sys.stderr)"
)


@dataclass(frozen=True)
class WorkCounts:
    """What was done: files opened and folders listed by their paths in the workspace, bytes read by path, how many
    flushes to the disk, and the statements that SQLite was given."""

    opens: Counter[str]
    listings: Counter[str]
    bytes_read: Counter[str]
    flushes: int
    statements: list[str]

    def shape(self) -> tuple[int, int, int, int]:
        """How many files were opened and folders listed, flushes made and statements asked."""
        return self.opens.total(), self.listings.total(), self.flushes, len(self.statements)


def list_imported_modules(*arguments: str, stdin: bytes = b"", **environment: str) -> set[str]:
    """The modules that a command imports, those of the interpreter's own start left out."""
    done = _run([sys.executable, "-c", _MODULES, *arguments], stdin, environment)
    return set(done.splitlines()[-1].split())


def count_work(root: Path, *arguments: str) -> WorkCounts:
    """The work of a command in a workspace. Raises CalledProcessError where it fails."""
    said = _run([sys.executable, __file__, str(root), "--workspace", str(root), *arguments], b"", {})
    found = json.loads(said.splitlines()[-1])
    return WorkCounts(**{name: Counter(v) if isinstance(v, dict) else v for name, v in found.items()})


def _run(command: list[str], stdin: bytes, environment: dict[str, str]) -> str:
    own = {**os.environ, "PYTHONPATH": str(_PROJECT), **environment}
    done = subprocess.run(command, input=stdin, capture_output=True, env=own, cwd=_PROJECT, check=True)
    return done.stderr.decode()


class _WorkRecorder:
    """Takes note of what passes through `os` and `sqlite3`."""

    def __init__(self, root: str) -> None:
        self._root = f"{root}{os.sep}"
        self._paths: dict[int, str] = {}
        self.opens: Counter[str] = Counter()
        self.listings: Counter[str] = Counter()
        self.bytes_read: Counter[str] = Counter()
        self.flushes = 0
        self.statements: list[str] = []

    def begin(self) -> None:
        self._originals = os.open, os.read, os.fsync
        sys.addaudithook(self._note)
        os.open, os.read, os.fsync = self._open, self._read, self._flush  # type: ignore[assignment]
        connect = sqlite3.connect
        sqlite3.connect = lambda *a, **k: self._trace_connection(connect(*a, **k))

    def _note(self, event: str, values: tuple[Any, ...]) -> None:
        place = self._relative_path(values[0]) if event in ("open", "os.scandir", "os.listdir") else None
        if place is not None:
            (self.opens if event == "open" else self.listings)[place] += 1

    def _relative_path(self, path: object) -> str | None:
        if isinstance(path, int):
            return self._paths.get(path) or None
        named = os.fspath(path) if isinstance(path, str | os.PathLike) else ""
        return named.removeprefix(self._root) if isinstance(named, str) and named.startswith(self._root) else None

    def _open(self, path: Any, *values: Any, **named: Any) -> int:
        descriptor = self._originals[0](path, *values, **named)
        self._paths[descriptor] = self._relative_path(path) or ""
        return descriptor

    def _read(self, descriptor: int, size: int) -> bytes:
        data = self._originals[1](descriptor, size)
        if place := self._paths.get(descriptor):
            self.bytes_read[place] += len(data)
        return data

    def _flush(self, descriptor: int) -> None:
        self.flushes += 1
        self._originals[2](descriptor)

    def _trace_connection(self, connection: sqlite3.Connection) -> sqlite3.Connection:
        connection.set_trace_callback(lambda sql: None if sql.startswith("-- ") else self.statements.append(sql))
        return connection


def _main() -> None:
    root = sys.argv.pop(1)
    watch = _WorkRecorder(root)
    from lineage.__main__ import main

    watch.begin()
    run: Callable[[], None] = main
    try:
        run()
    finally:
        noted = {name: value for name, value in vars(watch).items() if not name.startswith("_")}
        sys.stderr.write("\n" + json.dumps(noted) + "\n")


if __name__ == "__main__":
    _main()
