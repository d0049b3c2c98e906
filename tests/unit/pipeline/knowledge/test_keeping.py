"""Keeping: what was admitted is in its book once, with its words and its turn, whoever found it how often.

Fails without any of these in pipeline/knowledge/keeping.py: the tombstones and the gate in `_allowed`, the turn in the
id, the quote, `superseded` in `_new`, the look into archives in `_due`, the bound of what waits, the roll-over,
`shelve`, the sanitizer.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lineage.core.book_paths import PENDING, BookRef
from lineage.core.documents import Tombstone
from lineage.core.entry import ASSISTANT_TURN, DERIVED, MANUAL, USER_STATED, Entry, new_entry
from lineage.errors import InvalidInput
from lineage.extract.admission import HEURISTIC, TERMINAL, Admitted, Origin
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.keeping import Kept, keep, quote_of
from tests.support.houses import NOW, at, contents, memory_house

TOKEN = "h7k3n4p2m2x6q3r5"
PATH = f"memory/2026-11-21T12-00-00.000Z--{TOKEN}--transcript.md"
LATER_PATH = f"memory/2026-11-22T12-00-00.000Z--{TOKEN}--transcript.md"
TURN = "t-0123456789"
TEXT = "We decided to keep splitlines in the reader."
SECRET = "AKIA" + "QWERTYUIOPASDFGH"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with memory_house(tmp_path) as opened:
        yield opened


def said(text: str = TEXT, scope: str = "project/demo", **values: Any) -> Admitted:
    """What the assistant said in the turn; `turn_id`, `quote` and so on go into its origin."""
    own = {key: values.pop(key) for key in tuple(values) if key in Origin._fields}
    origin = Origin(HEURISTIC, TOKEN, TURN, "assistant", "", text)._replace(**own)
    return Admitted("decision", text, scope, scope == "global", origin)._replace(**values)


def typed(text: str, **values: Any) -> Admitted:
    return said(text, **{"via": TERMINAL, "session": "", "turn_id": "", "role": "user", **values})


def kept(house: House, *admitted: Admitted, origin: str | None = PATH, **values: Any) -> Kept:
    return keep(house, admitted, at=house.now, origin=origin, **values)


def bodies(house: House, scope: str = "project/demo", kind: str = "decision", shelf: str = "") -> list[str]:
    return [entry.body for entry in house.canon.books.get(scope, kind, shelf).entries]


def test_an_entry_has_its_words_its_turn_and_its_trust(house: House) -> None:
    ((ref, entry),) = kept(house, said(tool="Bash"), tags=("heuristic",)).entries
    assert ref == BookRef("project/demo", "decision")
    assert house.canon.books.read(ref).entries == (entry,)
    assert (entry.body, entry.at, entry.source, entry.tool) == (TEXT, NOW, ASSISTANT_TURN, "Bash")
    assert (entry.origin, entry.tags, entry.trust) == (f"[[{PATH}#^{TURN}]]", ("heuristic",), DERIVED)


def test_what_waits_keeps_the_words_as_they_were_said(house: House) -> None:
    text, quote = "Prefers tabs.", "I prefer tabs, <!-- lineage:end 0123456789abcdef --> really."
    ((ref, entry),) = kept(house, said(text, "global", kind="preference", role="user", quote=quote)).entries
    assert ref == BookRef("global", "preference", PENDING)
    (found,) = house.canon.books.read(ref).entries
    assert quote_of(found) == quote_of(entry) == quote
    assert house.canon.books.read(ref).problems == ()
    assert bodies(house, "global", "preference") == []


def test_a_quote_that_says_the_same_is_kept_where_it_is_confirmed_only(house: House) -> None:
    ((_, derived),) = kept(house, said()).entries
    ((_, waiting),) = kept(house, said(scope="global", role="user")).entries
    assert (derived.more, quote_of(derived)) == ((), TEXT)
    assert (len(waiting.more), quote_of(waiting)) == (1, TEXT)


def test_the_same_turn_in_another_file_adds_nothing_and_what_was_forgotten_of_it_stays_away(house: House) -> None:
    ((_, entry),) = kept(house, said()).entries
    assert kept(house, said(), origin=LATER_PATH).dropped == {"known": 1}
    house.canon.books.forget("project/demo", "decision", entry.id)
    assert kept(house, said(), origin=LATER_PATH).dropped == {"forgotten": 1}
    assert bodies(house) == []


def test_the_same_words_are_known_wherever_they_stand(house: House) -> None:
    kept(house, said())
    for same in (TEXT.upper(), f"  {TEXT[:-1]} ", TEXT.replace(" ", "  ")):
        assert kept(house, said(same, turn_id="t-aaaaaaaaaa")).dropped == {"known": 1}
    assert kept(house, said(TEXT.replace("keep", "drop"), turn_id="t-aaaaaaaaaa")).dropped == {}
    waiting = said(TEXT, "global", role="user")
    assert kept(house, waiting).dropped == {}
    assert kept(house, waiting._replace(pending=False)).dropped == {"known": 1}


def test_what_a_hand_wrote_is_known(house: House) -> None:
    house.canon.store.create(BookRef("project/demo", "decision").path, f"My notes.\n\n{TEXT}\n".encode())
    assert kept(house, said("My notes. " + TEXT)).dropped == {"known": 1}


def test_an_edited_entry_is_known_by_its_id(house: House) -> None:
    ((ref, entry),) = kept(house, said()).entries
    data = house.canon.store.read(ref.path)
    house.canon.store.replace(ref.path, data.data.replace(TEXT.encode(), b"Mine now."), data.version)
    assert kept(house, said()).dropped == {"known": 1}
    assert bodies(house) == ["Mine now."]
    assert house.canon.books.read(ref).entries[0].id == entry.id


def test_what_was_superseded_may_be_said_again(house: House) -> None:
    ((_, first),) = kept(house, said()).entries
    later = at(house, "2026-11-22T12:00:00.000Z")
    kept(later, said("We decided to use a generator.", turn_id="t-aaaaaaaaaa"), supersedes=(first.id,))
    assert kept(later, said(turn_id="t-bbbbbbbbbb")).dropped == {}
    assert bodies(house).count(TEXT) == 2


def test_a_derived_text_takes_no_user_stated_one_s_place(house: House) -> None:
    ((_, mine),) = kept(house, typed("The user's own word on it."), origin=None).entries
    assert mine.trust == USER_STATED
    with pytest.raises(InvalidInput):
        kept(house, said(), supersedes=(mine.id,))
    assert bodies(house) == ["The user's own word on it."]


def test_a_text_that_was_typed_and_forgotten_is_forgotten_whoever_says_it(house: House) -> None:
    ((_, mine),) = kept(house, typed(TEXT), origin=None).entries
    assert (mine.source, mine.origin) == (MANUAL, None)
    house.canon.books.forget("project/demo", "decision", mine.id)
    assert kept(house, said()).dropped == {"forgotten": 1}


def test_a_removed_session_adds_nothing(house: House) -> None:
    house.canon.tombstones.put(
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
    assert kept(house, said(), typed("Typed by the user."), origin=PATH).dropped == {"removed session": 1}
    assert bodies(house) == ["Typed by the user."]


@pytest.mark.parametrize("scope", ["global", "project/demo", "agent/default", "session/aaaaaaaaaaaaaaaa"])
def test_of_a_private_session_nothing_leaves_it(house: House, scope: str) -> None:
    assert kept(house, said(scope=scope, private=True)).dropped == {"private session": 1}
    assert contents(house.canon.store, "books/") == {}
    ((ref, _),) = kept(house, said(scope=f"session/{TOKEN}", private=True)).entries
    assert ref.scope == f"session/{TOKEN}"


def test_a_secret_comes_into_no_book(house: House) -> None:
    ((_, entry),) = kept(house, said(f"The key is {SECRET}.", quote=f"So the key is {SECRET}.")).entries
    assert "[REDACTED:" in entry.body
    assert "[REDACTED:" in quote_of(entry)
    assert not any(SECRET.encode() in data for data in contents(house.canon.store, "books/").values())


def test_what_waits_is_bounded_and_what_is_not_kept_is_counted(house: House) -> None:
    many = [said(f"We decided on point {n}.", "global", role="user", turn_id=f"t-{n:010d}") for n in range(103)]
    assert kept(house, *many).dropped == {"too many wait": 3}
    assert kept(house, said("We decided on another.", "global", turn_id="t-ffffffffff")).dropped == {"too many wait": 1}
    assert len(bodies(house, "global", shelf=PENDING)) == 100


def test_a_book_over_its_cap_rolls_over_and_its_archive_is_still_known(house: House) -> None:
    scope = "agent/default"
    many = [said(f"We decided on point {n} of it.", scope, turn_id=f"t-{n:010d}") for n in range(31)]
    kept(house, *many)
    assert len(bodies(house, scope)) == 20
    assert len(bodies(house, scope, shelf="2026")) == 11
    again = [one._replace(origin=one.origin._replace(turn_id="t-ffffffffff")) for one in many]
    assert kept(house, *many, *again).dropped == {"known": 62}
    archived = next(entry for entry in house.canon.books.get(scope, "decision", "2026").entries)
    house.canon.books.forget(scope, "decision", archived.id)
    assert kept(house, *many).dropped == {"known": 30, "forgotten": 1}


def test_every_entry_is_shelved_also_where_it_was_there_already(house: House) -> None:
    def rows() -> Counter[str]:
        return Counter(row.text for row in house.index.entries("project/demo", "decision"))

    house.canon.books.add("project/demo", "decision", hidden())
    assert rows() == {}
    assert kept(house, said("A text of a run that died before it could shelve it.")).dropped == {"known": 1}
    assert rows() == {"A text of a run that died before it could shelve it.": 1}


def hidden() -> Entry:
    text = "A text of a run that died before it could shelve it."
    return new_entry("project/demo", "decision", text, at=NOW, source=ASSISTANT_TURN)
