"""When a session is over: by the clocks of a zone, through every change of them, or after a silence. (lesson 33)"""

from datetime import UTC, datetime, time, timedelta, timezone, tzinfo
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base.times import format_time
from lineage.pipeline.conversations.lanes import (
    DAILY,
    IDLE,
    ResetRules,
    find_expiry,
    is_expired,
    parse_reset_command,
)
from tests.support.parametrize import each

BERLIN = ZoneInfo("Europe/Berlin")
ZONES = [UTC, BERLIN, *map(ZoneInfo, ("America/Sao_Paulo", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia"))]
MOMENTS = st.datetimes(datetime(1975, 1, 1), datetime(2037, 1, 1), timezones=st.just(UTC))
TIMES = st.times().map(lambda found: found.replace(second=0, microsecond=0))


def resets(daily: str | None = None, zone: tzinfo = BERLIN, idle: int = 0) -> ResetRules:
    return ResetRules(time.fromisoformat(daily) if daily else None, zone, idle)


def reset_instants(around: datetime, daily: time, zone: tzinfo) -> list[datetime]:
    """The resets of ten days, by the rule: one a day, at that time of the zone's clocks."""
    first = (around - timedelta(days=5)).astimezone(zone).date()
    days = [first + timedelta(days=number) for number in range(11)]
    return sorted({datetime.combine(day, daily, tzinfo=zone).astimezone(UTC) for day in days})


@given(MOMENTS, st.timedeltas(timedelta(0), timedelta(days=3)), TIMES, st.sampled_from(ZONES), st.integers(0, 3000))
def test_stale_is_earlier_than_the_most_recent_reset_or_too_long_ago(
    last: datetime, later: timedelta, daily: time, zone: tzinfo, idle: int
) -> None:
    last, now = last.replace(microsecond=0), (last + later).replace(microsecond=0)
    recent = max(moment for moment in reset_instants(now, daily, zone) if moment <= now)
    is_idle = bool(idle) and now - last >= timedelta(minutes=idle)
    said = ResetRules(daily, zone, idle)
    assert is_expired(format_time(last), format_time(now), said) == (last < recent or is_idle)


@given(MOMENTS, st.timedeltas(timedelta(0), timedelta(days=3)), TIMES, st.sampled_from(ZONES), st.integers(0, 3000))
def test_what_is_over_stays_over_and_a_new_message_begins_anew(
    last: datetime, later: timedelta, daily: time, zone: tzinfo, idle: int
) -> None:
    said = ResetRules(daily, zone, idle)
    over = find_expiry(format_time(last), said)
    assert over is not None
    assert format_time(last) < over[0] or idle == 0
    now = format_time(datetime.fromisoformat(over[0]) + later)
    assert is_expired(format_time(last), now, said)
    assert not is_expired(now, now, said)
    assert not is_expired(format_time(last), format_time(last), said)


@given(MOMENTS, TIMES, st.sampled_from(ZONES))
def test_there_is_one_reset_a_day_whatever_the_clocks_do(start: datetime, daily: time, zone: tzinfo) -> None:
    moments = [format_time(start)]
    for _ in range(5):
        over = find_expiry(moments[-1], ResetRules(daily, zone))
        assert over is not None
        moments.append(over[0])
    for one, other in pairwise(moments[1:]):
        between = datetime.fromisoformat(other) - datetime.fromisoformat(one)
        assert timedelta(hours=21) < between < timedelta(hours=27) or zone == ZoneInfo("Pacific/Apia")


@pytest.mark.parametrize(
    ("last", "over"),
    [
        ("2026-03-28T12:00:00.000Z", "2026-03-29T01:30:00.000Z"),  # 02:30 is left out: 03:30 summer time
        ("2026-03-29T01:29:59.999Z", "2026-03-29T01:30:00.000Z"),
        ("2026-03-29T01:30:00.000Z", "2026-03-30T00:30:00.000Z"),
        ("2026-10-24T12:00:00.000Z", "2026-10-25T00:30:00.000Z"),  # 02:30 comes twice: the first time
        ("2026-10-25T00:30:00.000Z", "2026-10-26T01:30:00.000Z"),
        ("2026-10-25T01:00:00.000Z", "2026-10-26T01:30:00.000Z"),  # between the two: no second reset
    ],
)
def test_changes_of_clocks(last: str, over: str) -> None:
    assert find_expiry(last, resets("02:30")) == (over, DAILY)


def test_a_day_that_a_zone_leaves_out_has_no_reset() -> None:
    apia = resets("04:00", ZoneInfo("Pacific/Apia"))
    assert find_expiry("2011-12-29T15:00:00.000Z", apia) == ("2011-12-30T14:00:00.000Z", DAILY)
    assert find_expiry("2011-12-30T14:00:00.000Z", apia) == ("2011-12-31T14:00:00.000Z", DAILY)


def test_the_daily_reset_is_by_the_zone_and_not_by_utc() -> None:
    tokyo = resets("04:00", ZoneInfo("Asia/Tokyo"))
    assert is_expired("2026-11-22T18:59:59.999Z", "2026-11-22T19:00:00.000Z", tokyo)
    assert not is_expired("2026-11-22T19:00:00.000Z", "2026-11-23T18:59:59.999Z", tokyo)


def test_whichever_comes_first() -> None:
    both = resets("04:00", UTC, idle=60)
    assert find_expiry("2026-11-22T03:30:00.000Z", both) == ("2026-11-22T04:00:00.000Z", DAILY)
    assert find_expiry("2026-11-22T05:00:00.000Z", both) == ("2026-11-22T06:00:00.000Z", IDLE)
    assert is_expired("2026-11-22T05:00:00.000Z", "2026-11-22T06:00:00.000Z", both)
    assert not is_expired("2026-11-22T05:00:00.000Z", "2026-11-22T05:59:59.999Z", both)


def test_where_nothing_is_set_nothing_ends() -> None:
    assert find_expiry("2026-11-22T05:00:00.000Z", ResetRules()) is None
    assert not is_expired("1999-11-22T05:00:00.000Z", "2026-11-22T05:00:00.000Z", ResetRules())


@pytest.mark.parametrize("said", [resets("04:00", UTC), resets(idle=10**12), resets("04:00", timezone.max)])
def test_the_end_of_the_calendar_is_no_error(said: ResetRules) -> None:
    assert not is_expired("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z", said)


@each(
    ("message", "asked", "rest"),
    [
        ("/new", True, ""),
        ("/reset", True, ""),
        ("  /new  What is left?\nAnd who?", True, "What is left?\nAnd who?"),
        ("/reset\nGo on.", True, "Go on."),
        ("/newest", False, "/newest"),
        ("/new-york", False, "/new-york"),
        ("/New", False, "/New"),
        ("Say /new", False, "Say /new"),
        ("/reset/x", False, "/reset/x"),
        ("", False, ""),
        ("  hello ", False, "  hello "),
    ],
)
def test_a_new_session_is_asked_for_exactly_and_the_rest_passes_through(message: str, asked: bool, rest: str) -> None:
    assert parse_reset_command(message) == (asked, rest)
