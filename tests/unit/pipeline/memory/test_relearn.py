"""Learning again: what old rules found gives way to what today's find; what a person touched or forgot stays.

Fails without any of these in pipeline/memory/relearn.py: each clause of `_is_replaceable`, `forgotten_ids` and
`supersedes` in `_remove_replaceable`, `wanted` there, `_iter_part_ids`, `refuse_agents`, `extract`.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from lineage.core.base.book_paths import BookRef
from lineage.core.books import book_edits
from lineage.core.books.book import append_parts, make_entry_part
from lineage.core.books.entry import Entry, compute_entry_id
from lineage.core.books.sightings import read_sightings, write_sightings
from lineage.errors import InvalidInput, LineageError
from lineage.extraction.admission_policy import HEURISTIC, Admission, Provenance
from lineage.harness.detect_caller import Caller
from lineage.pipeline.memory import books
from lineage.pipeline.memory.entry_writer import write_entries
from lineage.pipeline.memory.relearn import RelearnResult, relearn_books
from lineage.pipeline.memory.restore import restore_entry
from lineage.workspace.workspace import Workspace
from tests.support.books import write_entry
from tests.support.workspace import at_time, end_session, make_turns, open_memory_workspace, read_store

BOOK = BookRef("project/demo", "decision")
GOOD = "We decided to keep splitlines in the reader because quoted rows break."
NOISE = "Let me look at the reader first."


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Workspace]:
    with open_memory_workspace(tmp_path) as opened:
        yield opened


@pytest.fixture
def path(ws: Workspace) -> str:
    """The transcript of a session with a decision in it."""
    turns = make_turns("Why does the reader drop the last line?", f"{NOISE} {GOOD}")
    return str(end_session(ws, transcript=turns, project="/home/ada/demo").transcript_path)


def learn_long_ago(ws: Workspace, path: str, text: str = NOISE, tag: str = "heuristic") -> Entry:
    """An entry as rules of old wrote it, of the session's second turn."""
    (known,) = (entry for entry in ws.documents.books.read(BOOK).entries if entry.body == GOOD)
    turn_id = (known.origin or "").partition("#^")[2].rstrip("]")
    admission = Admission(
        "decision", text, BOOK.scope, False, Provenance(HEURISTIC, "", turn_id, "assistant", "", text)
    )
    ((_, entry),) = write_entries(ws, [admission], at=ws.now, origin=path, tags=(tag,)).entries
    return entry


def bodies(ws: Workspace) -> list[str]:
    return [entry.body for entry in ws.documents.books.read(BOOK).entries]


def texts(result: RelearnResult) -> tuple[list[str], list[str]]:
    removed, added = ([entry.body for _, entry in places] for places in (result.removed, result.added))
    return removed, added


def test_what_today_s_rules_do_not_find_goes_and_what_they_find_comes(ws: Workspace, path: str) -> None:
    learn_long_ago(ws, path)
    (known, _) = ws.documents.books.read(BOOK).entries
    ws.documents.books.update(BOOK.scope, BOOK.kind, partial(book_edits.remove_entry, identifier=known.id))
    write_entry(ws, BOOK.scope, BOOK.kind, "Typed.")
    assert texts(relearn_books(ws)) == ([NOISE], [GOOD])
    assert bodies(ws) == ["Typed.", GOOD]
    write_entry(ws, BOOK.scope, BOOK.kind, "Typed, too.")
    assert known in ws.documents.books.read(BOOK).entries
    before = read_store(ws.documents.store, "books/")
    assert texts(relearn_books(ws)) == ([], [])
    assert read_store(ws.documents.store, "books/") == before


def test_a_dry_run_says_the_same_and_writes_nothing(ws: Workspace, path: str) -> None:
    learn_long_ago(ws, path)
    before = read_store(ws.documents.store, "books/")
    assert texts(relearn_books(ws, is_dry_run=True)) == ([NOISE], [])
    assert read_store(ws.documents.store, "books/") == before


def edit(ws: Workspace, entry: Entry) -> None:
    books.edit_entry(ws, entry.id, "Look at the writer first.")


def edit_by_hand(ws: Workspace, entry: Entry) -> None:
    book = ws.documents.books.read(BOOK)
    changed = book_edits.replace_entry(book, entry._replace(text=entry.text.replace("first", "last")))
    ws.documents.books.write_merged(BOOK, book, changed)


def pin(ws: Workspace, entry: Entry) -> None:
    books.pin_entry(ws, entry.id)


def pin_by_hand(ws: Workspace, entry: Entry) -> None:
    book = ws.documents.books.read(BOOK)
    ws.documents.books.write_merged(BOOK, book, book_edits.replace_entry(book, entry._replace(pinned=True)))


def tick_by_hand(ws: Workspace, entry: Entry) -> None:
    book = ws.documents.books.read(BOOK)
    task = entry._replace(text=f"- [x] {entry.body}\n")
    ws.documents.books.write_merged(BOOK, book, book_edits.replace_entry(book, task))


