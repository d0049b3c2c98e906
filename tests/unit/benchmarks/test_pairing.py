"""Floor and subject run in turn, what pairs share runs once in a round, and a power law has its exponent."""

from collections.abc import Callable

import pytest
from benchmarks import pairing
from benchmarks.pairing import Pair, exponent, figures_of, timed
from hypothesis import given
from hypothesis import strategies as st


@pytest.fixture(autouse=True)
def _no_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the other tests left behind is a lot to look through before each run."""
    monkeypatch.setattr("gc.collect", lambda: 0)


def noting(log: list[str], name: str, apart: float | None = None) -> Callable[[], object]:
    def run() -> float | None:
        log.append(name)
        return apart

    return run


def test_floor_and_subject_take_turns_and_the_first_run_does_not_count() -> None:
    log: list[str] = []
    timed([Pair(what="it", floor=noting(log, "f"), subject=noting(log, "s"))], 3)
    assert "".join(log) == "sffssffs"


def test_what_pairs_share_runs_once_in_a_round() -> None:
    log: list[str] = []
    floor, subject, other = (noting(log, name) for name in "fso")
    pairs = [Pair(what="one", floor=floor, subject=subject), Pair(what="two", floor=subject, subject=other)]
    assert len(timed(pairs, 4)) == 2
    assert {name: log.count(name) for name in "fso"} == {"f": 5, "s": 5, "o": 5}


def test_what_takes_long_needs_no_run_that_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairing, "LONG", 0.0)
    log: list[str] = []
    timed([Pair(what="it", floor=noting(log, "f"), subject=noting(log, "s"))], 3)
    assert sorted(log) == ["f"] * 3 + ["s"] * 3


def test_when_it_is_late_no_round_begins_but_the_first_that_counts() -> None:
    log: list[str] = []
    pair = Pair(what="it", floor=noting(log, "f"), subject=noting(log, "s"))
    assert timed([pair], 5, lambda: True)[0].runs == 1
    assert "".join(log) == "sffs"
    assert timed([pair], 5, lambda: len(log) >= 10)[0].runs == 2
    assert timed([pair], 3)[0].runs == 3


def test_what_is_reported_apart_is_no_part_of_the_subject() -> None:
    timing = timed([Pair(what="it", floor=lambda: None, subject=noting([], "s", 5.0), apart="waiting")], 1)[0]
    assert timing.apart == 5.0
    assert timing.subject < 0


@given(st.floats(-1, 3), st.floats(0.001, 1000), st.lists(st.integers(1, 10**6), min_size=2, max_size=6, unique=True))
def test_a_power_law_has_its_exponent(slope: float, factor: float, sizes: list[int]) -> None:
    assert exponent([(size, factor * size**slope) for size in sizes]) == pytest.approx(slope, abs=1e-6)


def test_a_pair_of_two_corpora_has_an_exponent_and_others_have_none() -> None:
    timing = pairing.Timing(floor=1.0, subject=10.0, apart=0.0, runs=1)
    plain = Pair(what="it", floor=lambda: None, subject=lambda: None, size=20_000_000)
    figures = figures_of(plain, timing, 3_000_000)
    assert figures == {"ratio": 10.0, "speedup": 0.1, "beyond_ms": 9000.0, "peak_mb": 3.0, "rate_mb": 2.0}
    grown = Pair(what="it", floor=lambda: None, subject=lambda: None, growth=100, figures=lambda: {"missed": 0})
    assert figures_of(grown, timing, 0)["exponent"] == pytest.approx(0.5)
    assert figures_of(grown, timing, 0)["missed"] == 0
