"""The expiry of a lane's session: after it the next message begins a new one (lesson 33)."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo

from lineage.core.base.times import format_time

DAILY = "daily reset"
IDLE = "idle"

_RESET_COMMAND = re.compile(r"\s*/(?:new|reset)(?:\s+(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ResetRules:
    """`daily` is the time of day in `zone` that ends sessions, `idle_minutes` the longest pause; None and 0: never."""

    daily: time | None = None
    zone: tzinfo = UTC
    idle_minutes: int = 0


def find_expiry(last_message: str, rules: ResetRules) -> tuple[str, str] | None:
    """Return the time of a session's end and its reason, DAILY or IDLE, whichever comes first.

    Return None if neither rule ends it, or the calendar ends before. Times are canonical UTC.
    """
    last, moments = datetime.fromisoformat(last_message), []
    try:
        if rules.daily is not None:
            moments.append((_next_reset(last, rules.daily, rules.zone), DAILY))
        if rules.idle_minutes:
            moments.append((last + timedelta(minutes=rules.idle_minutes), IDLE))
    except OverflowError:
        return None
    moment, reason = min(moments, default=(None, ""))
    return (format_time(moment), reason) if moment else None


def is_expired(last_message: str, now: str, rules: ResetRules) -> bool:
    """Return whether a message at `now` begins a new session."""
    expiry = find_expiry(last_message, rules)
    return expiry is not None and expiry[0] <= now


def parse_reset_command(message: str) -> tuple[bool, str]:
    """Return whether a message begins with `/new` or `/reset`, and its text for the session.

    >>> parse_reset_command("/new What is left to do?"), parse_reset_command("/newest"), parse_reset_command("/reset")
    ((True, 'What is left to do?'), (False, '/newest'), (True, ''))
    """
    match = _RESET_COMMAND.fullmatch(message)
    return (True, (match[1] or "").strip()) if match else (False, message)


def _next_reset(last: datetime, daily: time, zone: tzinfo) -> datetime:
    """Return the first reset after a moment: a skipped time counts unshifted, one that comes twice the first time."""
    days = (last.date() + timedelta(days=number) for number in (-1, 0, 1, 2))
    resets = (datetime.combine(day, daily, tzinfo=zone).astimezone(UTC) for day in days)
    return min(reset for reset in resets if reset > last)
