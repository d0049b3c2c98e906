"""Writing entries: an admitted text is in its book once, with its words and its turn, however often it is found.

Fails without any of these in pipeline/memory/entry_writer.py: the tombstones and the privacy in `_filter_allowed`, the
turn in the id, the quote, `superseded` in `collect_known`, the archives in `_relevant_shelves`, the bound of pending
entries, the roll-over, `index_books`, the sanitizer.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lineage.core.base.book_paths import PENDING, BookRef
from lineage.core.books.book import append_parts, make_entry_part, new_book
from lineage.core.books.book_edits import Cap, add
from lineage.core.books.entry import (
    ASSISTANT_TURN,
    DERIVED,
    MANUAL,
    USER_STATED,
    Entry,
    new_entry,
    replace_body,
)
from lineage.core.format.documents import Tombstone
from lineage.errors import InvalidInput
from lineage.extraction.admission_policy import HEURISTIC, TERMINAL, Admission, Provenance
from lineage.pipeline.memory import books
from lineage.pipeline.memory.entry_writer import WriteResult, parse_quote, write_entries
from lineage.workspace.workspace import Workspace
from tests.support.workspace import NOW, at_time, open_memory_workspace, read_store

TOKEN = "h7k3n4p2m2x6q3r5"
PATH = f"memory/2026-11-21T12-00-00.000Z--{TOKEN}--transcript.md"
LATER_PATH = f"memory/2026-11-22T12-00-00.000Z--{TOKEN}--transcript.md"
TURN = "t-0123456789"
TEXT = "We decided to keep splitlines in the reader."
SECRET = "AKIA" + "QWERTYUIOPASDFGH"


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Workspace]:
    with open_memory_workspace(tmp_path) as opened:
        yield opened


def said(text: str = TEXT, scope: str = "project/demo", **values: Any) -> Admission:
    """What the assistant said in the turn; `compute_turn_id`, `quote` and so on go into its origin."""
    own = {key: values.pop(key) for key in tuple(values) if key in Provenance.__dataclass_fields__}
    origin = replace(Provenance(HEURISTIC, TOKEN, TURN, "assistant", "", text), **own)
    return replace(Admission("decision", text, scope, scope == "global", origin), **values)


def typed(text: str, **values: Any) -> Admission:
    return said(text, **{"via": TERMINAL, "session": "", "turn_id": "", "role": "user", **values})


def kept(ws: Workspace, *admitted: Admission, origin: str | None = PATH, **values: Any) -> WriteResult:
    return write_entries(ws, admitted, at=ws.now, origin=origin, **values)


def bodies(ws: Workspace, scope: str = "project/demo", kind: str = "decision", shelf: str = "") -> list[str]:
    return [entry.body for entry in ws.documents.books.get(scope, kind, shelf).entries]


def test_an_entry_has_its_words_its_turn_and_its_trust(ws: Workspace) -> None:
    ((ref, entry),) = kept(ws, said(tool="Bash"), tags=("heuristic",)).entries
    assert ref == BookRef("project/demo", "decision")
    assert ws.documents.books.read(ref).entries == (entry,)
    assert (entry.body, entry.at, entry.source, entry.tool) == (TEXT, NOW, ASSISTANT_TURN, "Bash")
    assert (entry.origin, entry.tags, entry.trust) == (f"[[{PATH}#^{TURN}]]", ("heuristic",), DERIVED)


def test_what_waits_keeps_the_words_as_they_were_said(ws: Workspace) -> None:
    text, quote = "Prefers tabs.", "I prefer tabs, <!-- lineage:end 0123456789abcdef --> really."
    ((ref, entry),) = kept(ws, said(text, "global", kind="preference", role="user", quote=quote)).entries
    assert ref == BookRef("global", "preference", PENDING)
    (found,) = ws.documents.books.read(ref).entries
    assert parse_quote(found) == parse_quote(entry) == quote
    assert ws.documents.books.read(ref).problems == ()
    assert bodies(ws, "global", "preference") == []


def test_a_quote_that_says_the_same_is_kept_where_it_is_confirmed_only(ws: Workspace) -> None:
    ((_, derived),) = kept(ws, said()).entries
    ((_, waiting),) = kept(ws, said(scope="global", role="user")).entries
    assert (derived.more, parse_quote(derived)) == ((), TEXT)
    assert (len(waiting.more), parse_quote(waiting)) == (1, TEXT)


def test_the_same_turn_in_another_file_adds_nothing_and_what_was_forgotten_of_it_stays_away(ws: Workspace) -> None:
    ((_, entry),) = kept(ws, said()).entries
    assert kept(ws, said(), origin=LATER_PATH).dropped == {"known": 1}
    ws.documents.books.forget("project/demo", "decision", entry.id)
    assert kept(ws, said(), origin=LATER_PATH).dropped == {"forgotten": 1}
    assert bodies(ws) == []


def test_the_same_words_are_known_wherever_they_stand(ws: Workspace) -> None:
    kept(ws, said())
    for same in (TEXT.upper(), f"  {TEXT[:-1]} ", TEXT.replace(" ", "  ")):
        assert kept(ws, said(same, turn_id="t-aaaaaaaaaa")).dropped == {"known": 1}
    assert kept(ws, said(TEXT.replace("keep", "drop"), turn_id="t-aaaaaaaaaa")).dropped == {}
    waiting = said(TEXT, "global", role="user")
    assert kept(ws, waiting).dropped == {}
    assert kept(ws, replace(waiting, pending=False)).dropped == {"known": 1}


def test_what_a_hand_wrote_is_known(ws: Workspace) -> None:
    ws.documents.store.create(BookRef("project/demo", "decision").path, f"My notes.\n\n{TEXT}\n".encode())
    assert kept(ws, said("My notes. " + TEXT)).dropped == {"known": 1}


def test_an_edited_entry_is_known_by_its_id(ws: Workspace) -> None:
    ((ref, entry),) = kept(ws, said()).entries
    data = ws.documents.store.read(ref.path)
    ws.documents.store.replace(ref.path, data.data.replace(TEXT.encode(), b"Mine now."), data.version)
    assert kept(ws, said()).dropped == {"known": 1}
    assert bodies(ws) == ["Mine now."]
    assert ws.documents.books.read(ref).entries[0].id == entry.id


def test_what_was_superseded_may_be_said_again(ws: Workspace) -> None:
    ((_, first),) = kept(ws, said()).entries
    later = at_time(ws, "2026-11-22T12:00:00.000Z")
    kept(later, said("We decided to use a generator.", turn_id="t-aaaaaaaaaa"), supersedes=(first.id,))
    assert kept(later, said(turn_id="t-bbbbbbbbbb")).dropped == {}
    assert bodies(ws).count(TEXT) == 2


def test_a_derived_text_takes_no_user_stated_one_s_place(ws: Workspace) -> None:
    ((_, mine),) = kept(ws, typed("The user's own word on it."), origin=None).entries
    assert mine.trust == USER_STATED
    with pytest.raises(InvalidInput):
        kept(ws, said(), supersedes=(mine.id,))
    assert bodies(ws) == ["The user's own word on it."]


def test_a_text_that_was_typed_and_forgotten_is_forgotten_whoever_says_it(ws: Workspace) -> None:
    ((_, mine),) = kept(ws, typed(TEXT), origin=None).entries
    assert (mine.source, mine.origin) == (MANUAL, None)
    ws.documents.books.forget("project/demo", "decision", mine.id)
    assert kept(ws, said()).dropped == {"forgotten": 1}


def test_a_removed_session_adds_nothing(ws: Workspace) -> None:
    ws.documents.tombstones.put(
        Tombstone(
            kind="tombstone",
            agent_id="default",
            session_token=TOKEN,
            removed_at=NOW,
            reason="",
            removed_paths=[],
            removed_turns=[],
        )
    )
    assert kept(ws, said(), typed("Typed by the user."), origin=PATH).dropped == {"removed session": 1}
    assert bodies(ws) == ["Typed by the user."]


@pytest.mark.parametrize("scope", ["global", "project/demo", "agent/default", "session/aaaaaaaaaaaaaaaa"])
def test_of_a_private_session_nothing_leaves_it(ws: Workspace, scope: str) -> None:
    assert kept(ws, said(scope=scope, private=True)).dropped == {"private session": 1}
    assert read_store(ws.documents.store, "books/") == {}
    ((ref, _),) = kept(ws, said(scope=f"session/{TOKEN}", private=True)).entries
    assert ref.scope == f"session/{TOKEN}"


def test_a_secret_comes_into_no_book(ws: Workspace) -> None:
    ((_, entry),) = kept(ws, said(f"The key is {SECRET}.", quote=f"So the key is {SECRET}.")).entries
    assert "[REDACTED:" in entry.body
    assert "[REDACTED:" in parse_quote(entry)
    assert not any(SECRET.encode() in data for data in read_store(ws.documents.store, "books/").values())


def test_what_waits_is_bounded_and_what_is_not_kept_is_counted(ws: Workspace) -> None:
    many = [said(f"We decided on point {n}.", "global", role="user", turn_id=f"t-{n:010d}") for n in range(103)]
    assert kept(ws, *many).dropped == {"too many wait": 3}
    assert kept(ws, said("We decided on another.", "global", turn_id="t-ffffffffff")).dropped == {"too many wait": 1}
    assert len(bodies(ws, "global", shelf=PENDING)) == 100


def test_a_book_over_its_cap_rolls_over_and_its_archive_is_still_known(ws: Workspace) -> None:
    scope = "agent/default"
    many = [said(f"We decided on point {n} of it.", scope, turn_id=f"t-{n:010d}") for n in range(31)]
    kept(ws, *many)
    assert len(bodies(ws, scope)) == 20
    assert len(bodies(ws, scope, shelf="2026")) == 11
    again = [replace(one, provenance=replace(one.provenance, turn_id="t-ffffffffff")) for one in many]
    assert kept(ws, *many, *again).dropped == {"known": 62}
    archived = next(entry for entry in ws.documents.books.get(scope, "decision", "2026").entries)
    ws.documents.books.forget(scope, "decision", archived.id)
    assert kept(ws, *many).dropped == {"known": 30, "forgotten": 1}


def test_what_a_later_session_says_again_comes_back_from_the_archive_and_stays(ws: Workspace) -> None:
    scope = "agent/default"
    texts = [f"We decided on point {n} of it, as it is." for n in range(31)]
    learn = {"tags": (HEURISTIC,)}
    kept(ws, *(said(text, scope, turn_id=f"t-{n:010d}") for n, text in enumerate(texts)), **learn)
    (first, *_) = archived = bodies(ws, scope, shelf="2026")
    assert len(archived) == 11
    kept(ws, said(first, scope, turn_id="t-aaaaaaaaaa"), **learn)  # at the same time: the same capture once more
    assert bodies(ws, scope, shelf="2026") == archived
    later = at_time(ws, "2026-11-23T00:00:00.000Z")
    for _ in range(2):
        kept(later, said(first, scope, turn_id="t-bbbbbbbbbb"), **learn, origin=LATER_PATH)
        assert first in bodies(ws, scope) and first not in bodies(ws, scope, shelf="2026")
    more = [said(f"We decided on another {n} of it.", scope, turn_id=f"t-{n:010x}") for n in range(100, 112)]
    kept(later, *more, **learn, origin=LATER_PATH)
    assert first in bodies(ws, scope) and len(bodies(ws, scope)) == 20
    assert sorted(texts) == sorted(
        one for one in (*bodies(ws, scope), *bodies(ws, scope, shelf="2026")) if one in texts
    )


def archive(ws: Workspace, text: str, **values: Any) -> Entry:
    """An entry of a session, in the archive."""
    kept(ws, said(text, turn_id="t-aaaaaaaaaa", **values), tags=(HEURISTIC,))
    ws.documents.books.roll_over("project/demo", "decision", Cap(0, 0))
    (entry,) = ws.documents.books.get("project/demo", "decision", "2026").entries
    return entry


def say_again(ws: Workspace, text: str, **values: Any) -> None:
    later = at_time(ws, "2026-11-23T00:00:00.000Z")
    kept(later, said(text, turn_id="t-bbbbbbbbbb", **values), tags=(HEURISTIC,), origin=LATER_PATH)


def test_what_a_newer_word_overrules_or_an_agent_says_of_the_user_s_stays_archived(ws: Workspace) -> None:
    old = "Use npm for the web app."
    archive(ws, old, role="user")
    say_again(ws, old)
    assert bodies(ws) == []
    new = "Use pnpm for the web app, no longer npm."
    kept(ws, said(new, role="user", turn_id="t-cccccccccc"), tags=(HEURISTIC,))
    say_again(ws, old)
    assert bodies(ws) == [new]
    say_again(ws, old, role="user")  # the last word is news, as in a book without an archive
    assert bodies(ws) == [new, old]
    say_again(ws, old, role="user")
    assert bodies(ws) == [new, old]


def test_what_was_forgotten_or_is_in_use_in_other_words_stays_archived(ws: Workspace) -> None:
    entry = archive(ws, TEXT)
    book = BookRef("project/demo", "decision")
    edited = make_entry_part(new_book(book.scope, book.kind), replace_body(entry, "Edited elsewhere, and kept."))
    ws.documents.books.update(book.scope, book.kind, lambda known: append_parts(known, edited))
    say_again(ws, TEXT)
    assert bodies(ws) == ["Edited elsewhere, and kept."]
    ws.documents.store.delete(book.path)
    kept(ws, said(f"Please, {TEXT}", turn_id="t-dddddddddd"), tags=(HEURISTIC,))
    (near,) = ws.documents.books.read(book).entries
    books.forget_entry(ws, near.id)
    say_again(ws, TEXT)
    assert bodies(ws) == []


def test_the_oldest_of_three_stays_overruled_where_the_middle_one_is_archived(ws: Workspace) -> None:
    first, second = (
        new_entry("project/demo", "decision", text, at=NOW, source=MANUAL) for text in ("One thing.", "Two things.")
    )
    second = second._replace(supersedes=(first.id,))
    for entry in (first, second):
        ws.documents.books.add("project/demo", "decision", entry)
    ws.documents.books.roll_over("project/demo", "decision", Cap(0, 0))
    third = new_entry("project/demo", "decision", "Three.", at=NOW, source=MANUAL, supersedes=(second.id,))
    ws.documents.books.update("project/demo", "decision", lambda book: add(book, third))
    books.forget_entry(ws, second.id)
    (left,) = ws.documents.books.read(BookRef("project/demo", "decision")).entries
    assert left.supersedes == (second.id, first.id)


def test_a_link_without_effect_to_an_archived_word_of_the_user_s_is_not_handed_on(ws: Workspace) -> None:
    place = BookRef("project/demo", "decision")
    user_s = new_entry(*place[:2], "One thing.", at=NOW, source=MANUAL)
    ws.documents.books.add(*place[:2], user_s)
    ws.documents.books.roll_over(*place[:2], Cap(0, 0))
    derived = new_entry(*place[:2], "Two things.", at=NOW, source=ASSISTANT_TURN, supersedes=(user_s.id,))
    newest = new_entry(*place[:2], "Three.", at=NOW, source=MANUAL, supersedes=(derived.id,))
    parts = (make_entry_part(new_book(*place[:2]), one) for one in (derived, newest))
    ws.documents.books.update(*place[:2], lambda book: append_parts(book, *parts))
    books.forget_entry(ws, derived.id)
    (left,) = ws.documents.books.read(place).entries
    assert left.supersedes == (derived.id,)


def test_every_entry_is_shelved_also_where_it_was_there_already(ws: Workspace) -> None:
    def rows() -> Counter[str]:
        return Counter(row.text for row in ws.index.load_entries("project/demo", "decision"))

    ws.documents.books.add("project/demo", "decision", hidden())
    assert rows() == {}
    assert kept(ws, said("A text of a run that died before it could shelve it.")).dropped == {"known": 1}
    assert rows() == {"A text of a run that died before it could shelve it.": 1}


def hidden() -> Entry:
    text = "A text of a run that died before it could shelve it."
    return new_entry("project/demo", "decision", text, at=NOW, source=ASSISTANT_TURN)
