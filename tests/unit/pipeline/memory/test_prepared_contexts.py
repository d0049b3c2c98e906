"""What a session is told at its start follows every change of a book, before any worker has run.

The guard: `prepare_contexts` in `change_books`, in `remove` and in the editor's command; `folders` there, without which
a project is told of its own books only once it had a session.
"""

from pathlib import Path

import pytest

from lineage.cli.hook_context import read_context
from lineage.pipeline.maintenance.remove import remove
from lineage.pipeline.memory.books import edit_entry, forget_entry
from lineage.pipeline.memory.prepared_contexts import prepare_contexts
from lineage.pipeline.memory.remember import Memo, remember
from lineage.projects import list_context_names
from tests.support.workspace import end_session, open_test_workspace

ZIG = "Project two is written in Zig only."
TUESDAY = "Deploys go out on Tuesdays only."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "two"
    place.mkdir()
    return place


def told(root: Path, folder: Path) -> str:
    """Return what the hook of a session's start prints in a folder."""
    return read_context(str(root), "default", list_context_names(str(folder))).text


def test_a_session_is_told_of_a_change_that_was_made_just_before_it(tmp_path: Path, folder: Path) -> None:
    root = tmp_path / "w"
    root.mkdir()
    with open_test_workspace(root) as ws:
        prepare_contexts(ws)  # as the import of a set-up does
        first = remember(ws, Memo(text=ZIG, kind="preference", project=str(folder)))
        assert ZIG in told(root, folder)  # of a folder without a session
        edit_entry(ws, str(first.id), "Project two is written in C only.")
        assert "in C only" in told(root, folder) and ZIG not in told(root, folder)
        remember(ws, Memo(text=TUESDAY, kind="preference", project=str(folder)))
        forget_entry(ws, str(first.id))
        assert TUESDAY in told(root, folder) and "in C only" not in told(root, folder)


def test_after_a_removal_a_session_is_told_of_what_is_left(tmp_path: Path, folder: Path) -> None:
    root = tmp_path / "w"
    root.mkdir()
    with open_test_workspace(root) as ws:
        end_session(ws, "s-1", project=str(folder))
        end_session(ws, "s-2", project=str(folder))
        prepare_contexts(ws)
        remember(ws, Memo(text=TUESDAY, kind="preference", project=str(folder)))
        remove(ws, "s-1", reason="")
        assert TUESDAY in told(root, folder)
