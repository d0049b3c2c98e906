"""A task is open at its session's end, closed by a later one, open again without that one, and stale after 14 days.

The guards: `_may_close`, `find_tools` in `find_closing`, `reopen_task` in `take_over`, `is_stale` in lists of tasks.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage.core.base.book_paths import BookRef
from lineage.core.books.entry import Entry
from lineage.core.books.sightings import is_stale
from lineage.extraction.admission_policy import HEURISTIC, Admission, Provenance
from lineage.pipeline.maintenance.remove import remove
from lineage.pipeline.memory import books
from lineage.pipeline.memory.context import ContextRequest, build_context
from lineage.pipeline.memory.entry_writer import write_entries
from lineage.pipeline.memory.relearn import relearn_books
from lineage.workspace.workspace import Workspace
from tests.support.books import write_entry
from tests.support.workspace import at_time, end_session, open_memory_workspace, read_store

BOOK = BookRef("project/demo", "task")
TASK, DONE = "Write a test for the empty file.", "Added a test for the empty file."
LAST = "2026-11-23T12:00:00.000Z"
PATH = "memory/2026-11-20T12-00-00.000Z--h7k3n4p2m2x6q3r5--transcript.md"


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Workspace]:
    with open_memory_workspace(tmp_path) as opened:
        end(opened, "s-0", "Nothing of it.")
        yield opened


def end(ws: Workspace, session: str, said: str, *before: dict[str, object]) -> str:
    turns = [{"role": "user", "text": "Go on with the importer."}, *before, {"role": "assistant", "text": said}]
    return end_session(ws, session, transcript=turns, project="/home/ada/demo").session_token


def leave_task(ws: Workspace, at: str = "2026-11-20T12:00:00.000Z", role: str = "assistant") -> Entry:
    """A task as a session left it."""
    said = Admission("task", TASK, BOOK.scope, False, Provenance(HEURISTIC, "", "t-0123456789", role, "", TASK))
    ((_, entry),) = write_entries(ws, [said], at=at, origin=PATH, tags=(HEURISTIC,)).entries
    return entry


def read(ws: Workspace) -> list[bool | None]:
    return [entry.done for entry in ws.documents.books.read(BOOK).entries if entry.body == TASK]


@pytest.mark.parametrize("role", ["assistant", "user"])
def test_a_later_session_closes_it_and_its_removal_opens_it_again(ws: Workspace, role: str) -> None:
    entry = leave_task(ws, role=role)
    end(ws, "s-1", "Looked around.")
    assert read(ws) == [False]
    token = end(ws, "s-2", DONE)
    (place,) = (one for one in books.read_contents(ws, BOOK).entries if one.entry.id == entry.id)
    assert (place.state, token in dict(place.entry.more)["closed"]) == ("done", True)
    before = read_store(ws.documents.store, "books/")
    relearn_books(ws)
    assert read_store(ws.documents.store, "books/") == before
    remove(ws, "s-2", reason="gone")
    assert read(ws) == [False]
    assert not any(token.encode() in data for data in read_store(ws.documents.store, "books/").values())


def test_a_session_that_was_captured_before_the_one_that_left_it_closes_it_too(ws: Workspace) -> None:
    """An import captures the newest sessions first, of all projects."""
    later = at_time(ws, "2026-11-22T12:00:00.000Z")
    done = end(later, "s-2", DONE)
    for number in range(25):
        end_session(ws, f"other-{number}", project="/home/ada/other", captured_at=LAST, ended_at=LAST)
    for session, at, said in (("s-1", "2026-11-21T12:00:00.000Z", f"TODO: {TASK}"), ("s-3", LAST, "Looked around.")):
        turns = [{"role": "user", "text": "Go on."}, {"role": "assistant", "text": said}]
        end_session(later, session, transcript=turns, project="/home/ada/demo", captured_at=at, ended_at=at)
    (place,) = books.read_contents(later, BOOK).entries
    assert (place.state, done in dict(place.entry.more)["closed"]) == ("done", True)
    before = read_store(ws.documents.store, "books/")
    relearn_books(later)
    assert read_store(ws.documents.store, "books/") == before


def test_a_tool_s_words_and_an_earlier_session_close_nothing(ws: Workspace) -> None:
    leave_task(ws, at="2027-01-01T00:00:00.000Z")
    end(ws, "s-1", DONE)
    assert read(ws) == [False]
    ws.documents.books.forget(BOOK.scope, BOOK.kind, ws.documents.books.read(BOOK).entries[0].id)
    write_entry(ws, BOOK.scope, BOOK.kind, TASK, source="assistant_turn", tags=(HEURISTIC,), at="2026-11-20T12:00:00Z")
    printed = {"role": "tool", "name": "Bash", "text": f"ci: {DONE}"}
    end(ws, "s-2", DONE, {"role": "assistant", "name": "Bash", "input": "cat ci.log", "text": ""}, printed)
    assert read(ws) == [False]


def test_what_a_person_typed_or_pinned_is_the_person_s_to_tick(ws: Workspace) -> None:
    write_entry(ws, BOOK.scope, BOOK.kind, TASK)
    end(ws, "s-1", DONE)
    assert read(ws) == [False]


@pytest.mark.parametrize(
    "turns",
    [
        ("We still have to write a test for the empty file.", "OK."),
        ("Go on.", "The importer is faster. The test for the empty file is not written yet."),
    ],
)
def test_a_session_that_speaks_of_a_task_keeps_it_from_going_stale(ws: Workspace, turns: tuple[str, str]) -> None:
    entry = leave_task(ws)
    at = "2026-11-30T12:00:00.000Z"
    said = [{"role": role, "text": text} for role, text in zip(("user", "assistant"), turns, strict=True)]
    token = end_session(at_time(ws, at), "s-4", transcript=said, project="/home/ada/demo", ended_at=at).session_token
    for number in range(2):
        (task,) = (one for one in ws.documents.books.read(BOOK).entries if one.id == entry.id)
        assert (task.done, is_stale(task, "2026-12-10"), is_stale(task, "2026-12-15")) == (False, number == 1, True)
        assert (token in "".join(value for _, value in task.more)) is (number == 0)
        if number == 0:
            remove(ws, token, reason="gone")


def test_a_task_that_nobody_mentions_for_14_days_is_stale_and_out_of_the_context(ws: Workspace) -> None:
    entry = leave_task(ws)
    write_entry(ws, BOOK.scope, BOOK.kind, "Typed by hand.", at="2026-11-01T00:00:00Z")
    before = read_store(ws.documents.store, "books/")
    for day, state in (("2026-12-04", "standing"), ("2026-12-05", "stale")):
        later = at_time(ws, f"{day}T12:00:00.000Z")
        states = {place.entry.id: place.state for place in books.read_contents(later, BOOK).entries}
        assert states[entry.id] == state
        assert list(states.values()).count("stale") == (state == "stale")
        context = build_context(later, ContextRequest(project="/home/ada/demo"))
        assert (TASK in context.text) == (state == "standing")
    assert read_store(ws.documents.store, "books/") == before
    assert not is_stale(entry._replace(updated="2026-11-30T00:00:00.000Z"), "2026-12-05")
    assert not is_stale(entry._replace(pinned=True), "2027-01-01")
