"""`vectors.db`: what is kept, dropped, found and scrubbed, and that damage costs the vectors alone.

Fails where another model's or another length's vectors stay, where `is_current` is not asked, where a file that is not
settled counts as one, and without the scrub.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.quantizing import quantized
from lineage.index.vectors import LostVectors, Placed, Source, Vectors, missing

MODEL = "words-1"
ONE, TWO = Source("memory/one.md", "v1"), Source("memory/two.md", "v1")


@pytest.fixture
def vectors(tmp_path: Path) -> Iterator[Vectors]:
    with closing(Vectors(tmp_path / "vectors.db")) as found:
        yield found


def placed(source: Source, place: int, *vector: float) -> Placed:
    return Placed(source, place, b"%d of %s" % (place, source.path.encode()), quantized(vector))


def store(vectors: Vectors, *found: Placed, settled: tuple[Source, ...] = (), model: str = MODEL) -> int:
    return vectors.store(model, found, settled, lambda _: True)


def test_asking_makes_no_file(vectors: Vectors) -> None:
    assert (vectors.model(), vectors.count(), vectors.sources(), vectors.places("x")) == (None, 0, {}, {})
    assert vectors.same([b"x"]) == {}
    assert vectors.keep({"x": None}) == 0
    vectors.scrub()
    assert not vectors.is_there


def test_what_is_needed_is_installed_here() -> None:
    assert missing() == []


def test_the_nearest_come_first(vectors: Vectors) -> None:
    store(vectors, placed(ONE, 0, 1, 0, 0), placed(ONE, 1, 1, 1, 0), placed(TWO, 0, 0, 0, 1))
    found = list(vectors.nearest(quantized([1, 0.1, 0]), 2))
    assert [(near.path, near.place) for near in found] == [(ONE.path, 0), (ONE.path, 1)]
    assert found[0].distance < 0.01 < found[1].distance < 0.5


@given(st.lists(st.lists(st.integers(-9, 9), min_size=3, max_size=3).filter(any), min_size=1, max_size=20))
def test_the_order_is_that_of_the_angles(tmp_path_factory: pytest.TempPathFactory, rows: list[list[int]]) -> None:
    asked = [3.0, 2.0, 1.0]
    with closing(Vectors(tmp_path_factory.mktemp("near") / "vectors.db")) as vectors:
        store(vectors, *(placed(ONE, place, *row) for place, row in enumerate(rows)))
        found = list(vectors.nearest(quantized(asked), 100))
    assert len(found) == len(rows)
    assert [near.distance for near in found] == sorted(near.distance for near in found)
    for near in found:
        row = rows[near.place]
        length = sum(x * x for x in row) ** 0.5 * sum(x * x for x in asked) ** 0.5
        assert near.distance == pytest.approx(
            1 - sum(a * b for a, b in zip(row, asked, strict=True)) / length, abs=0.03
        )


def test_a_file_is_settled_when_it_is_said_to_be(vectors: Vectors) -> None:
    store(vectors, placed(ONE, 0, 1, 0), placed(TWO, 0, 0, 1), settled=(TWO,))
    assert vectors.sources() == {ONE.path: "", TWO.path: "v1"}
    store(vectors, settled=(ONE,))
    assert vectors.sources() == {ONE.path: "v1", TWO.path: "v1"}


def test_what_changed_meanwhile_is_left_out(vectors: Vectors) -> None:
    kept = vectors.store(MODEL, [placed(ONE, 0, 1, 0), placed(TWO, 0, 0, 1)], [ONE, TWO], lambda source: source == TWO)
    assert (kept, vectors.sources()) == (1, {TWO.path: "v1"})


@pytest.mark.parametrize(("model", "vector"), [("words-2", (1.0, 0.0)), (MODEL, (1.0, 0.0, 0.0))])
def test_another_model_begins_anew(vectors: Vectors, model: str, vector: tuple[float, ...]) -> None:
    store(vectors, placed(ONE, 0, 1, 0), settled=(ONE,))
    store(vectors, placed(TWO, 0, *vector), model=model)
    assert vectors.model() == (model, len(vector))
    assert vectors.sources() == {TWO.path: ""}
    assert vectors.count() == 1


def test_vectors_of_the_same_text_are_found_wherever_they_are(vectors: Vectors) -> None:
    one = placed(ONE, 0, 1, 0)
    store(vectors, one)
    assert vectors.same([one.hash, b"other"]) == {one.hash: one.vector}


def test_what_is_not_wanted_goes_and_its_file_is_due_again(vectors: Vectors) -> None:
    keep, drop = placed(ONE, 0, 1, 0), placed(ONE, 1, 0, 1)
    store(vectors, keep, drop, placed(TWO, 0, 1, 1), settled=(ONE, TWO))
    assert vectors.keep({ONE.path: frozenset([keep.hash]), TWO.path: None}) == 2
    assert vectors.sources() == {ONE.path: ""}
    assert vectors.places(ONE.path) == {0: keep.hash}


def test_after_the_scrub_no_byte_is_left(vectors: Vectors, tmp_path: Path) -> None:
    rows = [placed(Source(f"memory/{number}.md", "v"), 0, number, 77, 3, -50) for number in range(1, 200)]
    store(vectors, *rows, settled=tuple(row.source for row in rows))
    vectors.keep({row.source.path: None for row in rows[1:]})
    vectors.scrub()
    left = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert rows[0].vector in left
    assert not any(row.vector in left or row.source.path.encode() in left for row in rows[1:])


@pytest.mark.parametrize("data", [b"no database" * 100, b"SQLite format 3\0" + b"\xff" * 4096])
def test_a_damaged_file_is_begun_anew(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "vectors.db"
    path.write_bytes(data)
    with closing(Vectors(path)) as vectors:
        with pytest.raises(LostVectors) as caught:
            vectors.count()
        assert "--embed" in caught.value.hint
        store(vectors, placed(ONE, 0, 1, 0))
        assert vectors.count() == 1


def test_what_is_removed_goes_without_the_extension(vectors: Vectors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sqlite_vec", None)
    store(vectors, placed(ONE, 0, 1, 0), settled=(ONE,))
    assert vectors.keep({ONE.path: None}) == 1
    vectors.scrub()


def test_the_file_is_an_ordinary_database(vectors: Vectors) -> None:
    store(vectors, placed(ONE, 0, 1, 0))
    vectors.close()
    with closing(sqlite3.connect(vectors.path)) as database:
        assert database.execute("select path, place from passages").fetchall() == [(ONE.path, 0)]
