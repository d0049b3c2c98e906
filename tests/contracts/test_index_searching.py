"""Artifacts and entries found together, and what a new session recalls, on a real database.

What each guard rests on:
- private and trial sessions stay out, and what they said: `_reaches` and `visible` in `_RANKED`; `standing`,
  scopes, kinds and `_reaches` in `_RECALLED`.
- an agent's search: the last condition of `_RANKED`, and `agent_id` where it looks for the owner.
- one statement: `_RECALLED`; whatever else `recalled` would run is counted.
- a session once, by its newest capture: `not exists` in `_RECALLED`; `setdefault` in `hits`.
"""

from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base import naming
from lineage.core.books.entry import ASSISTANT_TURN, USER_TURN
from lineage.index import SNIPPET_MARKS, Index, RecalledSession, RecallQuery, RecallResult
from tests.contracts.test_index_books import book, files
from tests.support.artifacts import AT, add_to_index, make_artifact, make_identity
from tests.support.books import make_entry
from tests.support.indexes import POSTGRES, SQLITE, open_index

LATER, LATEST = "2026-11-21T10:30:00.000Z", "2026-11-22T10:30:00.000Z"


def shelve(index: Index, scope: str, kind: str, *texts: str, **more: object) -> list[str]:
    """Makes a book of these texts; their ids."""
    entries = [make_entry(scope, kind, text, **more) for text in texts]
    index.index_books([files(use=book(*entries, scope=scope, kind=kind))])
    return [one.id for one in entries]


def said_in(session: str, agent: str = "default") -> str:
    return f"[[memory/2026-11-20T10-30-00.000Z--{make_identity(session, agent).token}--summary|summary]]"


def found(index: Index, query: str, agent: str | None = None) -> list[str | None]:
    """The texts of entries, the sessions of artifacts."""
    return [hit.entry.text if hit.entry else hit.session_id for hit in index.search(query, agent, limit=50)]


def recall(index: Index, query: str | None = "apples", **more: object) -> RecallResult:
    asked = {"agent_id": "default", "scopes": ["global"], "kinds": ["note"], "max_sessions": 5, "max_entries": 5}
    return index.recall(RecallQuery(query, **{**asked, **more}))  # type: ignore[arg-type]


def texts(recalled: RecallResult) -> list[str]:
    return [row.text for row in recalled.entries]


# search


def test_entries_and_artifacts_are_ranked_together(index: Index) -> None:
    add_to_index(index, make_artifact(session="both", body="[[links]]\napples and pears\n"))
    add_to_index(index, make_artifact(session="one", body="[[links]]\napples and plums\n"))
    shelve(index, "global", "note", "apples and pears", "plums and pears")
    hits = index.search("apples pears", None, limit=10)
    assert [hit.kind for hit in hits].count("entry") == 2
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert {found(index, "apples pears")[0], found(index, "apples pears")[1]} == {"both", "apples and pears"}
    assert all(f"{SNIPPET_MARKS[0]}" in hit.snippet for hit in hits)


def test_words_and_phrases_are_excluded(index: Index) -> None:
    shelve(index, "global", "note", "apples and pears", "pears and apples", "apples and plums")
    assert sorted(map(str, found(index, 'apples -"and pears"'))) == ["apples and plums", "pears and apples"]
    assert found(index, 'apples -"and pears" -plums') == ["pears and apples"]


def test_a_session_is_one_result_and_each_entry_is_its_own(index: Index) -> None:
    add_to_index(
        index, make_artifact(body="[[l]]\napples\n"), make_artifact(naming.COMPACTION, at=LATER, body="[[l]]\napples\n")
    )
    shelve(index, "global", "note", "one apples", "two apples", origin=said_in("s-1"))
    assert sorted(map(str, found(index, "apples"))) == ["one apples", "s-1", "two apples"]
    assert len(index.search("apples", None, limit=2)) == 2


