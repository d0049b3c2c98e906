"""`lineage admin move`: every file arrives as it was, whatever cuts it off, and nobody's files are written over.

What each guard rests on:
- resumed and exact: `_claim` and `_drop` in moving.py; the mark goes last, in `migrated`.
- a target that is somebody's: `_claim`. One place within the other: `_check_apart`. What waits: `_check_source`.
- a store that loses bytes: `_compare`.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from lineage.app.documents import open_documents
from lineage.core.format.job import Job
from lineage.errors import WorkspaceError
from lineage.pipeline.transfer.move_store import move_store
from lineage.store import Blob, ConflictError, LocalStore, Store
from tests.scenarios.test_bucket import configure
from tests.support import engines
from tests.support.commands import SAMPLE_ID, CommandResult, LineageCommand
from tests.support.faults import Crash, CrashingProxy, CrashPoint
from tests.support.memory_store import MemoryStore

pytestmark = pytest.mark.slow

WRITING = frozenset({"create", "replace", "delete"})
CONTENT = {
    "memory/tombstones/aaaaaaaaaaaaaaaa.md": b"buried",
    "memory/claims/bbbbbbbbbbbbbbbb.md": b"claimed",
    "memory/2026-11-20T10-00-00.000Z--bbbbbbbbbbbbbbbb--transcript.md": b"said",
    "memory/2026-11-20T10-00-00.000Z--bbbbbbbbbbbbbbbb--manifest.md": b"names it",
    "books/global/note.md": b"known",
    "Plans.md": b"mine",
    "pictures/cat.png": b"\x89PNG\x00",
}


@pytest.fixture
def lineage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> LineageCommand:
    return LineageCommand(tmp_path / "old", capsys)


def migrate(lineage: LineageCommand, target: object, source: object = None) -> CommandResult:
    return lineage("migrate-store", str(source or lineage.root), str(target), "--json")


def filled(lineage: LineageCommand) -> str:
    """A workspace with two sessions, one of them removed, a book, an archive and a note; the removed one's token."""
    lineage("init")
    lineage.end_sample("--captured-at", "2026-01-02T00:00:00Z", "--ended-at", "2026-01-02T00:00:00Z")
    lineage("archive", "--before", "2026-06-01")
    gone = lineage.end_sample("--json", session="s-2").json["session_token"]
    lineage("remember", "The reader splits on newline.")
    lineage("remove", "s-2", "--reason", "asked", "--yes")
    (lineage.root / "Plans.md").write_text("mine")
    return str(gone)


def canonical(root: Path) -> dict[str, bytes]:
    """The files that a workspace's listing shows, but MEMORY.md."""
    store = LocalStore(root)
    return {e.key: store.read(e.key).data for e in store.list("") if e.key != "MEMORY.md"}


def test_a_folder_moves_with_tombstones_books_archive_and_notes(lineage: LineageCommand, tmp_path: Path) -> None:
    gone = filled(lineage)
    before = canonical(lineage.root)
    done = migrate(lineage, tmp_path / "new")
    assert done.code == 0, done.err
    assert canonical(tmp_path / "new") == before == canonical(lineage.root)
    assert f"memory/tombstones/{gone}.md" in before
    assert done.json["moved"] == {
        "files": len(before), "bytes": sum(map(len, before.values())), "written": len(before), "there": 0, "dropped": 0,
    }  # fmt: skip
    assert done.json["findings"] == []
    assert not (tmp_path / "new" / ".lineage" / "migration.json").exists()
    there = LineageCommand(tmp_path / "new", lineage._capture)
    assert [row["session_id"] for row in there("sessions", "--json").json["sessions"]] == [SAMPLE_ID]
    assert there.end_sample("--json", session="s-2").json["status"] == "refused"
    assert (tmp_path / "new" / "MEMORY.md").is_file()


def test_a_target_that_is_somebody_s_stays_as_it_is(lineage: LineageCommand, tmp_path: Path) -> None:
    filled(lineage)
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "Mine.md").write_text("mine")
    done = migrate(lineage, tmp_path / "new")
    assert (done.code, "isn't empty" in done.err) == (1, True)
    assert canonical(tmp_path / "new") == {"Mine.md": b"mine"}


def test_a_memory_that_has_moved_is_moved_no_second_time(lineage: LineageCommand, tmp_path: Path) -> None:
    filled(lineage)
    assert migrate(lineage, tmp_path / "new").code == 0
    again = migrate(lineage, tmp_path / "new")
    assert (again.code, "lineage admin mirror" in again.err) == (1, True)


