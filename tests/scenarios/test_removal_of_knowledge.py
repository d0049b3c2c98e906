"""What a removed session taught goes with it, from whatever book it has come to by then. (format: Removal)

Fails without `list_session_books` in `_paths` or `forget_session_entries` in `finish_removal` of
pipeline/upkeep/removal.py, without
`serialize_without_session` in `_holds`, and in pipeline/knowledge/forgetting.py without the pending shelf, the
index's books or `sound`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lineage.core.base.book_paths import CURATED, CURATED_PATH, GLOBAL, PENDING, BookRef
from lineage.core.books.book_edits import Cap
from lineage.core.books.entry import ASSISTANT_TURN, Entry, new_entry
from lineage.core.format.checkpoint import Checkpoint, Message
from lineage.pipeline.maintenance.recover import recover
from lineage.pipeline.maintenance.remove import remove
from lineage.pipeline.maintenance.verify import verify
from lineage.pipeline.memory.books import edit_entry, move_entry
from lineage.pipeline.memory.waiting_entries import confirm_entries, load_evidence
from lineage.workspace.workspace import Workspace
from tests.support.commands import LineageCommand
from tests.support.dead_processes import list_mutating_calls, read_all_files, run_until_crash
from tests.support.faults import CrashPoint
from tests.support.workspace import at_time, end_session, make_turns, open_test_workspace, search_sessions

pytestmark = pytest.mark.slow

LATER = "2026-11-22T12:00:00.000Z"
TALK: list[dict[str, Any]] = make_turns(
    "In all projects I prefer wombats over quokkas. Everywhere we decided on the wombat for good.",
    "We decided to feed the wombat at noon. Lesson: the wombat bites. TODO: wash the wombat.",
    "The project uses a wombat.",
    "Lesson: it digs at night, and the wombat's burrow floods in June.",
)
TALK.insert(3, {"role": "tool", "name": "Read", "text": "it digs at night, and the wombat's burrow floods in June"})
OTHERS = make_turns("In all projects I prefer tabs over spaces.", "Lesson: the split drops the last line.")
MINE = "A wombat is a marsupial: my own words, typed by hand."


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Workspace]:
    """A workspace with a session that is to go, and another one of the same project."""
    with open_test_workspace(tmp_path / "w") as opened:
        end_session(opened, "s-2", transcript=OTHERS)
        end_session(opened, "s-1", transcript=TALK)
        yield opened


def entries(ws: Workspace) -> dict[str, list[str]]:
    """The texts of all entries by the path of their book; books without one are left out."""
    found = {
        ref.path: [entry.body for entry in ws.documents.books.read(ref).entries] for ref in ws.documents.books.list()
    }
    return {path: texts for path, texts in found.items() if texts}


def waiting(ws: Workspace, kind: str) -> Entry:
    found = ws.documents.books.get(GLOBAL, kind, PENDING).entries
    return next(entry for entry in found if "wombat" in entry.body)


def by_hand(ws: Workspace, path: str, change: Any) -> None:
    blob = ws.documents.store.read(path)
    ws.documents.store.replace(path, change(blob.data.decode()).encode(), blob.version)


LEFT = {
    "books/pending/global/preference.md": ["In all projects I prefer tabs over spaces."],
    "books/project/demo/lesson.md": ["Lesson: the split drops the last line."],
}


def test_every_entry_goes_and_leaves_its_id(ws: Workspace) -> None:
    refs = list(ws.documents.books.list())
    before = {entry.id for ref in refs for entry in ws.documents.books.read(ref).entries if "wombat" in entry.body}
    token = end_session(ws, "s-1", transcript=TALK).session_token
    receipt = remove(ws, "s-1", reason="asked for")
    assert receipt.entries == len(before) == 7
    assert f"books/session/{token}/lesson.md" in receipt.removed_paths
    assert receipt.elsewhere == []
    assert entries(ws) == LEFT
    own = {ref for ref in refs if ref.scope.startswith("session/")}
    left = {identifier for ref in refs if ref not in own for identifier in ws.documents.books.read(ref).forgotten_ids}
    assert left < before
    assert len(before - left) == 1
    assert search_sessions(ws, "wombat", None, 10) == []
    assert not [path for path, data in read_all_files(ws.telemetry.path.parents[1]).items() if b"wombat" in data]


def test_wherever_it_has_come_to(ws: Workspace) -> None:
    """Confirmed, moved to another scope, rolled over, changed by hand, copied into the curated book."""
    confirm_entries(at_time(ws, LATER), load_evidence(ws, [waiting(ws, "preference").id]))
    move_entry(ws, ws.documents.books.get("project/demo", "decision").entries[0].id, "agent/default")
    ws.documents.books.roll_over("project/demo", "lesson", Cap(0, 0))
    (task,) = ws.documents.books.get("project/demo", "task").entries
    edit_entry(ws, task.id, "Wash the wombat twice, I say.")
    origin = waiting(ws, "decision").origin
    curated = new_entry(GLOBAL, CURATED, "The wombat, curated.", at=LATER, source=ASSISTANT_TURN, origin=origin)
    ws.documents.books.add(GLOBAL, CURATED, curated)
    receipt = remove(ws, "s-1", reason="asked for")
    assert receipt.entries == 8
    found = {text for texts in entries(ws).values() for text in texts}
    assert not [text for text in found if "wombat" in text]
    assert {text for texts in LEFT.values() for text in texts} <= found


def test_a_dry_run_says_the_same_and_does_nothing(ws: Workspace) -> None:
    before = entries(ws)
    planned = remove(ws, "s-1", reason="asked for", dry_run=True)
    assert entries(ws) == before
    done = remove(ws, "s-1", reason="asked for")
    assert (planned.entries, planned.removed_paths) == (done.entries, done.removed_paths)
    assert planned.elsewhere == [path for path in planned.elsewhere if path == "MEMORY.md"]


@pytest.mark.leaves_findings
def test_what_the_user_wrote_between_entries_stays(ws: Workspace) -> None:
    path = BookRef("project/demo", "lesson").path
    by_hand(ws, path, lambda text: f"{text}\n{MINE}\n\n> {TALK[1]['text']}\n")
    ws.documents.store.create(CURATED_PATH, f"# Mine\n\n{MINE}\n".encode())
    receipt = remove(ws, "s-1", reason="asked for")
    assert MINE in ws.documents.store.read(path).data.decode()
    assert MINE in ws.documents.store.read(CURATED_PATH).data.decode()
    assert receipt.elsewhere == [path]


@pytest.mark.leaves_findings
def test_an_entry_that_lost_its_end_is_left_and_named(ws: Workspace) -> None:
    path = BookRef("project/demo", "decision").path
    by_hand(ws, path, lambda text: "".join(line for line in text.splitlines(True) if "lineage:end" not in line))
    by_hand(ws, path, lambda text: f"{text}\n{MINE}\n")
    receipt = remove(ws, "s-1", reason="asked for")
    assert receipt.entries == 6
    assert receipt.elsewhere == [path]
    assert MINE in ws.documents.store.read(path).data.decode()


def test_checkpoints_go(ws: Workspace) -> None:
    token = end_session(ws, "s-1", transcript=TALK).session_token
    ws.documents.checkpoints.put(
        Checkpoint(
            agent_id="default",
            session_id="s-1",
            session_token=token,
            harness="generic",
            project=None,
            saved_at=LATER,
            messages=(Message("user", "I prefer wombats."),),
        )
    )
    receipt = remove(ws, "s-1", reason="asked for")
    assert any("checkpoints/" in path for path in receipt.spool_files)
    assert ws.documents.checkpoints.get("default", LATER) is None


@pytest.mark.leaves_findings
def test_again_forgets_what_a_sync_brought_back(ws: Workspace) -> None:
    path = BookRef("project/demo", "lesson").path
    own = next(ref.path for ref in ws.documents.books.list() if ref.scope.startswith("session/"))
    older = {key: ws.documents.store.read(key).data for key in (path, own)}
    remove(ws, "s-1", reason="asked for")
    ws.documents.store.replace(path, older[path], ws.documents.store.read(path).version)
    ws.documents.store.create(own, older[own])
    recover(ws)
    assert search_sessions(ws, "wombat", None, 10) == []
    assert {finding.path for finding in verify(ws)} == {path, own}
    receipt = remove(ws, "s-1", reason="asked for", again=True)
    assert receipt.entries == 2
    assert verify(ws) == []
    assert entries(ws) == LEFT


def test_a_removal_that_died_anywhere_is_finished_by_the_next_run(tmp_path: Path) -> None:
    root = tmp_path / "w"

    def asked(ws: Workspace) -> None:
        remove(ws, "s-1", reason="asked for")

    def filled(folder: Path) -> Path:
        with open_test_workspace(folder) as ws:
            end_session(ws, "s-2", transcript=OTHERS)
            end_session(ws, "s-1", transcript=TALK)
        return folder

    calls = list_mutating_calls(filled(root), asked)
    first = next(number for number, call in enumerate(calls, 1) if "tombstones" in call)
    for point in range(first, len(calls) + 1):
        folder = filled(tmp_path / f"point-{point}")
        assert run_until_crash(folder, asked, CrashPoint(point, after=True))
        with open_test_workspace(folder) as ws:
            recover(ws)
            assert entries(ws) == LEFT, calls[point - 1]
            assert search_sessions(ws, "wombat", None, 10) == []
            assert verify(ws) == []
        assert not [path for path, data in read_all_files(folder).items() if b"wombat" in data], calls[point - 1]


def test_the_receipt_is_printed(lineage: LineageCommand) -> None:
    given = ("session-end", "--harness", "generic", "--session-id", "s-1", "--transcript")
    assert lineage(*given, "User: I prefer wombats over quokkas.").code == 0
    assert "would be removed: 1 entry in books" in lineage("remove", "s-1", "--dry-run").out
    assert lineage("remove", "s-1", "--yes", "--json").json["entries"] == 1
