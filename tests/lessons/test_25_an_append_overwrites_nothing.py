"""Lessons, 25: "A new process's first append overwrites the search index with one entry."

Fails where a process that shelves an entry begins with an index of its own: without `ensure_indexed` for an index that
is missing, with `reset` where it is there, or where `keep_up` drops the rows of other books.
"""

from pathlib import Path

import pytest

from lineage.core.book_paths import BookRef
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.shelving import shelve
from lineage.store import LocalStore, Store
from tests.support.books import entry
from tests.support.commands import Lineage, process
from tests.support.houses import end, house_at
from tests.support.races import race

pytestmark = pytest.mark.slow


def found(root: Path, word: str = "apples") -> set[str]:
    return {hit["snippet"].strip() for hit in process(root, "search", word, "--json").json["results"]}


def test_each_process_adds_to_what_the_others_wrote(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    with house_at(root) as house:
        end(house)
    said = [("global", "apples one"), ("global", "apples two"), ("project/demo", "apples three")]
    for number, (scope, text) in enumerate(said, start=1):
        assert process(root, "remember", "--scope", scope, text).code == 0
        assert found(root) == {text for _, text in said[:number]}
    assert process(root, "search", "reader", "--json").json["results"][0]["session_id"] == "s-1"


def test_the_first_to_write_after_the_index_was_lost_brings_all_of_it_back(lineage: Lineage) -> None:
    lineage("init")
    for text in ("apples one", "apples two"):
        lineage("remember", text)
    lineage.end()
    for path in (lineage.root / ".lineage").glob("index.db*"):
        path.unlink()
    assert process(lineage.root, "remember", "apples three").code == 0
    assert found(lineage.root) == {"apples one", "apples two", "apples three"}
    assert lineage("search", "newline", "--json").json["results"]


def remembered(store: Store, number: int) -> None:
    """A process of its own: it opens the workspace, adds an entry to one book and one to another, and shelves both."""
    assert isinstance(store, LocalStore)
    with house_at(store.root) as house:
        for kind in ("note", f"kind{number}"):
            one = entry("global", kind, f"apples {number} {kind}")
            house.canon.books.add("global", kind, one)
            shelve(house, [BookRef("global", kind)])


@pytest.mark.slow
def test_many_at_once_lose_none(tmp_path: Path) -> None:
    race(LocalStore(tmp_path), remembered, [(number,) for number in range(6)])
    with house_at(tmp_path) as house:
        assert len(texts(house, "note")) == 6
        assert all(texts(house, f"kind{number}") == [f"apples {number} kind{number}"] for number in range(6))


def texts(house: House, kind: str) -> list[str]:
    return [row.text for row in house.index.entries("global", kind)]
