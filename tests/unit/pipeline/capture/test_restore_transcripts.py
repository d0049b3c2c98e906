"""Lost transcripts: written again with the bytes that they had, or not at all.

Fails without the comparison of hashes in `_rebuild`, `record_lost` in `drop_rows_of_lost`, `has_data`, the lock's look
for tombstones, and `is_lost` of `build_intent`.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lineage.config import Settings
from lineage.core.base.naming import derive_session_token
from lineage.errors import RemovedError
from lineage.harness import generic
from lineage.pipeline.capture.restore_transcripts import RestoreResult, restore_transcripts
from lineage.pipeline.maintenance.recover import recover
from lineage.pipeline.maintenance.reindex import reindex
from lineage.pipeline.maintenance.remove import remove
from lineage.pipeline.maintenance.verify import verify
from lineage.workspace.workspace import Workspace
from tests.support.dead_processes import delete_databases, list_mutating_calls, run_until_crash
from tests.support.faults import CrashPoint
from tests.support.workspace import at_time, build_end_request, end_session, find_root, make_turns, open_test_workspace

TALK = make_turns("Why does reader.py drop the last line?", "It splits on newline.", "And now?", "Fixed in reader.py.")


def capture_twice(ws: Workspace, **more: Any) -> list[Path]:
    """The transcripts of a session with two captures."""
    first = end_session(ws, transcript=TALK[:2], **more)
    second = end_session(at_time(ws, "2026-11-21T13:00:00.000Z"), transcript=TALK, **more)
    return [find_root(ws) / str(result.transcript_path) for result in (first, second)]


def lose(ws: Workspace, path: Path, *, with_row: bool) -> bytes:
    data = path.read_bytes()
    path.unlink()
    if not with_row:
        reindex(ws, confirmed=True)
    return data


def restore(ws: Workspace, turns: list[dict[str, Any]] = TALK, **more: Any) -> RestoreResult:
    return restore_transcripts(ws, build_end_request(ws, **more), generic.parse_inline(turns))


@pytest.mark.parametrize("with_row", [True, False], ids=["with its row", "without a row"])
@pytest.mark.parametrize("position", [0, 1])
def test_a_lost_transcript_comes_back_as_it_was(tmp_path: Path, position: int, with_row: bool) -> None:
    with open_test_workspace(tmp_path / "vault") as ws:
        path = capture_twice(ws)[position]
        data, mode = path.read_bytes(), path.stat().st_mode
        books = {file: file.read_bytes() for file in (find_root(ws) / "books").rglob("*.md")}
        lose(ws, path, with_row=with_row)
        grown = [*TALK, *make_turns("One thing more.", "Done.", start="2026-11-22T10:00")]
        assert restore(ws, grown) == RestoreResult(restored=(f"memory/{path.name}",))
        assert (path.read_bytes(), path.stat().st_mode) == (data, mode)
        assert verify(ws) == []
        assert {file: file.read_bytes() for file in (find_root(ws) / "books").rglob("*.md")} == books
        assert restore(ws, grown) == RestoreResult()


def test_data_stay_data(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path / "vault") as ws:
        path = capture_twice(ws, data=True)[1]
        data = lose(ws, path, with_row=False)
        assert restore(ws, data=True).restored
        assert path.read_bytes() == data


@pytest.mark.leaves_findings
@pytest.mark.parametrize("with_row", [True, False], ids=["with its row", "without a row"])
def test_other_turns_are_not_written_in_its_place(tmp_path: Path, with_row: bool) -> None:
    with open_test_workspace(tmp_path / "vault") as ws:
        path = capture_twice(ws)[1]
        lose(ws, path, with_row=with_row)
        lost = RestoreResult(lost=(f"memory/{path.name}",))
        other = make_turns("Why does reader.py drop the last line?", "It splits on newline.", "And now?", "Not fixed.")
        assert restore(ws, other) == lost
        assert restore(ws, TALK[:2]) == lost
        changed = [*TALK[:2], TALK[2] | {"text": "And then?"}, TALK[3]]
        assert restore(ws, changed) == lost
        assert not path.exists()


@pytest.mark.leaves_findings
@pytest.mark.parametrize("with_row", [True, False], ids=["with its row", "without a row"])
def test_where_settings_changed_the_turns_go_into_a_new_file(tmp_path: Path, with_row: bool) -> None:
    with open_test_workspace(tmp_path / "vault") as ws:
        turns = [{"role": "user", "text": "Print it."}, {"role": "tool", "name": "Bash", "text": "y " * 300}]
        path = find_root(ws) / str(end_session(ws, transcript=turns).transcript_path)
        data = lose(ws, path, with_row=with_row)
        clipping = replace(Settings(), transcript=replace(Settings().transcript, max_result_chars=50))
        changed = replace(ws, settings=clipping)
        assert restore(changed, turns) == RestoreResult(lost=(f"memory/{path.name}",))
        anew = end_session(changed, transcript=turns)
        assert (anew.status, anew.turns) == ("captured", 2)
        assert anew.transcript_path != f"memory/{path.name}"
        assert not path.exists()
        assert restore(ws, turns).restored
        assert path.read_bytes() == data


@pytest.mark.leaves_findings
def test_nobody_knows_the_bytes_without_any_database(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path / "vault") as ws:
        path = capture_twice(ws)[0]
        path.unlink()
    delete_databases(tmp_path / "vault")
    with open_test_workspace(tmp_path / "vault") as ws:
        reindex(ws, confirmed=True)
        assert restore(ws) == RestoreResult(lost=(f"memory/{path.name}",))


def test_a_removed_session_stays_removed(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path / "vault") as ws:
        path = capture_twice(ws)[0]
        request, capture = build_end_request(ws), generic.parse_inline(TALK)
        lose(ws, path, with_row=True)
        remove(ws, derive_session_token("default", "s-1"), reason="asked for")
        assert restore_transcripts(ws, request, capture) == RestoreResult()
        assert not path.exists()


@pytest.mark.leaves_findings
def test_nothing_is_written_for_a_tombstone_that_a_sync_brought(tmp_path: Path) -> None:
    """The other machine removed the session; its files are still here."""
    with open_test_workspace(tmp_path / "vault") as ws, open_test_workspace(tmp_path / "other") as other:
        path = capture_twice(ws)[0]
        capture_twice(other)
        lose(ws, path, with_row=True)
        token = derive_session_token("default", "s-1")
        remove(other, token, reason="asked for")
        tombstone = f"memory/tombstones/{token}.md"
        ws.documents.store.create(tombstone, (find_root(other) / tombstone).read_bytes())
        with pytest.raises(RemovedError):
            restore(ws)
        assert not path.exists()


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True])
def test_a_crash_at_any_call_leaves_no_other_bytes(tmp_path: Path, after: bool) -> None:
    root = tmp_path / "vault"
    with open_test_workspace(root) as ws:
        path = capture_twice(ws)[1]
        data = lose(ws, path, with_row=False)
    for point in range(1, len(list_mutating_calls(root, restore)) + 1):
        path.unlink(missing_ok=True)
        with open_test_workspace(root) as ws:
            reindex(ws, confirmed=True)
        run_until_crash(root, restore, CrashPoint(point, after))
        assert not path.exists() or path.read_bytes() == data
        with open_test_workspace(root) as ws:
            restore(ws)
            assert path.read_bytes() == data
            recover(ws)
            assert verify(ws) == [], point
