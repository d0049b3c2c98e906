"""What has vectors, and what vectors lead to, on every engine of the index. (lineage/index/vector_search.py)

What each guard rests on: what is shown to nobody, `build_artifact_condition` and `build_entry_condition` in
`_SELECT_ARTIFACTS` and `_SELECT_ENTRIES`; a text
that says something else by now, the hashes in `hits`; filters, `liked`; phrases, `holding`; one row a session, `first`.
"""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from lineage.core.base import naming
from lineage.core.base.book_paths import BookRef
from lineage.core.format import transcript
from lineage.core.format.documents import Artifact
from lineage.core.format.turns import Turn
from lineage.core.search.query import parse_query
from lineage.index import Index, build_row, vector_search
from lineage.index.vectors import Neighbor, VectorSource
from tests.contracts.test_index_books import book, files
from tests.support.artifacts import AT, make_artifact, make_identity
from tests.support.books import make_entry
from tests.support.indexes import OPENERS, open_index

LATER = "2026-11-21T10:30:00.000Z"
NOTES = BookRef("global", "note").path
WORDS = ("apples", "pears", "plums", "grapes", "figs", "nuts", "waits")


def add(index: Index, *documents: Artifact) -> None:
    index.upsert(build_row(document, document.body.encode(), "") for document in documents)


def summary(session: str, text: str, at: str = AT, **more: object) -> Artifact:
    return make_artifact(session=session, at=at, body=f"[[l]]\n{text}\n", **more)


def said(session: str, *texts: str) -> Artifact:
    turns = [Turn("user", text, AT, id=f"t-{number:010d}", number=number) for number, text in enumerate(texts, 1)]
    return make_artifact(naming.TRANSCRIPT, session, body=transcript.render_turns("[[l]]", turns))


def near(index: Index, *paths: str) -> list[Neighbor]:
    """Every text of these files, each a little less near than the one before it."""
    texts = [(path, text) for path in paths for text in vector_search.load_embedding_texts(index, path)]
    return [Neighbor(path, text.place, text.hash, number / 100) for number, (path, text) in enumerate(texts)]


def found(
    index: Index, asked: str, close: Sequence[Neighbor], agent: str | None = None, **more: bool
) -> list[str | None]:
    hits = vector_search.build_hits(index, parse_query(asked), agent, close, 10, **more)
    return [hit.entry.text if hit.entry else hit.session_id for hit in hits]


@pytest.fixture
def shown(index: Index) -> Index:
    """Files of which search shows something, and others of which it shows nothing to anybody."""
    add(index, summary("shown", "apples"), summary("hidden", "pears", private=True))
    add(index, summary("trial", "plums", project="/tmp/x"), summary("other", "grapes", LATER, agent_id="ann"))
    private = f"session/{make_identity('hidden').token}"
    notes, waiting = (
        book(make_entry("global", "note", text), scope="global", kind="note") for text in ("figs", "waits")
    )
    own = book(make_entry(private, "note", "nuts"), scope=private, kind="note")
    index.index_books([files(use=notes, pending=waiting), files(use=own)])
    return index


def test_what_search_shows_to_nobody_has_no_text(shown: Index) -> None:
    versions = vector_search.load_source_versions(shown)
    assert sorted(versions) == sorted(
        [summary("shown", "").path, summary("other", "", LATER, agent_id="ann").path, NOTES]
    )
    texts = [text.text for path in versions for text in vector_search.load_embedding_texts(shown, path)]
    assert [word for word in WORDS if any(word in text for text in texts)] == ["apples", "grapes", "figs"]
    for path in (summary("hidden", "").path, summary("trial", "").path, "memory/never-was.md"):
        assert vector_search.load_embedding_texts(shown, path) == []
        assert not vector_search.is_current(shown, VectorSource(path, versions[NOTES]))


def test_what_tools_gave_has_no_text_and_is_not_counted(shown: Index) -> None:
    count = vector_search.count_embeddable(shown)
    assert count == 3  # the texts that the test before this one finds
    turns = [Turn("user", "cherries", AT, id="t-0000000001", number=1),
             Turn("tool", "melons " * 400, AT, name="Bash", id="t-0000000002", number=2)]  # fmt: skip
    add(shown, document := make_artifact(naming.TRANSCRIPT, "tools", body=transcript.render_turns("[[l]]", turns)))
    texts = [text.text for text in vector_search.load_embedding_texts(shown, document.path)]
    assert ("cherries" in "".join(texts), "melons" in "".join(texts)) == (True, False)
    assert vector_search.count_embeddable(shown) == count + len(texts)
    (hit,) = shown.search(parse_query("melons"), None, limit=5)
    assert hit.of_tools
    (hit,) = shown.search(parse_query("cherries"), None, limit=5)
    assert not hit.of_tools


