"""Times: what comes in from any zone, what is refused, and that text order is time order."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base import times
from lineage.errors import InvalidInput

ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=ZONES)


@given(MOMENTS)
def test_a_moment_of_any_zone_becomes_the_same_moment_in_utc_cut_to_milliseconds(moment: datetime) -> None:
    time = times.to_utc(moment.isoformat())
    assert len(time) == 24
    assert time.endswith("Z")
    cut = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    assert datetime.fromisoformat(time) == cut.astimezone(UTC)


@given(MOMENTS, MOMENTS)
def test_text_order_is_time_order(one: datetime, other: datetime) -> None:
    first, second = times.format_time(one), times.format_time(other)
    assert (first < second) == (datetime.fromisoformat(first) < datetime.fromisoformat(second))


@given(MOMENTS)
def test_the_canonical_form_and_the_file_names_form_are_stable(moment: datetime) -> None:
    time = times.format_time(moment)
    assert times.to_utc(time) == time
    assert ":" not in times.to_file_name(time)
    assert times.from_file_name(times.to_file_name(time)) == time


def test_lesson_10_a_time_of_another_zone_files_under_its_utc_day() -> None:
    assert times.to_date(times.to_utc("2026-03-29T08:00:00+14:00")) == "2026-03-28"
    assert times.to_date(times.to_utc("2026-03-28T20:00:00-11:00")) == "2026-03-29"


@pytest.mark.parametrize(
    "value", ["2026-03-28T22:34:06", "2026-03-28", "22:34:06", "yesterday", "", "2026-13-01T00:00Z"]
)
def test_a_naive_or_unparsable_time_is_refused_at_the_door(value: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        times.to_utc(value)
    assert "zone" in caught.value.hint
    assert times.to_utc_or_none(value) is None


@pytest.mark.parametrize("value", [None, 5, 12.5, [], {}])
def test_what_is_no_text_is_no_time(value: object) -> None:
    assert times.to_utc_or_none(value) is None


@pytest.mark.parametrize("value", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_time_that_leaves_the_calendar_is_refused(value: str) -> None:
    with pytest.raises(InvalidInput, match="out of range"):
        times.to_utc(value)


def test_a_time_moves_by_milliseconds_and_days() -> None:
    assert times.shift_time("2026-02-28T23:59:59.999Z", milliseconds=1) == "2026-03-01T00:00:00.000Z"
    assert times.shift_time("2026-03-30T00:00:00.000Z", days=-30) == "2026-02-28T00:00:00.000Z"


def test_seconds_since_the_epoch_become_canonical_text() -> None:
    assert times.from_epoch(0.1239) == "1970-01-01T00:00:00.123Z"