def supersede(ws: Workspace, entry: Entry) -> None:
    write_entry(ws, BOOK.scope, BOOK.kind, "Look at nothing.", supersedes=(entry.id,))


@pytest.mark.parametrize("touch", [edit, edit_by_hand, pin, pin_by_hand, tick_by_hand, supersede])
def test_what_a_person_touched_stays(ws: Workspace, path: str, touch: Callable[[Workspace, Entry], None]) -> None:
    entry = learn_long_ago(ws, path)
    touch(ws, entry)
    before = read_store(ws.documents.store, "books/")
    assert texts(relearn_books(ws)) == ([], [])
    assert read_store(ws.documents.store, "books/") == before


def test_a_ticked_task_and_what_is_no_rule_s_stay(ws: Workspace, path: str) -> None:
    learn_long_ago(ws, path, tag="model")
    write_entry(ws, BOOK.scope, BOOK.kind, "Typed, and of no session.", tags=("heuristic",))
    text = "TODO: rename the parser."
    turn = Provenance(HEURISTIC, "", "t-0123456789", "assistant", "", text)
    admission = Admission("task", text, BOOK.scope, False, turn)
    ((_, task),) = write_entries(ws, [admission], at=ws.now, origin=path, tags=("heuristic",)).entries
    books.set_task_done(ws, task.id)
    assert texts(relearn_books(ws)) == ([], [])


def test_what_was_forgotten_stays_forgotten_also_within_a_longer_text(ws: Workspace, path: str) -> None:
    (known,) = ws.documents.books.read(BOOK).entries
    turn_id = (known.origin or "").partition("#^")[2].rstrip("]")
    books.forget_entry(ws, known.id)
    assert texts(relearn_books(ws)) == ([], [])
    # Rules of old knew a part of it, as another kind.
    lesson = compute_entry_id("project/demo", "lesson", GOOD, turn_id)
    other = BookRef("project/demo", "lesson")
    ws.documents.store.delete(BOOK.path)
    assert texts(relearn_books(ws, is_dry_run=True)) == ([], [GOOD])
    write_entry(ws, other.scope, other.kind, "x")
    data = ws.documents.store.read(other.path).data + f"\n<!-- lineage:forgotten {lesson} -->\n".encode()
    ws.documents.store.replace(other.path, data, ws.documents.store.read(other.path).version)
    assert texts(relearn_books(ws)) == ([], [])


def test_what_is_restored_by_one_id_is_learned_again(ws: Workspace, path: str) -> None:
    """Forgetting puts away the words without their turn too, and near-duplicates: one id brings all of that back."""
    (known,) = ws.documents.books.read(BOOK).entries
    books.forget_entry(ws, known.id)
    assert len(ws.documents.books.read(BOOK).forgotten_ids) == 3
    assert texts(relearn_books(ws)) == ([], [])
    restored = restore_entry(ws, known.id)
    assert (restored.id, len(restored.ids), restored.refs) == (known.id, 3, (BOOK,))
    assert not ws.documents.books.read(BOOK).forgotten_ids
    assert texts(relearn_books(ws)) == ([], [GOOD])
    assert [entry.id for entry in ws.documents.books.read(BOOK).entries] == [known.id]


@pytest.mark.parametrize("is_newer_touched", [False, True])
def test_what_is_superseded_is_restored_and_learned_again(ws: Workspace, path: str, is_newer_touched: bool) -> None:
    turns = make_turns(
        "Decision: we use a loop in the reader instead of splitlines, because quoted rows break.", "Done."
    )
    end_session(at_time(ws, "2026-12-01T00:00:00.000Z"), "s-2", transcript=turns, project="/home/ada/demo")
    old, new = ws.documents.books.read(BOOK).entries
    assert new.supersedes == (old.id,)
    if is_newer_touched:
        books.pin_entry(ws, new.id)
    books.forget_entry(ws, old.id)
    restore_entry(ws, old.id)
    assert texts(relearn_books(ws)) == ([], [GOOD])
    assert [entry.body for entry in ws.documents.books.read(BOOK).active_entries] == [new.body]


def test_an_id_that_two_forgettings_put_away_is_restored_with_each(ws: Workspace, path: str) -> None:
    """What resembles two entries is kept away by either; restoring one leaves the other's own line."""
    (known,) = ws.documents.books.read(BOOK).entries
    books.forget_entry(ws, known.id)
    other = known._replace(id="0" * 16)
    book = ws.documents.books.read(BOOK)
    ws.documents.books.write_merged(BOOK, book, append_parts(book, make_entry_part(book, other)))
    books.forget_entry(ws, other.id)
    assert len(ws.documents.books.read(BOOK).tombstones) == 6
    assert len(restore_entry(ws, other.id).ids) == 3
    assert ws.documents.books.read(BOOK).tombstones == {(known.id, "")}


