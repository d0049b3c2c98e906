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

from lineage.core.search.quantization import quantize
from lineage.index.vectors import PassageVector, Vectors, VectorSource
from tests.support.indexes import PLACES, open_emptied_vectors, open_vectors

MODEL = "words-1"
ONE, TWO = VectorSource("memory/one.md", "v1"), VectorSource("memory/two.md", "v1")


@pytest.fixture(
    params=[name if name == "file" else pytest.param(name, marks=pytest.mark.slow) for name in PLACES], scope="session"
)
def place(request: pytest.FixtureRequest) -> str:
    """Where vectors lie. (tests/support/indexes.py)"""
    name: str = request.param
    return name


@pytest.fixture
def vectors(place: str, tmp_path: Path) -> Iterator[Vectors]:
    with open_vectors(place, tmp_path) as found:
        yield found


def placed(source: VectorSource, place: int, *vector: float) -> PassageVector:
    return PassageVector(source, place, b"%d of %s" % (place, source.path.encode()), quantize(vector))


def store(vectors: Vectors, *found: PassageVector, settled: tuple[VectorSource, ...] = (), model: str = MODEL) -> int:
    return vectors.store(model, found, settled, lambda _: True)


def test_asking_makes_no_file(vectors: Vectors) -> None:
    assert (
        vectors.read_model_info(),
        vectors.count_passages(),
        vectors.load_source_versions(),
        vectors.load_passage_hashes("x"),
    ) == (None, 0, {}, {})
    assert vectors.find_by_hash([b"x"]) == {}
    assert vectors.prune({"x": None}) == 0
    vectors.scrub()
    assert list(vectors.find_nearest(b"\1\2", 5)) == []
    assert not vectors.exists


def test_what_is_needed_is_installed_here(vectors: Vectors) -> None:
    assert vectors.find_missing_modules() == []


def test_a_file_is_incomplete_until_all_of_it_has_vectors(vectors: Vectors) -> None:
    assert vectors.find_incomplete([ONE, TWO]) == {ONE, TWO}
    store(vectors, placed(ONE, 0, 1, 0, 0), placed(TWO, 0, 0, 0, 1), settled=(TWO,))
    odd, changed = VectorSource("memory/%25'.md", "1"), TWO._replace(version="another")
    assert vectors.find_incomplete([ONE, TWO, odd, changed]) == {ONE, odd, changed}
    assert vectors.find_incomplete([]) == set()


def test_the_nearest_come_first(vectors: Vectors) -> None:
    store(vectors, placed(ONE, 0, 1, 0, 0), placed(ONE, 1, 1, 1, 0), placed(TWO, 0, 0, 0, 1))
    found = list(vectors.find_nearest(quantize([1, 0.1, 0]), 2))
    assert [(near.path, near.place) for near in found] == [(ONE.path, 0), (ONE.path, 1)]
    assert found[0].distance < 0.01 < found[1].distance < 0.5


@given(st.lists(st.lists(st.integers(-9, 9), min_size=3, max_size=3).filter(any), min_size=1, max_size=20))
def test_the_order_is_that_of_the_angles(
    place: str, tmp_path_factory: pytest.TempPathFactory, rows: list[list[int]]
) -> None:
    asked = [3.0, 2.0, 1.0]
    with open_emptied_vectors(place, tmp_path_factory.mktemp("near")) as vectors:
        store(vectors, *(placed(ONE, place, *row) for place, row in enumerate(rows)))
        found = list(vectors.find_nearest(quantize(asked), 100))
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
    assert vectors.load_source_versions() == {ONE.path: "", TWO.path: "v1"}
    store(vectors, settled=(ONE,))
    assert vectors.load_source_versions() == {ONE.path: "v1", TWO.path: "v1"}


def test_what_changed_meanwhile_is_left_out(vectors: Vectors) -> None:
    kept = vectors.store(MODEL, [placed(ONE, 0, 1, 0), placed(TWO, 0, 0, 1)], [ONE, TWO], lambda source: source == TWO)
    assert (kept, vectors.load_source_versions()) == (1, {TWO.path: "v1"})


@pytest.mark.parametrize(("model", "vector"), [("words-2", (1.0, 0.0)), (MODEL, (1.0, 0.0, 0.0))])
def test_another_model_begins_anew(vectors: Vectors, model: str, vector: tuple[float, ...]) -> None:
    store(vectors, placed(ONE, 0, 1, 0), settled=(ONE,))
    store(vectors, placed(TWO, 0, *vector), model=model)
    assert vectors.read_model_info() == (model, len(vector))
    assert vectors.load_source_versions() == {TWO.path: ""}
    assert vectors.count_passages() == 1


def test_vectors_of_the_same_text_are_found_wherever_they_are(vectors: Vectors) -> None:
    one = placed(ONE, 0, 1, 0)
    store(vectors, one)
    assert vectors.find_by_hash([one.hash, b"other"]) == {one.hash: one.vector}


