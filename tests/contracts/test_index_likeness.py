"""What has vectors, and what vectors lead to, on every engine of the index. (lineage/index/likeness.py)

What each guard rests on: what is shown to nobody, `of_artifacts` and `of_entries` in `ARTIFACTS` and `ENTRIES`; a text
that says something else by now, the hashes in `hits`; filters, `liked`; phrases, `holding`; one row a session, `first`.
"""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from lineage.core import naming, transcript
from lineage.core.book_paths import BookRef
from lineage.core.documents import Artifact
from lineage.core.query import parsed
from lineage.core.turns import Turn
from lineage.index import Index, likeness, row_of
from lineage.index.vectors import Near, Source
from tests.contracts.test_index_books import book, files
from tests.support.artifacts import AT, artifact, identity
from tests.support.books import entry
from tests.support.indexes import OPENERS, opened

LATER = "2026-11-21T10:30:00.000Z"
NOTES = BookRef("global", "note").path
WORDS = ("apples", "pears", "plums", "grapes", "figs", "nuts", "waits")


def add(index: Index, *documents: Artifact) -> None:
    index.upsert(row_of(document, document.body.encode(), "") for document in documents)


def summary(session: str, text: str, at: str = AT, **more: object) -> Artifact:
    return artifact(session=session, at=at, body=f"[[l]]\n{text}\n", **more)


def said(session: str, *texts: str) -> Artifact:
    turns = [Turn("user", text, AT, id=f"t-{number:010d}", number=number) for number, text in enumerate(texts, 1)]
    return artifact(naming.TRANSCRIPT, session, body=transcript.rendered("[[l]]", turns))


def near(index: Index, *paths: str) -> list[Near]:
    """Every text of these files, each a little less near than the one before it."""
    texts = [(path, text) for path in paths for text in likeness.texts_of(index, path)]
    return [Near(path, text.place, text.hash, number / 100) for number, (path, text) in enumerate(texts)]


def found(index: Index, asked: str, close: Sequence[Near], agent: str | None = None, **more: bool) -> list[str | None]:
    hits = likeness.hits(index, parsed(asked), agent, close, 10, **more)
    return [hit.entry.text if hit.entry else hit.session_id for hit in hits]


@pytest.fixture
def shown(index: Index) -> Index:
    """Files of which search shows something, and others of which it shows nothing to anybody."""
    add(index, summary("shown", "apples"), summary("hidden", "pears", private=True))
    add(index, summary("trial", "plums", project="/tmp/x"), summary("other", "grapes", LATER, agent_id="ann"))
    private = f"session/{identity('hidden').token}"
    notes, waiting = (book(entry("global", "note", text), scope="global", kind="note") for text in ("figs", "waits"))
    own = book(entry(private, "note", "nuts"), scope=private, kind="note")
    index.shelve([files(use=notes, pending=waiting), files(use=own)])
    return index


def test_what_search_shows_to_nobody_has_no_text(shown: Index) -> None:
    versions = likeness.sources(shown)
    assert sorted(versions) == sorted(
        [summary("shown", "").path, summary("other", "", LATER, agent_id="ann").path, NOTES]
    )
    texts = [text.text for path in versions for text in likeness.texts_of(shown, path)]
    assert [word for word in WORDS if any(word in text for text in texts)] == ["apples", "grapes", "figs"]
    for path in (summary("hidden", "").path, summary("trial", "").path, "memory/never-was.md"):
        assert likeness.texts_of(shown, path) == []
        assert not likeness.is_current(shown, Source(path, versions[NOTES]))


def test_the_version_of_a_file_changes_with_what_it_says(shown: Index) -> None:
    for path, version in likeness.sources(shown).items():
        assert likeness.is_current(shown, Source(path, version))
        assert not likeness.is_current(shown, Source(path, version + "x"))
    before = likeness.sources(shown)
    add(shown, summary("shown", "apples and more"))
    changed = book(entry("global", "note", "figs"), entry("global", "note", "dates"), scope="global", kind="note")
    shown.shelve([files(use=changed)])
    after = likeness.sources(shown)
    assert {path for path in before if before[path] != after[path]} == {summary("shown", "").path, NOTES}
    assert not any(
        likeness.is_current(shown, Source(path, before[path])) for path in before if before[path] != after[path]
    )


def test_every_passage_has_its_place_and_title_and_sentence_go_with_the_first(index: Index) -> None:
    add(index, said("long", *["a matter of apples " * 60] * 4))
    texts = likeness.texts_of(index, said("long").path)
    assert [text.place for text in texts] == list(range(len(texts)))
    assert len(texts) > 2
    assert ["Session long" in text.text for text in texts] == [True] + [False] * (len(texts) - 1)


def test_the_likest_goes_first_and_a_session_is_one_result(index: Index) -> None:
    add(index, said("long", *["a matter of apples " * 60] * 4), summary("long", "apples"), summary("short", "pears"))
    close = near(index, summary("short", "").path, said("long").path, summary("long", "").path)
    assert found(index, "anything", close) == ["short", "long"]
    passages = likeness.hits(index, parsed("anything"), None, close, 10, by_passage=True)
    assert [hit.session_id for hit in passages] == ["short", *["long"] * (len(close) - 1)]
    assert [hit.score for hit in passages] == pytest.approx([1 - one.distance for one in close])
    assert found(index, "anything", close[::-1])[:1] == ["short"]


def test_a_passage_that_says_something_else_by_now_leads_nowhere(index: Index) -> None:
    add(index, summary("one", "apples"), summary("two", "pears"))
    close = near(index, summary("one", "").path, summary("two", "").path)
    add(index, summary("one", "apricots"))
    assert found(index, "anything", close) == ["two"]
    index.remove([summary("two", "").path])
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
        with closing(opened(engine, tmp_path / "index.db")) as index:
            add(index, said("long", *["größe 修正 of it " * 80] * 3), summary("one", "a\0b"))
            index.shelve([files(use=book(entry("global", "note", "figs", tags=("a",)), scope="global", kind="note"))])
            versions = likeness.sources(index)
            seen.append((versions, {path: likeness.texts_of(index, path) for path in versions}))
    assert seen[0] == seen[1]