def test_a_transcript_that_cannot_be_read_changes_nothing(ws: Workspace, path: str) -> None:
    learn_long_ago(ws, path)
    blob = ws.documents.store.read(path)
    ws.documents.store.replace(path, blob.data.replace(b"kind: ", b"kid: ", 1), blob.version)
    result = relearn_books(ws)
    assert (texts(result), result.read, result.unreadable) == (([], []), 0, 1)
    assert bodies(ws) == [GOOD, NOISE]


def test_neither_agents_nor_a_workspace_that_extracts_nothing_relearn(ws: Workspace, path: str) -> None:
    with pytest.raises(LineageError, match="agent"):
        relearn_books(ws, Caller("claude-code"))
    off = replace(ws, settings=replace(ws.settings, knowledge=replace(ws.settings.knowledge, extract=False)))
    with pytest.raises(InvalidInput, match="extraction is off"):
        relearn_books(off)


def test_an_entry_is_bound_to_the_file_that_its_session_edited_before_and_after(ws: Workspace) -> None:
    edit = {"role": "assistant", "name": "Edit", "input": "/home/ada/demo/src/reader.py", "text": ""}
    said = {"role": "assistant", "text": "We decided to keep splitlines in `reader.py` because quoted rows break."}
    turns = [*make_turns("Why does the reader drop the last line?"), edit, said]
    end_session(ws, transcript=turns, project="/home/ada/demo")
    (entry,) = ws.documents.books.read(BOOK).entries
    assert entry.about == ("file:src/reader.py",)
    ws.documents.books.update(BOOK.scope, BOOK.kind, partial(book_edits.remove_entry, identifier=entry.id))
    relearn_books(ws)
    assert ws.documents.books.read(BOOK).entries == (entry,)


def test_what_was_said_in_two_projects_is_found_again_as_it_was(ws: Workspace) -> None:
    rule = "Never skip the linter. Always use pnpm in the web app, never npm."
    for number, project in enumerate(("shop", "blog", "shop")):
        turns = make_turns("Mend the cart.", "Done.", rule, "OK.", f"Go on with part {number}.", "Fixed it.")
        end_session(ws, f"s-{number}", transcript=turns, project=f"/home/ada/{project}")
    (proposal, *_) = ws.documents.books.read(BookRef("global", "preference", "pending")).entries
    assert proposal.body in rule
    before = read_store(ws.documents.store, "books/")
    assert b'"seen"' in b"".join(before.values())
    assert texts(relearn_books(ws)) == ([], [])
    assert read_store(ws.documents.store, "books/") == before


def test_of_one_session_s_statements_the_later_one_stays_the_newer(ws: Workspace) -> None:
    for tool, other in (("npm", "pnpm"), ("jest", "vitest"), ("yapf", "ruff"), ("make", "just"), ("nose", "pytest")):
        plain = f"We decided that {tool} installs the packages of the web app from its lock file."
        amending = f"The root cause is the lock file: we decided to use {other} in the web app, no longer {tool}."
        for name, (first, later) in {tool: (plain, amending), f"{tool}-back": (amending, plain)}.items():
            turns = make_turns("Why does the web app fail?", first, "What shall we use there?", later)
            end_session(ws, f"s-{name}", transcript=turns, project=f"/home/ada/{name}")
    before = read_store(ws.documents.store, "books/")
    assert b"".join(before.values()).count(b'"supersedes": ["') == 5
    assert texts(relearn_books(ws)) == ([], [])
    assert read_store(ws.documents.store, "books/") == before


def test_what_is_learned_otherwise_today_is_learned_anew_and_once(ws: Workspace) -> None:
    edit = {"role": "assistant", "name": "Edit", "input": "/home/ada/demo/src/reader.py", "text": ""}
    for number in range(2):
        said = {"role": "assistant", "text": "We decided to keep splitlines in `reader.py` because quoted rows break."}
        turns = [*make_turns(f"Why does the reader drop line {number}?"), edit, said]
        end_session(ws, f"s-{number}", transcript=turns, project="/home/ada/demo")
    good = ws.documents.books.read(BOOK)
    (entry,) = good.entries
    (other,) = read_sightings(entry)
    # As it was before entries were bound and counted.
    plain = write_sightings(entry, ())._replace(about=())
    again = plain._replace(id=other.id, at=other.at, origin=other.origin)
    ws.documents.books.update(
        BOOK.scope, BOOK.kind, lambda book: book_edits.add(book_edits.replace_entry(book, plain), again)
    )
    removed, added = texts(relearn_books(ws))
    assert (removed, added) == ([entry.body], [])
    assert ws.documents.books.read(BOOK).entries == (entry,)
    before = read_store(ws.documents.store, "books/")
    assert texts(relearn_books(ws)) == ([], [])
    assert read_store(ws.documents.store, "books/") == before
