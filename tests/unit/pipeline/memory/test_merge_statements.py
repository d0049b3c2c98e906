"""One statement is one entry that counts, and what amends it takes its place, in whatever order sessions are captured.

The guards: `is_learned`, `superseded`, `is_unjudged` and the trust in `add_statements`, the order, `can_supersede` and
`is_learned` in `_link_amendments`, `_MAX_LISTED`, `take_over`, the ids that `forget_entry` leaves.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from lineage.core.base.book_paths import BookRef
from lineage.core.books.book import parse_book, serialize_book
from lineage.core.books.entry import ASSISTANT_TURN, USER_STATED, USER_TURN, Entry, compute_entry_id, new_entry
from lineage.core.books.sightings import add_sighting, count_sightings, read_sightings
from lineage.extraction.admission_policy import HEURISTIC, Admission, Provenance
from lineage.pipeline.memory import books
from lineage.pipeline.memory.entry_writer import WriteResult, write_entries
from lineage.pipeline.memory.merge_statements import add_statements
from lineage.pipeline.memory.session_entries import find_session_entries, remove_session, select_removed
from lineage.workspace.workspace import Workspace
from tests.support.amendments import read_chains
from tests.support.books import write_entry
from tests.support.workspace import open_memory_workspace, read_store

BOOK = BookRef("project/demo", "preference")
RULE, AGAIN, ONCE_MORE = "Always use pnpm, never npm!", "please use pnpm and not npm", "Use pnpm, not npm."
EMPTY = parse_book(b"", BOOK.scope, BOOK.kind)


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Workspace]:
    with open_memory_workspace(tmp_path) as opened:
        yield opened


def say(ws: Workspace, day: int, text: str, role: str = "user") -> WriteResult:
    """What the session of a day teaches."""
    token = f"{'abcdefghijklmnopqrstuvwxyz234567'[day]}7k3n4p2m2x6q3r5"
    quote = Provenance(HEURISTIC, token, f"t-00000000{day:02}", role, "", text)
    at = f"2026-11-{day:02}T12:00:00.000Z"
    path = f"memory/{at.replace(':', '-')}--{token}--transcript.md"
    return write_entries(
        ws, [Admission(BOOK.kind, text, BOOK.scope, False, quote)], at=at, origin=path, tags=(HEURISTIC,)
    )


def read(ws: Workspace) -> list[tuple[str, int]]:
    return [(entry.body, count_sightings(entry)["seen"]) for entry in ws.documents.books.read(BOOK).entries]


def learned(day: int, speaker: str, text: str) -> Entry:
    source = USER_TURN if speaker == "user" else ASSISTANT_TURN
    at, origin = f"2026-11-{day:02}T12:00:00.000Z", f"[[{day}]]"
    return new_entry(BOOK.scope, BOOK.kind, text, at=at, source=source, origin=origin, tags=(HEURISTIC,))


def test_near_duplicates_of_three_sessions_are_one_entry_and_keep_its_id(ws: Workspace) -> None:
    ((_, first),) = say(ws, 1, RULE).entries
    assert (say(ws, 5, AGAIN).entries, say(ws, 3, RULE).dropped) == ((), {"known": 1})
    (entry,) = ws.documents.books.read(BOOK).entries
    assert (entry.id, entry.body) == (first.id, RULE)
    assert count_sightings(entry) == {
        "seen": 3, "first": "2026-11-01T12:00:00.000Z", "last": "2026-11-05T12:00:00.000Z",
    }  # fmt: skip
    assert [(one.at[8:10], one.text) for one in read_sightings(entry)] == [("03", ""), ("05", AGAIN)]
    before = read_store(ws.documents.store, "books/")
    for day, text in ((1, RULE), (3, RULE), (5, AGAIN)):
        assert say(ws, day, text).entries == ()
    assert read_store(ws.documents.store, "books/") == before
    (shown,) = books.read_contents(ws, BOOK).entries
    assert shown.as_json()["seen"] == 3


def test_what_differs_in_a_word_a_number_or_the_order_is_another_statement(ws: Workspace) -> None:
    texts = (
        "Use tabs, not spaces.",
        "Use spaces in YAML.",
        "Retry 3 times on a timeout.",
        "Retry on a timeout of DNS.",
    )
    for day, text in enumerate(texts, 1):
        assert say(ws, day, text).entries
    assert len(read(ws)) == 4


def test_the_user_s_words_take_the_place_of_an_agent_s(ws: Workspace) -> None:
    say(ws, 1, RULE, "assistant")
    say(ws, 2, AGAIN, "user")
    say(ws, 3, ONCE_MORE, "assistant")
    (entry,) = ws.documents.books.read(BOOK).entries
    assert (entry.body, entry.trust, count_sightings(entry)["seen"]) == (AGAIN, USER_STATED, 3)


def test_forgetting_one_forgets_all_and_their_like(ws: Workspace) -> None:
    ((_, first),) = say(ws, 1, RULE).entries
    say(ws, 2, AGAIN)
    books.forget_entry(ws, first.id)
    for day, text in ((1, RULE), (2, AGAIN), (3, ONCE_MORE)):
        assert say(ws, day, text).dropped == {"forgotten": 1}, text
    assert read(ws) == []
    assert say(ws, 4, "Use npm in the legacy folder.").entries


def test_removing_a_session_leaves_what_another_said(ws: Workspace) -> None:
    ((_, first),) = say(ws, 1, RULE).entries
    say(ws, 2, AGAIN)
    say(ws, 3, ONCE_MORE)
    say(ws, 1, "Never edit the schema of the importer by hand.")
    found = {token: find_session_entries(ws, token) for token in ("b7k3n4p2m2x6q3r5", "c7k3n4p2m2x6q3r5")}
    token = next(iter(found))
    assert len(found[token].places) == 2
    assert [entry.body[:5] for _, entry in select_removed({token: found[token]})] == ["Never"]
    assert [entry.body[:5] for _, entry in select_removed(found)] == ["Never"], "a third said it, too"
    book = remove_session(ws.documents.books.read(BOOK), "b7k3n4p2m2x6q3r5")
    (entry,) = book.entries
    assert (entry.body, entry.at[8:10], first.id in book.forgotten_ids) == (AGAIN, "02", True)
    assert [one.text for one in read_sightings(entry)] == [ONCE_MORE]
    assert b"b7k3n4p2m2x6q3r5" not in serialize_book(book)
    book = remove_session(remove_session(book, "d7k3n4p2m2x6q3r5"), "c7k3n4p2m2x6q3r5")
    assert (book.entries, b"7k3n4p2m2x6q3r5" in serialize_book(book)) == ((), False)


def test_a_damaged_list_counts_for_what_can_be_read() -> None:
    entry = learned(1, "user", RULE)
    for value in ("{}", '"x"', '[1, {"id": "x"}, {"id": 3, "at": "now"}]'):
        assert read_sightings(entry._replace(more=(("seen", value),))) == ()
    whole = entry
    for day in range(2, 29):
        whole = add_sighting(whole, learned(day, "user", RULE + "!" * day))
    assert len(read_sightings(whole)) == 20
    assert json.loads(dict(whole.more)["seen"])[0]["at"][8:10] == "02"


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("chain", read_chains(), ids=lambda chain: chain.question)
def test_of_a_chain_the_last_statement_alone_is_in_force(
    chain: tuple[str, str, Sequence[tuple[str, str]]], is_late: bool
) -> None:
    entries = [learned(day, "user", text) for day, (_, text) in enumerate(chain[2], 1)]
    book = EMPTY
    for entry in reversed(entries) if is_late else entries:
        book, _ = add_statements(book, [entry])
    assert [entry.id for entry in book.active_entries] == [entries[-1].id]
    for older, newer in pairwise(entries):
        assert older.id in next(one.supersedes for one in book.entries if one.id == newer.id)


def test_an_agent_s_words_amend_none_of_the_user_s(ws: Workspace) -> None:
    say(ws, 1, "Every release needs the approval of two people.", "user")
    say(ws, 2, "A release no longer needs the approval of two people, one is enough.", "assistant")
    assert [entry.supersedes for entry in ws.documents.books.read(BOOK).active_entries] == [(), ()]
    say(ws, 3, "We changed our mind: a release needs the approval of three people.", "user")
    assert len(ws.documents.books.read(BOOK).active_entries) == 1


def test_an_agent_s_words_amend_nothing_that_was_edited_by_hand(ws: Workspace) -> None:
    say(ws, 1, "Every release needs the approval of two people.", "assistant")
    blob = ws.documents.store.read(BOOK.path)
    edited = blob.data.replace(b"two people", b"two people, or of Ada")
    ws.documents.store.replace(BOOK.path, edited, blob.version)
    say(ws, 2, "A release no longer needs the approval of two people, one is enough.", "assistant")
    assert [entry.supersedes for entry in ws.documents.books.read(BOOK).active_entries] == [(), ()]
    say(ws, 3, "Every release needs the approval of two people, or of Ada!", "user")
    assert next(body for body, _ in read(ws)) == "Every release needs the approval of two people, or of Ada."
    say(ws, 4, "We changed our mind: a release needs the approval of three people.", "user")
    assert len(ws.documents.books.read(BOOK).active_entries) == 1


def test_what_the_user_typed_is_amended_and_amends_nothing_unasked(ws: Workspace) -> None:
    typed = write_entry(ws, BOOK.scope, BOOK.kind, "Use npm for the web app.", at="2026-10-01T00:00:00Z")
    say(ws, 2, "From now on the web app uses pnpm, not npm.")
    assert typed not in ws.documents.books.read(BOOK).active_entries
    write_entry(ws, BOOK.scope, BOOK.kind, "We reverted: npm for the web app, pnpm is out.", at="2026-12-01T00:00:00Z")
    say(ws, 1, "Use pnpm for the web app.")
    (last,) = (one for one in ws.documents.books.read(BOOK).entries if "reverted" in one.body)
    assert last.supersedes == ()


def test_the_id_of_a_forgotten_statement_is_no_text_s(ws: Workspace) -> None:
    ((_, first),) = say(ws, 1, RULE).entries
    books.forget_entry(ws, first.id)
    forgotten = ws.documents.books.read(BOOK).forgotten_ids
    assert compute_entry_id(BOOK.scope, BOOK.kind, RULE, None) in forgotten
    assert len(forgotten) == 3


def say_in(ws: Workspace, day: int, project: str, text: str, about: tuple[str, ...] = ()) -> None:
    """What the user says in a project on a day."""
    token = f"{'abcdefghijklmnopqrstuvwxyz234567'[day]}7k3n4p2m2x6q3r5"
    quote = Provenance(HEURISTIC, token, f"t-00000000{day:02}", "user", "", text)
    at = f"2026-11-{day:02}T12:00:00.000Z"
    path = f"memory/{at.replace(':', '-')}--{token}--transcript.md"
    said = Admission(BOOK.kind, text, f"project/{project}", False, quote, about=about)
    write_entries(ws, [said], at=at, origin=path, tags=(HEURISTIC,))


def list_proposals(ws: Workspace) -> list[Entry]:
    return list(ws.documents.books.read(BookRef("global", BOOK.kind, "pending")).entries)


def test_what_the_user_says_in_two_projects_waits_once_for_all_of_them(ws: Workspace) -> None:
    say_in(ws, 1, "shop", RULE)
    say_in(ws, 2, "shop", ONCE_MORE)
    assert list_proposals(ws) == []
    say_in(ws, 3, "blog", AGAIN)
    (proposal,) = list_proposals(ws)
    assert (proposal.body, count_sightings(proposal)["seen"], proposal.trust) == (AGAIN, 3, USER_STATED)
    say_in(ws, 4, "wiki", RULE)
    (proposal,) = list_proposals(ws)
    assert count_sightings(proposal)["seen"] == 4
    assert [row.id for row in ws.index.load_entries("global", BOOK.kind)] == [proposal.id]
    books.forget_entry(ws, proposal.id)
    say_in(ws, 5, "lab", ONCE_MORE)
    assert list_proposals(ws) == []


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("In shop use tabs for indentation.", ()),
        ("Never edit schema.sql by hand.", ("file:schema.sql",)),
        ("Tabs.", ()),
    ],
)
def test_what_is_a_project_s_own_matter_stays_there(ws: Workspace, text: str, about: tuple[str, ...]) -> None:
    say_in(ws, 1, "shop", text, about)
    say_in(ws, 2, "blog", text, about)
    assert list_proposals(ws) == []


def test_what_is_global_already_or_an_agent_s_is_not_proposed(ws: Workspace) -> None:
    write_entry(ws, "global", BOOK.kind, ONCE_MORE)
    say_in(ws, 1, "shop", RULE)
    say_in(ws, 2, "blog", AGAIN)
    say(ws, 3, "Log every request with its id.", "assistant")
    say_in(ws, 4, "blog", "Log every request with its id.")
    assert list_proposals(ws) == []


def test_a_decision_that_amends_a_rule_follows_it_into_its_book(ws: Workspace) -> None:
    say(ws, 1, "Always add an entry to CHANGELOG.md with each pull request.")
    text = "Don't add entries to CHANGELOG.md with each pull request any longer."
    quote = Provenance(HEURISTIC, "c7k3n4p2m2x6q3r5", "t-0000000002", "user", "", text)
    for kind in ("decision", "lesson"):
        said = Admission(kind, text, BOOK.scope, False, quote)
        write_entries(ws, [said], at="2026-11-02T12:00:00Z", origin=None, tags=(HEURISTIC,))
    assert [entry.body for entry in ws.documents.books.read(BOOK).active_entries] == [text]
    assert ws.documents.books.get(BOOK.scope, "decision").entries == ()
    assert len(ws.documents.books.get(BOOK.scope, "lesson").entries) == 1


def test_the_user_s_repeating_of_an_agent_s_words_overrules_no_words_of_the_user_s(ws: Workspace) -> None:
    say(ws, 1, "We use npm for the web app.", "assistant")
    say(ws, 2, "We use pnpm for the web app, no longer npm.", "assistant")
    (old, _) = ws.documents.books.read(BOOK).entries
    books.edit_entry(ws, old.id, "The docs site builds with yarn.")
    assert len(ws.documents.books.read(BOOK).active_entries) == 2
    say(ws, 3, "We use pnpm for the web app, no longer npm.", "user")
    assert len(ws.documents.books.read(BOOK).active_entries) == 2


def test_what_was_overruled_stays_so_where_its_first_speaker_is_removed(ws: Workspace) -> None:
    say(ws, 1, "We use npm for the web app.", "assistant")
    say(ws, 2, "We use npm for the web app!", "assistant")
    say(ws, 3, "We use pnpm for the web app, no longer npm.", "assistant")
    ws.documents.books.update(BOOK.scope, BOOK.kind, lambda book: remove_session(book, "b7k3n4p2m2x6q3r5"))
    assert len(read(ws)) == 2
    assert [entry.body for entry in ws.documents.books.read(BOOK).active_entries] == [
        "We use pnpm for the web app, no longer npm."
    ]


def test_what_another_session_said_is_in_its_own_spelling_once_the_first_is_removed(ws: Workspace) -> None:
    say(ws, 1, "We use npm for the web app.", "assistant")
    say(ws, 2, "We use NPM for the web app!", "assistant")
    token = "b7k3n4p2m2x6q3r5"
    ws.documents.books.update(BOOK.scope, BOOK.kind, lambda book: remove_session(book, token))
    assert [body for body, _ in read(ws)] == ["We use NPM for the web app!"]
    say(ws, 3, "We use pnpm for the web app, no longer npm.", "assistant")
    assert len(ws.documents.books.read(BOOK).active_entries) == 1
