"""What narrows a search and a recall, guard by guard, on a real database.

What each guard rests on: `build_entry_condition` and `_STATES` in index/filtering.py; `_LISTED`, `_shown`, `_are_many`
in index/searching.py; the conditions of `_RECALLED` in index/recalling.py; `build_choosing_expression` and `quote` in
index/fts_query.py; `told_apart` in index/query.py; `everywhere` and `_told_apart` in index/terms.py and in
index/postgres/searching.py.
"""

from unittest.mock import patch

import pytest

from lineage.core.base import naming
from lineage.core.base.book_paths import BookRef
from lineage.core.books import book_edits as changes
from lineage.core.books.entry import TASK
from lineage.core.format import transcript
from lineage.core.format.documents import Artifact
from lineage.core.format.turns import Turn
from lineage.core.search.words import quote
from lineage.index import BookFile, BookFiles, Index, RecallQuery
from lineage.index.fts_query import UBIQUITOUS, Ranking, Term, build_choosing_expression
from lineage.index.postgres.text_search import PostgresTextSearch
from lineage.index.text_search import SqliteTextSearch
from tests.contracts.test_index_books import book, files
from tests.support.artifacts import AT, add_to_index, make_artifact, make_identity
from tests.support.books import make_entry
from tests.support.indexes import POSTGRES, SQLITE, query_rows

ENGINES = {SQLITE: SqliteTextSearch, POSTGRES: PostgresTextSearch}
LATER, LATEST = "2026-11-21T10:30:00.000Z", "2026-11-22T10:30:00.000Z"


def summary(session: str, text: str, **more: object) -> Artifact:
    return make_artifact(session=session, body=f"[[l]]\n{text}\n", **more)


def origin_of(session: str, agent: str = "default") -> str:
    return f"[[memory/2026-11-20T10-30-00.000Z--{make_identity(session, agent).token}--summary|summary]]"


def found(index: Index, text: str, agent: str | None = None) -> set[str | None]:
    return {hit.entry.text if hit.entry else hit.session_id for hit in index.search(text, agent, limit=50)}


@pytest.fixture
def shelved(index: Index) -> Index:
    """Entries of every state, by words that say which."""
    open_one, done_one = make_entry("global", TASK, "apples open"), make_entry("global", TASK, "apples done", at=LATER)
    tasks = changes.mark_done(book(open_one, done_one, scope="global", kind=TASK), done_one.id, LATER)
    old = make_entry("global", "note", "apples superseded")
    new = make_entry("global", "note", "apples standing", at=LATEST, supersedes=(old.id,))
    notes = changes.pin(book(old, new, scope="global", kind="note"), new.id, LATEST)
    rolled, waiting = (
        book(make_entry("global", "note", f"apples {state}"), scope="global", kind="note")
        for state in ("archived", "waiting")
    )
    index.index_books([files(use=tasks), files(use=notes, _2026=rolled, pending=waiting)])
    return index


EVERY = {f"apples {state}" for state in ("open", "done", "superseded", "standing", "archived")}


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("is:entry", EVERY),
        ("kind:entry", EVERY),
        ("is:open", {"apples open"}),
        ("is:done", {"apples done"}),
        ("is:pinned", {"apples standing"}),
        ("is:superseded", {"apples superseded"}),
        ("is:archived", {"apples archived"}),
        ("is:session", {"s-1"}),
        ("kind:note", {"apples superseded", "apples standing", "apples archived"}),
        ("is:entry since:2026-11-22", {"apples standing"}),
        ("is:entry until:2026-11-20", {"apples open", "apples superseded", "apples archived"}),
    ],
)
def test_states_and_times_narrow_what_books_say(shelved: Index, asked: str, expected: set[str]) -> None:
    add_to_index(shelved, summary("s-1", "apples"))
    assert found(shelved, f"apples {asked}") == found(shelved, asked) == expected


def test_what_was_written_by_hand_has_no_time_to_be_before(index: Index) -> None:
    data = b"apples by hand\n"
    index.index_books([BookFiles("global", "note", (BookFile(BookRef("global", "note"), data, "1"),), frozenset())])
    assert found(index, "apples") == {"apples by hand"}
    assert found(index, "apples until:2026-11-20") == found(index, "apples since:2020") == set()


def test_a_path_is_that_of_the_session_or_of_the_session_that_said_it(index: Index) -> None:
    add_to_index(index, summary("s-1", "plums", subfolder="Packages/a_i/src"), summary("s-2", "plums", subfolder="x"))
    for session, peer in (("s-1", "bob"), ("s-2", "eve")):
        said = make_entry(f"peer/{peer}", "note", f"apples of {session}", origin=origin_of(session))
        index.index_books([files(use=book(said, scope=f"peer/{peer}", kind="note"))])
    assert found(index, "plums path:packages/a_i") == found(index, "plums path:packages") == {"s-1"}
    assert found(index, "apples path:packages/a_i/src") == {"apples of s-1"}
    for path in ("packages/a", "packages/axi", "packages/a_i/src/x", "a_i", "%", "\udcff"):
        assert found(index, f"apples path:{path}") == found(index, f"plums path:{path}") == set()
    assert found(index, "path:x") == {"s-2", "apples of s-2"}
    for token in (make_identity("s-2").token, "gone"):
        index.add_folder(token, "\npackages/a_i/")
        index.add_folder(token, "\npackages/a_i/")
    assert found(index, "plums path:packages/a_i") == {"s-1", "s-2"}
    rows = query_rows(index, "select folders from artifacts order by session_id")
    assert [row["folders"] for row in rows] == ["\nPackages/a_i/src/", "\nx/\npackages/a_i/"]