def test_what_is_not_wanted_goes_and_its_file_is_due_again(vectors: Vectors) -> None:
    keep, drop = placed(ONE, 0, 1, 0), placed(ONE, 1, 0, 1)
    store(vectors, keep, drop, placed(TWO, 0, 1, 1), settled=(ONE, TWO))
    assert vectors.prune({ONE.path: frozenset([keep.hash]), TWO.path: None}) == 2
    assert vectors.load_source_versions() == {ONE.path: ""}
    assert vectors.load_passage_hashes(ONE.path) == {0: keep.hash}


def test_every_number_of_a_vector_comes_back(vectors: Vectors) -> None:
    wide = PassageVector(ONE, 0, b"\0\xff", bytes(number % 256 for number in range(129, 384)))
    store(vectors, wide, PassageVector(ONE, 1, b"", wide.vector[::-1]))
    assert vectors.find_by_hash([b"\0\xff", b""]) == {b"\0\xff": wide.vector, b"": wide.vector[::-1]}


def test_what_is_there_already_is_written_over(vectors: Vectors) -> None:
    store(vectors, placed(ONE, 0, 1, 0), settled=(ONE,))
    store(vectors, PassageVector(ONE, 0, b"new", quantize([0, 1])), settled=(VectorSource(ONE.path, "v2"),))
    assert (vectors.load_passage_hashes(ONE.path), vectors.load_source_versions()) == ({0: b"new"}, {ONE.path: "v2"})


def test_a_model_without_vectors_settles_files_that_say_nothing(vectors: Vectors) -> None:
    store(vectors, settled=(ONE,))
    assert (vectors.load_source_versions(), vectors.read_model_info(), vectors.count_passages()) == (
        {ONE.path: "v1"},
        None,
        0,
    )


def test_what_is_as_near_is_in_the_order_of_paths_and_places(vectors: Vectors) -> None:
    paths = ["memory/b.md", "memory/B.md", "memory/ä.md", "memory/a.md"]
    store(vectors, *(placed(VectorSource(path, "v"), place, 1, 1) for path in paths for place in (10, 9)))
    found = [(near.path, near.place) for near in vectors.find_nearest(quantize([1, 0]), 100)]
    assert found == sorted((path, place) for path in paths for place in (10, 9))


def test_who_asks_for_files_waits_for_what_is_being_stored(place: str, vectors: Vectors, tmp_path: Path) -> None:
    """Whoever drops rows and then asks here finds what was made of them a moment before."""
    seen: list[dict[str, str]] = []
    ready, go = Event(), Event()

    def ask() -> None:
        with open_vectors(place, tmp_path) as other:
            other.count_passages()
            ready.set()
            go.wait()
            seen.append(other.load_source_versions())

    store(vectors, placed(TWO, 0, 1, 0))
    asking = Thread(target=ask)
    asking.start()
    ready.wait()

    def is_current(_: VectorSource) -> bool:
        go.set()
        asking.join(0.3)
        return True

    vectors.store(MODEL, [placed(ONE, 0, 1, 0)], (), is_current)
    asking.join()
    assert seen == [{ONE.path: "", TWO.path: ""}]


def test_what_fails_while_it_is_stored_leaves_nothing(vectors: Vectors) -> None:
    def fails(_: VectorSource) -> bool:
        raise RuntimeError("of the test")

    with pytest.raises(RuntimeError):
        vectors.store(MODEL, [placed(ONE, 0, 1, 0)], (), fails)
    assert (vectors.count_passages(), vectors.read_model_info(), vectors.load_source_versions()) == (0, None, {})
    store(vectors, placed(ONE, 0, 1, 0))
    assert vectors.count_passages() == 1


def test_dropped_vectors_are_not_found_after_the_scrub_either(vectors: Vectors) -> None:
    store(vectors, placed(ONE, 0, 1, 0), placed(TWO, 0, 0, 1))
    assert vectors.prune({ONE.path: None}) == 1
    vectors.scrub()
    assert [near.path for near in vectors.find_nearest(quantize([1, 0]), 5)] == [TWO.path]


@pytest.mark.slow
@given(st.lists(st.lists(st.integers(-127, 127), min_size=3, max_size=3).filter(any), min_size=1, max_size=30))
def test_every_place_finds_at_the_same_distances(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[int]]
) -> None:
    folder = tmp_path_factory.mktemp("both")
    with ExitStack() as opened:
        every = [opened.enter_context(open_emptied_vectors(name, folder / name)) for name in PLACES]
        for vectors in every:
            store(vectors, *(placed(ONE, place, *row) for place, row in enumerate(rows)))
        one, other = ({near.place: near.distance for near in v.find_nearest(quantize([3, 2, 1]), 100)} for v in every)
    assert one == pytest.approx(other, abs=1e-6)
