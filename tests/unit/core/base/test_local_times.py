"""Times as people say them.

Fails where a day is counted in another zone than the person's, a weekday follows the locale, or a time that can't be
moved ends a command.
"""

import locale
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base.local_times import format_local
from lineage.core.base.times import format_time

BERLIN = ZoneInfo("Europe/Berlin")
NOW = "2026-11-24T23:30:00.000Z"  # half past midnight of the 25th in Berlin


def say(time: str, now: str = NOW, zone: ZoneInfo = BERLIN) -> str:
    return format_local(time, now, lambda moment: moment.astimezone(zone))


@pytest.mark.parametrize(
    ("time", "said"),
    [
        ("2026-11-24T23:05:00.000Z", "today 00:05"),
        ("2026-11-24T22:59:59.999Z", "yesterday 23:59"),
        ("2026-11-22T12:00:00.000Z", "Sun 13:00"),
        ("2026-11-19T12:00:00.000Z", "Thu 13:00"),
        ("2026-11-18T12:00:00.000Z", "2026-11-18"),
        ("2026-07-01T22:30:00.000Z", "2026-07-02"),  # summer time: another offset than today's
        ("2026-11-26T12:00:00.000Z", "2026-11-26 13:00"),
        ("0001-01-01T00:00:00.000Z", "0001-01-01T00:00:00.000Z"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
        ("by hand", "by hand"),
        ("2026-11-24", "2026-11-24"),
        ("", ""),
    ],
)
def test_a_time_is_said_as_of_the_person_s_day(time: str, said: str) -> None:
    assert say(time) == said


def test_a_weekday_is_the_same_in_every_locale() -> None:
    before = locale.setlocale(locale.LC_TIME)
    try:
        for name in ("C", "C.UTF-8", "tr_TR.UTF-8", "ar_SA.UTF-8"):
            try:
                locale.setlocale(locale.LC_TIME, name)
            except locale.Error:  # not on this machine
                continue
            assert say("2026-11-22T12:00:00.000Z") == "Sun 13:00"
    finally:
        locale.setlocale(locale.LC_TIME, before)


@given(
    st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1)), st.timedeltas(timedelta(days=-400), timedelta(days=400))
)
def test_the_same_state_is_said_alike_and_fits_a_column(moment: datetime, away: timedelta) -> None:
    now, time = (format_time(one.replace(tzinfo=UTC)) for one in (moment, moment + away))
    said = say(time, now)
    assert said == say(time, now)
    assert len(said) <= 16
    assert "T" not in said.replace("Tue", "").replace("Thu", "")
