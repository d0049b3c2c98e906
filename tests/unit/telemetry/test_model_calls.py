"""Calls of language models: counted before they are made, and never past the day's limit.

Fails without either condition of `begin_call`, when the check and the count are two statements, and without the window
of `spent`.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.store import LocalStore, Store
from lineage.telemetry import ModelUsage, Telemetry
from tests.support.concurrency import run_concurrently

DAY = "2026-11-21"
MUCH = 10**9


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "runtime.db"


def begin(telemetry: Telemetry, day: str = DAY, tokens: int = 100, calls: int = MUCH, most: int = MUCH) -> int | None:
    return telemetry.begin_call(day, "capture", tokens=tokens, max_calls=calls, max_tokens=most)


def test_a_call_counts_from_its_beginning_and_its_end_says_what_it_took(path: Path) -> None:
    telemetry = Telemetry(path)
    assert telemetry.read_model_usage(DAY) == ModelUsage(0, 0, {}, {})
    call = begin(telemetry)
    assert call is not None
    assert Telemetry(path).read_model_usage(DAY) == ModelUsage(1, 100, {"unfinished": 1}, {}), (
        "a process that dies now was counted"
    )
    telemetry.end_call(call, "answered", 140)
    assert Telemetry(path).read_model_usage(DAY) == ModelUsage(1, 140, {"answered": 1}, {})


def test_the_limit_on_calls_holds_and_what_was_held_back_is_no_call(path: Path) -> None:
    telemetry = Telemetry(path)
    assert [begin(telemetry, calls=2) is not None for _ in range(4)] == [True, True, False, False]
    telemetry.record_skipped_call(DAY, "capture", "over the daily limit")
    assert telemetry.read_model_usage(DAY) == ModelUsage(2, 200, {"unfinished": 2}, {"over the daily limit": 1})
    assert begin(telemetry, calls=3), "what was held back takes no place"
    assert begin(telemetry, day="2026-11-22", calls=2), "tomorrow is another day"


def test_the_limit_on_tokens_counts_what_the_next_call_will_take(path: Path) -> None:
    telemetry = Telemetry(path)
    assert begin(telemetry, most=250)
    assert begin(telemetry, most=250)
    assert begin(telemetry, most=250) is None
    assert begin(telemetry, tokens=50, most=250)
    assert telemetry.read_model_usage(DAY).tokens == 250
    assert begin(telemetry, tokens=0, calls=0) is None


def test_days_are_counted_apart_and_thirty_together(path: Path) -> None:
    telemetry = Telemetry(path)
    for day in ("2026-10-22", "2026-10-23", "2026-11-20", DAY, "2026-11-22"):
        call = begin(telemetry, day=day)
        assert call
        telemetry.end_call(call, "answered", 1)
    assert telemetry.read_model_usage(DAY).calls == 1
    assert telemetry.read_model_usage(DAY, 2).calls == 2
    assert telemetry.read_model_usage(DAY, 30).calls == 3


def test_what_is_older_than_a_year_is_dropped(path: Path) -> None:
    telemetry = Telemetry(path)
    begin(telemetry, day="2025-01-01")
    begin(telemetry)
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("select day from model_calls").fetchall() == [(DAY,)]


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 200)), max_size=20), st.integers(0, 10), st.integers(0, 500)
)
def test_no_sequence_of_calls_is_begun_past_a_limit(
    tmp_path_factory: pytest.TempPathFactory, calls: list[tuple[int, int]], most_calls: int, most_tokens: int
) -> None:
    telemetry = Telemetry(tmp_path_factory.mktemp("calls") / "runtime.db")
    for tokens, took in calls:
        before = telemetry.read_model_usage(DAY)
        call = begin(telemetry, tokens=tokens, calls=most_calls, most=most_tokens)
        assert (call is not None) == (before.calls < most_calls and before.tokens + tokens <= most_tokens)
        if call is not None:
            telemetry.end_call(call, "answered", took)
    assert telemetry.read_model_usage(DAY).calls <= most_calls
    telemetry.close()


@pytest.mark.slow
def test_many_processes_together_stay_within_the_limit(tmp_path: Path) -> None:
    run_concurrently(LocalStore(tmp_path), call_many, [(tmp_path,) for _ in range(6)])
    assert Telemetry(tmp_path / "runtime.db").read_model_usage(DAY).calls == 10


def call_many(_: Store, folder: Path) -> None:
    for _number in range(5):
        begin(Telemetry(folder / "runtime.db"), calls=10)
