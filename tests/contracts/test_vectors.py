"""Vectors wherever they lie: what is kept, dropped and found. (lineage/index/vectors.py)

Fails where another model's or another length's vectors stay, where `is_current` is not asked, where a file that is not
settled counts as one, where a byte of a vector comes back as another one, where `sources` waits for nobody, and where
an engine sorts as another does not.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Event, Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.quantizing import quantized
from lineage.index.vectors import Placed, Source, Vectors
from tests.support.indexes import PLACES, vectors_at

MODEL = "words-1"
ONE, TWO = Source("memory/one.md", "v1"), Source("memory/two.md", "v1")


@pytest.fixture(
    params=[name if name == "file" else pytest.param(name, marks=pytest.mark.slow) for name in PLACES], scope="session"
)
def place(request: pytest.FixtureRequest) -> str:
    """Where vectors lie. (tests/support/indexes.py)"""
    name: str = request.param
    return name


@pytest.fixture
def vectors(place: str, tmp_path: Path) -> Iterator[Vectors]:
    with vectors_at(place, tmp_path) as found:
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
    assert list(vectors.nearest(b"\1\2", 5)) == []
    assert not vectors.is_there


def test_what_is_needed_is_installed_here(vectors: Vectors) -> None:
    assert vectors.missing() == []


def test_the_nearest_come_first(vectors: Vectors) -> None:
    store(vectors, placed(ONE, 0, 1, 0, 0), placed(ONE, 1, 1, 1, 0), placed(TWO, 0, 0, 0, 1))
    found = list(vectors.nearest(quantized([1, 0.1, 0]), 2))
    assert [(near.path, near.place) for near in found] == [(ONE.path, 0), (ONE.path, 1)]
    assert found[0].distance < 0.01 < found[1].distance < 0.5


@given(st.lists(st.lists(st.integers(-9, 9), min_size=3, max_size=3).filter(any), min_size=1, max_size=20))
def test_the_order_is_that_of_the_angles(
    place: str, tmp_path_factory: pytest.TempPathFactory, rows: list[list[int]]
) -> None:
    asked = [3.0, 2.0, 1.0]
    with vectors_at(place, tmp_path_factory.mktemp("near")) as vectors:
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


def test_every_number_of_a_vector_comes_back(vectors: Vectors) -> None:
    wide = Placed(ONE, 0, b"\0\xff", bytes(number % 256 for number in range(129, 384)))
    store(vectors, wide, Placed(ONE, 1, b"", wide.vector[::-1]))
    assert vectors.same([b"\0\xff", b""]) == {b"\0\xff": wide.vector, b"": wide.vector[::-1]}


def test_what_is_there_already_is_written_over(vectors: Vectors) -> None:
    store(vectors, placed(ONE, 0, 1, 0), settled=(ONE,))
    store(vectors, Placed(ONE, 0, b"new", quantized([0, 1])), settled=(Source(ONE.path, "v2"),))
    assert (vectors.places(ONE.path), vectors.sources()) == ({0: b"new"}, {ONE.path: "v2"})


def test_a_model_without_vectors_settles_files_that_say_nothing(vectors: Vectors) -> None:
    store(vectors, settled=(ONE,))
    assert (vectors.sources(), vectors.model(), vectors.count()) == ({ONE.path: "v1"}, None, 0)


def test_what_is_as_near_is_in_the_order_of_paths_and_places(vectors: Vectors) -> None:
    paths = ["memory/b.md", "memory/B.md", "memory/ä.md", "memory/a.md"]
    store(vectors, *(placed(Source(path, "v"), place, 1, 1) for path in paths for place in (10, 9)))
    found = [(near.path, near.place) for near in vectors.nearest(quantized([1, 0]), 100)]
    assert found == sorted((path, place) for path in paths for place in (10, 9))


def test_who_asks_for_files_waits_for_what_is_being_stored(place: str, vectors: Vectors, tmp_path: Path) -> None:
    """Whoever drops rows and then asks here finds what was made of them a moment before."""
    seen: list[dict[str, str]] = []
    ready, go = Event(), Event()

    def ask() -> None:
        with vectors_at(place, tmp_path) as other:
            other.count()
            ready.set()
            go.wait()
            seen.append(other.sources())

    store(vectors, placed(TWO, 0, 1, 0))
    asking = Thread(target=ask)
    asking.start()
    ready.wait()

    def is_current(_: Source) -> bool:
        go.set()
        asking.join(0.3)
        return True

    vectors.store(MODEL, [placed(ONE, 0, 1, 0)], (), is_current)
    asking.join()
    assert seen == [{ONE.path: "", TWO.path: ""}]


def test_what_fails_while_it_is_stored_leaves_nothing(vectors: Vectors) -> None:
    def fails(_: Source) -> bool:
        raise RuntimeError("of the test")

    with pytest.raises(RuntimeError):
        vectors.store(MODEL, [placed(ONE, 0, 1, 0)], (), fails)
    assert (vectors.count(), vectors.model(), vectors.sources()) == (0, None, {})
    store(vectors, placed(ONE, 0, 1, 0))
    assert vectors.count() == 1


def test_dropped_vectors_are_not_found_after_the_scrub_either(vectors: Vectors) -> None:
    store(vectors, placed(ONE, 0, 1, 0), placed(TWO, 0, 0, 1))
    assert vectors.keep({ONE.path: None}) == 1
    vectors.scrub()
    assert [near.path for near in vectors.nearest(quantized([1, 0]), 5)] == [TWO.path]


@pytest.mark.slow
@given(st.lists(st.lists(st.integers(-127, 127), min_size=3, max_size=3).filter(any), min_size=1, max_size=30))
def test_every_place_finds_at_the_same_distances(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[int]]
) -> None:
    folder = tmp_path_factory.mktemp("both")
    with ExitStack() as opened:
        every = [opened.enter_context(vectors_at(name, folder / name)) for name in PLACES]
        for vectors in every:
            store(vectors, *(placed(ONE, place, *row) for place, row in enumerate(rows)))
        one, other = ({near.place: near.distance for near in v.nearest(quantized([3, 2, 1]), 100)} for v in every)
    assert one == pytest.approx(other, abs=1e-6)