def test_an_entry_names_the_session_that_it_came_from(index: Index) -> None:
    add_to_index(index, make_artifact(body="[[l]]\nplums\n"))
    shelve(index, "global", "note", "apples", origin=said_in("s-1"))
    (hit,) = index.search("apples", None, limit=5)
    assert (hit.session_id, hit.session_token) == ("s-1", make_identity().token)
    assert (hit.agent_id, hit.project, hit.membership_ts) == ("default", "/home/ada/demo", AT)


def test_an_agent_s_search_leaves_out_others_books_and_sessions_only(index: Index) -> None:
    for agent in ("default", "other"):
        session = make_artifact(session=f"of-{agent}", agent_id=agent, body="[[l]]\nplums\n")
        add_to_index(index, session)
        shelve(index, f"session/{session.identity.token}", "note", f"apples said by {agent}")
        shelve(index, f"agent/{agent}", "note", f"apples of {agent}")
    shelve(index, "agent/default.x", "note", "apples of another's")
    shared = {"apples of all", "apples of a project", "apples of a peer"}
    for scope, text in zip(("global", "project/demo", "peer/ann"), sorted(shared - {""}), strict=True):
        shelve(index, scope, "note", text)
    assert set(found(index, "apples", "default")) == shared | {"apples of default", "apples said by default"}
    assert set(found(index, "apples", "other")) == shared | {"apples of other", "apples said by other"}
    assert len(found(index, "apples")) == 8
    agents = {hit.path: hit.agent_id for hit in index.search("apples", None, limit=50) if hit.entry}
    assert agents["books/agent/other/note.md"] == "other"


def test_what_was_derived_from_another_agent_s_session_is_not_found_and_what_a_person_said_in_it_is(
    index: Index,
) -> None:
    add_to_index(index, make_artifact(session="theirs", agent_id="other"))
    origin = said_in("theirs", "other")
    shelve(index, "project/demo", "lesson", "apples as the agent saw them", origin=origin, source=ASSISTANT_TURN)
    shelve(index, "project/demo", "note", "apples as the user wants them", origin=origin, source=USER_TURN)
    assert found(index, "apples", "default") == ["apples as the user wants them"]
    assert len(found(index, "apples", "other")) == len(found(index, "apples")) == 2


def test_what_a_private_or_trial_session_said_is_not_found(index: Index) -> None:
    add_to_index(index, make_artifact(session="hidden", private=True), make_artifact(session="trial", project="/tmp/x"))
    for session in ("hidden", "trial", "never-seen"):
        shelve(index, f"session/{make_identity(session).token}", "note", f"apples of {session}")
    shelve(index, "global", "note", "apples that crossed", origin=said_in("hidden"))
    shelve(index, "agent/default", "note", "apples of a trial", origin=said_in("trial"))
    assert found(index, "apples") == ["apples of a trial"]


def test_superseded_entries_are_marked(index: Index) -> None:
    (old,) = [one := make_entry("global", "note", "old apples")] and [one.id]
    new = make_entry("global", "note", "new apples", at=LATER, supersedes=(old,))
    index.index_books([files(use=book(one, new, scope="global", kind="note"))])
    hits = index.search("apples", None, limit=5)
    assert {hit.entry.id: hit.entry.standing for hit in hits if hit.entry} == {old: False, new.id: True}


# recall


def test_entries_of_the_scopes_and_kinds_are_recalled_best_first(index: Index) -> None:
    for scope in ("global", "project/demo", "project/demo2"):
        for kind in ("note", "decision"):
            shelve(index, scope, kind, f"apples in {scope} as {kind}", f"apples apples {scope} {kind}")
    assert texts(recall(index)) == ["apples apples global note", "apples in global as note"]
    assert len(texts(recall(index, scopes=["global", "project/demo"], kinds=["note", "decision"], max_entries=50))) == 8
    assert len(texts(recall(index, scopes=["global", "project/demo"], kinds=["note", "decision"]))) == 5
    shelve(index, "peer/ann", "note", "apples apples", "some apples", at=AT)
    shelve(index, "peer/bob", "note", "newer apples, and more words", at=LATER)
    assert texts(recall(index, scopes=["peer/ann", "peer/bob"], max_entries=1)) == ["apples apples"]
    assert texts(recall(index, scopes=[])) == texts(recall(index, kinds=[])) == []


