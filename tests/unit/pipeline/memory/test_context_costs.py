"""What the context of a new session costs, counted: files that are opened, statements, and modules that are imported.

Fails where `_of_the_project` asks for each session what folder its project has, where summaries are read of sessions
that are listed only, where `_redacted` builds a sanitizer for books without a word, and with the modules below imported
at the top again.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lineage.core.base import naming
from lineage.core.base.book_paths import BOOKS
from lineage.pipeline.maintenance.reindex import reindex
from lineage.pipeline.memory.context import ContextRequest, build_context
from lineage.store import Blob, LocalStore
from lineage.workspace.workspace import Workspace
from tests.support.books import write_entry
from tests.support.workspace import open_test_workspace
from tests.unit.pipeline.memory.test_context import capture

FEW, MANY = 3, 30
NOT_NEEDED = (
    "lineage.extraction.candidates",
    "lineage.extraction.digests",
    "re2",
    "sqlite_utils",
)
SHOWN_MODULES = "import sys; sys.argv[:] = ['lineage', *sys.argv[1:]]\nfrom lineage.__main__ import main\n" \
    "try: main()\nfinally: print(*sys.modules, file=sys.stderr)"  # fmt: skip


class Reading(LocalStore):
    """A store that notes what is read."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.read_keys: list[str] = []

    def read(self, key: str) -> Blob:
        self.read_keys.append(key)
        return super().read(key)

    def open(self, key: str) -> Any:
        self.read_keys.append(key)
        return super().open(key)


@contextmanager
def asked(root: Path, project: str, sessions: int) -> Iterator[tuple[list[str], list[str]]]:
    """What is read and asked for one context, after so many sessions of two projects."""
    store, statements = Reading(root), list[str]()
    with open_test_workspace(root, store=store) as ws:
        fill(ws, sessions)
        store.read_keys.clear()
        with ws.index.trace_statements(statements.append):
            assert "Mend the reader of s-" in build_context(ws, ContextRequest(project=project)).body
        yield store.read_keys, statements


def fill(ws: Workspace, sessions: int) -> None:
    for number in range(sessions):
        capture(ws, f"s-{number}", hour=number % 24, project=f"/home/ada/{('demo', 'other')[number % 2]}")


@pytest.mark.slow
@pytest.mark.parametrize("project", ["/home/ada/demo", "demo"])
def test_it_reads_one_summary_and_the_books_however_many_sessions_there_are(tmp_path: Path, project: str) -> None:
    with asked(tmp_path / "few", project, FEW) as few, asked(tmp_path / "many", project, MANY) as many:
        assert [len(part) for part in few] == [len(part) for part in many]
        (read, statements) = many
    bodies = [key for key in read if naming.parse_path(key)]
    assert len(bodies) == 1
    assert {key for key in read if key.startswith(BOOKS)} >= {"books/global/preference.md"}
    assert len(statements) == 2


def test_each_book_is_read_once(tmp_path: Path) -> None:
    with asked(tmp_path, "/home/ada/demo", FEW) as (read, _):
        books = [key for key in read if key.startswith(BOOKS) and "About" not in key]
        assert len(books) == len(set(books))


def test_it_imports_only_what_it_uses(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        fill(ws, FEW)
        reindex(ws)
    command = [sys.executable, "-c", SHOWN_MODULES, "-w", str(tmp_path), "context", "--project", "/home/ada/demo"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Mend the reader" in ran.stdout
    assert set(NOT_NEEDED).isdisjoint(ran.stderr.splitlines()[-1].split())


def test_a_book_is_redacted_before_it_is_shown(tmp_path: Path) -> None:
    """What the shortcut for books without a word must not let through."""
    secret = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    with open_test_workspace(tmp_path) as ws:
        write_entry(ws, "global", "preference", f"Prefers Go. {secret}")
        assert secret not in build_context(ws, ContextRequest()).text
