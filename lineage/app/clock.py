"""The clock. Use cases get the time as a value; only surfaces and this package read it."""

from datetime import UTC, datetime

from lineage.core.base.times import format_time


def now() -> str:
    """Return the current time as canonical UTC text."""
    return format_time(datetime.now(UTC))


def to_local(moment: datetime) -> datetime:
    """Return an aware time in this machine's zone, with the zone's offset of that day."""
    return moment.astimezone()