@pytest.mark.parametrize("query", [None, "", "…", '"', "\udcff", "*"])
def test_a_query_without_a_word_recalls_no_entry_and_all_sessions(index: Index, query: str | None) -> None:
    add_to_index(index, make_artifact())
    shelve(index, "global", "note", "apples")
    found = recall(index, query)
    assert (found.entries, [session.session_id for session in found.sessions]) == ((), ["s-1"])


def test_what_gave_way_or_waits_is_not_recalled_what_is_archived_is(index: Index) -> None:
    old = make_entry("global", "note", "old apples")
    new = make_entry("global", "note", "new apples", at=LATER, supersedes=(old.id,))
    kept, waiting = make_entry("global", "note", "archived apples"), make_entry("global", "note", "waiting apples")
    shelves = {"use": (new,), "_2026": (old, kept), "pending": (waiting,)}
    index.index_books([files(**{name: book(*found, scope="global", kind="note") for name, found in shelves.items()})])
    assert sorted(texts(recall(index))) == ["archived apples", "new apples"]


def test_what_a_private_session_said_is_recalled_in_it_alone(index: Index) -> None:
    add_to_index(index, make_artifact(session="hidden", private=True))
    own = f"session/{make_identity('hidden').token}"
    for scope in ("global", "project/demo", own):
        shelve(index, scope, "note", f"apples in {scope}", origin=said_in("hidden"), source=ASSISTANT_TURN)
    assert texts(recall(index, scopes=["global", "project/demo", own])) == [f"apples in {own}"]


def test_sessions_are_recalled_newest_first_each_by_its_newest_capture(index: Index) -> None:
    for session, at in (("a", AT), ("b", LATER), ("a", LATEST)):
        add_to_index(index, *(make_artifact(kind, session, at) for kind in (naming.SUMMARY, naming.TRANSCRIPT)))
    add_to_index(index, make_artifact(session="secret", private=True), make_artifact(session="trial", project="/tmp/x"))
    add_to_index(
        index, make_artifact(session="others", agent_id="other"), make_artifact(naming.COMPACTION, "compacted")
    )
    found = recall(index)
    assert [(session.session_id, session.membership_ts) for session in found.sessions] == [("a", LATEST), ("b", LATER)]
    newest = make_artifact(session="a", at=LATEST)
    assert found.sessions[0] == RecalledSession(
        "a", newest.identity.token, "/home/ada/demo", LATEST, newest.memory_sentence, newest.path, newest.manifest_path,
        "~/demo", "", "", "",
    )  # fmt: skip
    assert [session.session_id for session in recall(index, max_sessions=1).sessions] == ["a"]
    assert recall(index, max_sessions=0).sessions == ()
    before = recall(index, until=LATER).sessions
    assert [(session.session_id, session.membership_ts) for session in before] == [("b", LATER), ("a", AT)]


def test_a_recall_is_one_statement_or_three(engine: str, index: Index) -> None:
    add_to_index(index, make_artifact(), make_artifact(session="s-2", private=True))
    shelve(index, "global", "note", "apples", "more apples", origin=said_in("s-2"))
    shelve(index, "global", "note", "apples", "more apples")
    statements: list[str] = []
    with index.trace_statements(statements.append):
        found = recall(index)
    assert (len(found.entries), len(found.sessions), len(statements)) == (2, 1, {SQLITE: 1, POSTGRES: 3}[engine])
    statements.clear()
    with index.trace_statements(statements.append):
        recall(index, None)
        index.count_by_kind()
    assert len(statements) == 2
    recall(index)
    assert len(statements) == 2


@given(st.one_of(st.none(), st.text()), st.lists(st.text()), st.text())
def test_nothing_that_is_asked_is_syntax(shared: Index, query: str | None, names: list[str], agent: str) -> None:
    assert shared.recall(RecallQuery(query, agent, names, names, max_sessions=3, max_entries=3)).entries == ()


@pytest.fixture(scope="module")
def shared(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with closing(open_index(engine, tmp_path_factory.mktemp("index") / "index.db")) as index:
        shelve(index, "global", "note", "apples and pears")
        yield index
