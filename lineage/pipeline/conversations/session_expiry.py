"""When a lane's session is over and the next message begins a new one. (lesson 33)"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo

from lineage.core.base.times import format_time

DAILY = "daily reset"
IDLE = "idle"

_RESET_COMMAND = re.compile(r"\s*/(?:new|reset)(?:\s+(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ResetRules:
    """`daily`: the time of day, by the clocks of `zone`, at which sessions are over; None for never. `idle_minutes`:
    after how long without a message; 0 for never."""

    daily: time | None = None
    zone: tzinfo = UTC
    idle_minutes: int = 0


def find_expiry(last_message: str, rules: ResetRules) -> tuple[str, str] | None:
    """The moment from which a session with that last message is over, and why: DAILY or IDLE, whichever comes first.
    None where neither ever ends it, nor the calendar holds that moment. Times are canonical UTC."""
    last = datetime.fromisoformat(last_message)
    try:
        moments = sorted(_iter_expiries(last, rules))
    except OverflowError:
        return None
    return (format_time(moments[0][0]), moments[0][1]) if moments else None


def _iter_expiries(last: datetime, rules: ResetRules) -> Iterator[tuple[datetime, str]]:
    if rules.daily is not None:
        yield _next_reset(last, rules.daily, rules.zone), DAILY
    if rules.idle_minutes:
        yield last + timedelta(minutes=rules.idle_minutes), IDLE


def is_expired(last_message: str, now: str, rules: ResetRules) -> bool:
    """Whether a message at `now` begins a new session: the last real one is earlier than the most recent reset, or too
    long ago. Judged when a message comes, by nothing but these."""
    over = find_expiry(last_message, rules)
    return over is not None and over[0] <= now


def parse_reset_command(message: str) -> tuple[bool, str]:
    """Whether a message asks for a new session, and what of it is for that session: `/new` or `/reset`, exactly, as its
    first word; the rest passes through.

    >>> parse_reset_command("/new What is left to do?"), parse_reset_command("/newest"), parse_reset_command("/reset")
    ((True, 'What is left to do?'), (False, '/newest'), (True, ''))
    """
    found = _RESET_COMMAND.fullmatch(message)
    return (True, (found[1] or "").strip()) if found else (False, message)


def _next_reset(last: datetime, daily: time, zone: tzinfo) -> datetime:
    """The first reset after a moment.

    One a day, by the clocks of the zone: a time that a change of clocks leaves out counts as long after midnight as it
    would be without the change, one that comes twice counts the first time.
    """
    days = (last.date() + timedelta(days=number) for number in (-1, 0, 1, 2))
    resets = (datetime.combine(day, daily, tzinfo=zone).astimezone(UTC) for day in days)
    return min(reset for reset in resets if reset > last)