def test_a_project_and_an_agent_are_those_of_the_scope_or_of_the_session_that_said_it(index: Index) -> None:
    add_to_index(index, summary("s-1", "plums", project="/home/ada/Demo"), summary("s-2", "plums", agent_id="ann"))
    for scope, text in (("project/demo", "apples in scope"), ("agent/ann", "apples of ann"), ("global", "apples")):
        index.index_books([files(use=book(make_entry(scope, "note", text), scope=scope, kind="note"))])
    said = [make_entry("peer/bob", "note", "apples said", origin=origin_of("s-1"))]
    told = [make_entry("peer/eve", "note", "apples told", origin=origin_of("s-2", "ann"))]
    index.index_books([files(use=book(*said, scope="peer/bob", kind="note"))])
    index.index_books([files(use=book(*told, scope="peer/eve", kind="note"))])
    assert found(index, "apples project:DEMO is:entry") >= {"apples in scope", "apples said"}
    assert "apples" not in found(index, "apples project:DEMO is:entry")
    assert found(index, "apples agent:ann") == {"apples of ann", "apples told"}
    assert found(index, "apples project:dem_") == set()


def test_a_book_of_a_session_goes_with_the_session(index: Index) -> None:
    for session, more in (("seen", {}), ("secret", {"private": True}), ("trial", {"project": "/tmp/x"})):
        add_to_index(index, summary(session, "plums", **more))
        scope = f"session/{make_identity(session).token}"
        index.index_books([files(use=book(make_entry(scope, "note", f"apples {session}"), scope=scope, kind="note"))])
    assert found(index, "apples") == found(index, "apples", "default") == found(index, "is:entry") == {"apples seen"}
    assert found(index, "apples", "ann") == set()


def test_what_a_title_or_sentence_says_is_found_and_no_turn_is_named_for_it(index: Index) -> None:
    turns = [Turn("user", f"words {number}", AT, id=f"t-{number:010d}", number=number) for number in (1, 2)]
    body = transcript.render_turns("[[l]]", turns)
    add_to_index(
        index,
        make_artifact(naming.TRANSCRIPT, "one", body=body, title="On walruses", memory_sentence="It was about seals."),
    )
    for asked, turn in (("walruses", None), ("seals", None), ("words", (1, 2)), ("walruses words", (1, 2))):
        (hit,) = index.search(asked, None, limit=5)
        assert hit.turns == turn, asked
        assert "\x02" in hit.snippet


def test_a_phrase_is_there_however_common_its_words_are(index: Index) -> None:
    add_to_index(index, *(summary(f"a{number:02d}", "apples and pears", title="") for number in range(9)))
    add_to_index(index, summary("right", "pears, then apples: rare", title=""))
    hits = index.search('"then apples" apples pears', None, limit=5, ranking=Ranking(budget=2, common=4))
    assert [hit.session_id for hit in hits] == ["right"]


def test_few_rows_are_all_ranked_whatever_the_words_are(engine: str, index: Index) -> None:
    add_to_index(index, *(summary(f"a{number:02d}", "apples pears plums figs", title="") for number in range(9)))
    asked: list[tuple[str, ...]] = []
    with patch.object(ENGINES[engine], "rank_rows", autospec=True) as ranked:
        ranked.side_effect = lambda *values: asked.append((values[4], *values[6:])) or []
        for budget in (30, 3):
            index.search("apples pears plums figs", None, limit=1, ranking=Ranking(budget=budget))
    whole = '"apples" OR "pears" OR "plums" OR "figs"'
    assert {of_all for of_all, *_ in asked} == {whole}
    assert asked[0][1:] in ((), ("",))
    assert asked[-1][1:] == ()
    assert '("apples" AND ("pears" OR "plums" OR "figs"))' in asked[-2][1]


def looked_for(engine: str, index: Index, text: str, ranking: Ranking) -> tuple[str, ...]:
    """The expression that is scored first, and the one that chooses the rows."""
    asked: list[tuple[str, ...]] = []
    with patch.object(ENGINES[engine], "rank_rows", autospec=True) as ranked:
        ranked.side_effect = lambda *values: asked.append((values[4], *values[6:])) or []
        index.search(text, None, limit=1, ranking=ranking)
    return asked[0]