def test_the_version_of_a_file_changes_with_what_it_says(shown: Index) -> None:
    for path, version in vector_search.load_source_versions(shown).items():
        assert vector_search.is_current(shown, VectorSource(path, version))
        assert not vector_search.is_current(shown, VectorSource(path, version + "x"))
    before = vector_search.load_source_versions(shown)
    add(shown, summary("shown", "apples and more"))
    changed = book(
        make_entry("global", "note", "figs"), make_entry("global", "note", "dates"), scope="global", kind="note"
    )
    shown.index_books([files(use=changed)])
    after = vector_search.load_source_versions(shown)
    assert {path for path in before if before[path] != after[path]} == {summary("shown", "").path, NOTES}
    assert not any(
        vector_search.is_current(shown, VectorSource(path, before[path]))
        for path in before
        if before[path] != after[path]
    )


def test_every_passage_has_its_place_and_title_and_sentence_go_with_the_first(index: Index) -> None:
    add(index, said("long", *["a matter of apples " * 60] * 4))
    texts = vector_search.load_embedding_texts(index, said("long").path)
    assert [text.place for text in texts] == list(range(len(texts)))
    assert len(texts) > 2
    assert ["Session long" in text.text for text in texts] == [True] + [False] * (len(texts) - 1)


def test_the_likest_goes_first_and_a_session_is_one_result(index: Index) -> None:
    add(index, said("long", *["a matter of apples " * 60] * 4), summary("long", "apples"), summary("short", "pears"))
    close = near(index, summary("short", "").path, said("long").path, summary("long", "").path)
    assert found(index, "anything", close) == ["short", "long"]
    passages = vector_search.build_hits(index, parse_query("anything"), None, close, 10, by_passage=True)
    assert [hit.session_id for hit in passages] == ["short", *["long"] * (len(close) - 1)]
    assert [hit.score for hit in passages] == pytest.approx([1 - one.distance for one in close])
    assert found(index, "anything", close[::-1])[:1] == ["short"]


def test_a_passage_that_says_something_else_by_now_leads_nowhere(index: Index) -> None:
    add(index, summary("one", "apples"), summary("two", "pears"))
    close = near(index, summary("one", "").path, summary("two", "").path)
    add(index, summary("one", "apricots"))
    assert found(index, "anything", close) == ["two"]
    index.delete_paths([summary("two", "").path])
    assert found(index, "anything", close) == []


@pytest.mark.parametrize(
    ("asked", "agent", "expected"),
    [
        ("x", None, ["shown", "other", "figs"]),
        ("x", "default", ["shown", "figs"]),
        ("x agent:ann", None, ["other"]),
        ("x since:2026-11-21", None, ["other"]),
        ("x kind:summary", None, ["shown", "other"]),
        ("x is:entry", None, ["figs"]),
        ("x project:nowhere", None, []),
        ('x "apples"', None, ["shown"]),
        ("x -apples -figs", None, ["other"]),
    ],
)
def test_filters_and_phrases_hold(shown: Index, asked: str, agent: str | None, expected: list[str]) -> None:
    close = near(shown, summary("shown", "").path, summary("other", "", LATER, agent_id="ann").path, NOTES)
    assert found(shown, asked, close, agent) == expected


@pytest.mark.slow
def test_every_engine_has_the_same_texts_and_versions(tmp_path: Path) -> None:
    """Vectors lie on each machine: they stay what they are when the rows go elsewhere."""
    seen = []
    for engine in OPENERS:
        with closing(open_index(engine, tmp_path / "index.db")) as index:
            add(index, said("long", *["größe 修正 of it " * 80] * 3), summary("one", "a\0b"))
            index.index_books(
                [files(use=book(make_entry("global", "note", "figs", tags=("a",)), scope="global", kind="note"))]
            )
            versions = vector_search.load_source_versions(index)
            seen.append((versions, {path: vector_search.load_embedding_texts(index, path) for path in versions}))
    assert seen[0] == seen[1]