@pytest.mark.parametrize("place", ["", "/within"])
def test_one_place_in_the_other_is_refused(lineage: LineageCommand, place: str) -> None:
    lineage("init")
    assert migrate(lineage, f"{lineage.root}{place}").code == 2
    assert migrate(lineage, lineage.root, f"{lineage.root}{place}").code == 2


def test_nothing_moves_while_a_capture_waits(lineage: LineageCommand, tmp_path: Path) -> None:
    lineage("init")
    at = "2026-11-20T10:00:00.000Z"
    waiting = Job(flow="session-end", token="a" * 16, captured_at=at, sentence="", quality="", payload={})
    open_documents(lineage.root).spool.put(waiting)
    done = migrate(lineage, tmp_path / "new")
    assert (done.code, "recover" in done.err) == (1, True)
    assert not (tmp_path / "new").exists()
    open_documents(lineage.root).spool.clear(waiting)


def test_no_workspace_is_nothing_to_move(lineage: LineageCommand, tmp_path: Path) -> None:
    assert migrate(lineage, tmp_path / "new").code == 1
    assert migrate(lineage, "ftp://nowhere").code == 2


def store_of(content: dict[str, bytes]) -> MemoryStore:
    store = MemoryStore()
    for key, data in content.items():
        store.create(key, data)
    return store


def contents(store: Store) -> dict[str, bytes]:
    return {entry.key: store.read(entry.key).data for entry in store.list("")}


@pytest.mark.parametrize("after", [False, True])
def test_cut_off_at_any_call_the_next_run_ends_it(after: bool) -> None:
    source = store_of(CONTENT)
    for at in range(1, 2 * len(CONTENT)):
        target, fuse = MemoryStore(), CrashPoint(at, after=after)
        try:
            move_store(source, CrashingProxy(target, fuse, WRITING, "target"), "here")  # type: ignore[arg-type]
        except Crash:
            source.delete("Plans.md")  # goes in between: its copy, if there is one, goes too
        result = move_store(source, target, "here")
        assert contents(target) == contents(source)
        assert result.written + result.there == len(contents(source))
        if "Plans.md" not in contents(source):
            source.create("Plans.md", b"mine")
        if not fuse.is_dead:
            return
    pytest.fail("the fuse burned at every call")


def test_a_move_begun_from_elsewhere_is_nobody_else_s() -> None:
    target = MemoryStore()
    move_store(store_of(CONTENT), target, "one")
    with pytest.raises(WorkspaceError, match="isn't empty"):
        move_store(store_of({}), target, "another")
    assert contents(target) == CONTENT


def test_tombstones_go_first_and_manifests_after_what_they_name() -> None:
    target, fuse = MemoryStore(), CrashPoint()
    move_store(store_of(CONTENT), CrashingProxy(target, fuse, WRITING, "target"), "here")  # type: ignore[arg-type]
    assert [call.partition("(")[2][:-1] for call in fuse.calls][1:6] == list(CONTENT)[:5]


class Changing(MemoryStore):
    """Gets a new file with every listing, so many times."""

    times = 3

    def list(self, prefix: str, after: str = "") -> Any:
        if self.times:
            self.times -= 1
            self.create(f"note-{self.times}.md", b"new")
        return super().list(prefix, after)


def test_what_comes_while_it_moves_comes_too_and_a_source_without_rest_is_told() -> None:
    source, target = Changing(), MemoryStore()
    assert move_store(source, target, "here").files == 3
    assert len(contents(target)) == 3
    source.times = 100
    with pytest.raises(ConflictError, match="keeps changing"):
        move_store(source, target, "here")


class Losing(MemoryStore):
    """Gives back other bytes than it got."""

    def read(self, key: str) -> Blob:
        blob = super().read(key)
        return replace(blob, data=blob.data[:-1]) if key == "Plans.md" else blob


def test_a_target_that_loses_bytes_is_found_out() -> None:
    with pytest.raises(WorkspaceError, match="other bytes"):
        move_store(store_of(CONTENT), Losing(), "here")


def test_into_a_bucket_and_back(lineage: LineageCommand, tmp_path: Path, home: Path) -> None:
    configure(home, engines.start_object_store().settings())
    filled(lineage)
    url = f"{engines.start_object_store().url}/{uuid4().hex}"
    assert migrate(lineage, url).json["findings"] == []
    assert migrate(lineage, tmp_path / "back", url).json["findings"] == []
    assert canonical(tmp_path / "back") == canonical(lineage.root)
    assert canonical(lineage.root)["Plans.md"] == b"mine"