def test_a_word_in_half_of_all_rows_chooses_none_and_counts_for_none(engine: str, index: Index) -> None:
    texts = [*["apples pears", "apples pears kiwis", "apples pears", "plums"] * 4, "apples plums figs"]
    add_to_index(index, *(summary(f"a{number:02d}", text, title="") for number, text in enumerate(texts)))
    ranking = Ranking(budget=3, common=20)
    assert looked_for(engine, index, "apples plums figs", ranking) == ('"plums" OR "figs"', '"figs"')
    assert looked_for(engine, index, "apples pears", ranking) == ('"apples" OR "pears"', '("apples" AND "pears")')
    common = Ranking(budget=3, common=4)
    assert looked_for(engine, index, "plums kiwis", common) == ('"plums" OR "kiwis"', '"kiwis"')
    (hit,) = index.search("apples plums figs", None, limit=1, ranking=ranking)
    assert (hit.session_id, hit.snippet) == ("a16", "apples plums \x02figs\x03")
    (hit,) = index.search("apples", None, limit=1, ranking=ranking)
    assert "\x02apples\x03" in hit.snippet


def test_what_only_old_rows_say_is_not_everywhere_where_a_sample_tells_it(engine: str, index: Index) -> None:
    said = {"old": range(8), "even": (0, 2, 4, 5, 7, 8, 9, 11), "figs": (11,)}
    for number in range(12):
        text = " ".join(word for word, rows in said.items() if number in rows)
        add_to_index(index, summary(f"a{number:02d}", text, title=""))
    expected = {SQLITE: ('"old" OR "figs"', '"figs"'), POSTGRES: ('"figs"', "")}[engine]
    assert looked_for(engine, index, "old even figs", Ranking(budget=3, common=20)) == expected


def test_where_there_is_room_for_every_row_a_word_that_is_everywhere_is_marked(index: Index) -> None:
    add_to_index(index, *(summary(f"a{number:02d}", "apples", title="") for number in range(9)))
    add_to_index(index, summary("b", "apples figs", title=""))
    hits = index.search("apples figs", None, limit=5, ranking=Ranking(budget=3, common=20))
    assert (len(hits), hits[0].session_id) == (5, "b")
    assert all("\x02apples\x03" in hit.snippet for hit in hits)


def test_the_rows_that_are_looked_at() -> None:
    ranking = Ranking(budget=10, common=100)
    words = {"a": 4, "b": 6, "c": 50, "d": 60, "e": 900, "everywhere": UBIQUITOUS}

    def rows(*names: str) -> str:
        return build_choosing_expression([Term(name, name, words[name]) for name in names], ranking)

    assert rows("a", "b") == ""
    assert rows("e", "a") == "a"
    assert rows("a", "b", "e") == "a OR b"
    assert rows("a", "c") == "a"
    assert rows("c", "d") == "(c AND d)"
    assert rows("c", "e") == "c"
    assert (rows("c"), rows("e")) == ("", "")
    assert rows("everywhere", "a", "e") == "a"
    assert (rows("everywhere", "a"), rows("everywhere")) == ("", "")
    assert rows("d", "c", "a", "e") == "a OR (c AND d)"


@pytest.mark.parametrize("text", ['a"b', "a\0b", "\udcff", "日本", '""', "*", "a\u200bb"])
def test_a_word_is_a_string_of_the_expression_whatever_it_holds(index: Index, text: str) -> None:
    assert quote(text).count('"') == 2
    assert "\0" not in quote(text)
    quote(text).encode("utf-8")
    add_to_index(index, summary("s-1", "日本語"))
    assert (found(index, text) == {"s-1"}) == (text == "日本")


def test_a_recall_is_of_the_agent_as_of_its_time_and_no_compaction_hides_a_session(index: Index) -> None:
    add_to_index(index, make_artifact(session="mine"), make_artifact(naming.TRANSCRIPT, "mine"))
    add_to_index(
        index, make_artifact(naming.COMPACTION, "mine", LATEST), make_artifact(session="theirs", agent_id="ann")
    )
    add_to_index(index, make_artifact(session="later", at=LATEST), make_artifact(naming.TRANSCRIPT, "later", LATEST))

    def recalled(until: str | None = None) -> list[str]:
        asked = index.recall(RecallQuery("x", "default", [], [], max_sessions=9, max_entries=9, until=until))
        return [session.session_id for session in asked.sessions]

    assert recalled() == ["later", "mine"]
    assert recalled(AT) == ["mine"]


def test_an_entry_that_lies_on_two_shelves_is_listed_once(index: Index) -> None:
    same = make_entry("global", "note", "apples")
    shelves = {name: book(same, scope="global", kind="note") for name in ("use", "_2026")}
    index.index_books([files(**shelves)])
    assert len(index.search("is:entry", None, limit=9)) == len(index.search("apples", None, limit=9)) == 1


def test_a_title_is_of_the_first_passage_alone(index: Index) -> None:
    add_to_index(index, summary("one", "plain words " * 400, title="On walruses"))
    assert len(index.search("walruses", None, limit=9, by_passage=True)) == 1
    assert len(index.search("plain", None, limit=9, by_passage=True)) > 1
