"""Times for people: of today and the days before in words, in the zone of their machine."""

from collections.abc import Callable
from datetime import UTC, datetime

_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")  # strftime would follow the locale
_LAST_WEEK = range(2, 7)
_EDGE = 2  # a zone moves a time by a day at most: years next to 1 and 9999 are shown as they are


def format_local(time: str, now: str, to_local: Callable[[datetime], datetime]) -> str:
    """Return a canonical time as people say it at `now`; `to_local` moves an aware time into their zone.

    Times of today, yesterday and the week before have a time of day, older and later ones are dates. What is no
    canonical time stays as it is.

    >>> [format_local(time, "2026-11-24T21:00:00.000Z", lambda moment: moment) for time in (
    ... "2026-11-24T14:22:10.001Z", "2026-11-23T09:10:00.000Z", "2026-11-20T14:22:00.000Z", "2026-11-17T23:00:00.000Z")]
    ['today 14:22', 'yesterday 09:10', 'Fri 14:22', '2026-11-17']
    """
    try:
        moment, today = (datetime.fromisoformat(text) for text in (time, now))
    except ValueError:
        return time
    if moment.tzinfo is None or not datetime.min.year + _EDGE < moment.year < datetime.max.year - _EDGE:
        return time
    there, here = to_local(moment.astimezone(UTC)), to_local(today.astimezone(UTC))
    days = (here.date() - there.date()).days
    clock = f"{there.hour:02}:{there.minute:02}"
    if days in (0, 1):
        return f"{('today', 'yesterday')[days]} {clock}"
    if days in _LAST_WEEK:
        return f"{_WEEKDAYS[there.weekday()]} {clock}"
    return there.date().isoformat() if days > 0 else f"{there.date().isoformat()} {clock}"
