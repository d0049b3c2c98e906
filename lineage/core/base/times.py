"""Canonical times: UTC strings such as `2026-03-28T22:34:06.792Z`, of one width: text order is time order."""

from datetime import UTC, datetime, timedelta

from lineage.errors import InvalidInput

_HINT = "give an ISO-8601 time with a zone, for example 2026-03-28T22:34:06.792Z"


def to_utc(value: str) -> str:
    """Return the canonical form of an ISO-8601 time in any zone. Raises InvalidInput for naive or unparsable times.

    >>> to_utc("2026-03-28T18:34:06.792-04:00")
    '2026-03-28T22:34:06.792Z'
    """
    try:
        moment = datetime.fromisoformat(value.strip())
    except (ValueError, AttributeError) as error:
        raise InvalidInput(f"not a time: {str(value)[:60]!r}", hint=_HINT) from error
    if moment.tzinfo is None:
        raise InvalidInput(f"a time without a zone: {value[:60]!r}", hint=_HINT)
    return format_time(moment)


def to_utc_or_none(value: object) -> str | None:
    """Return the canonical form of a value from a transcript, or None if it is no time. Never raises."""
    if not isinstance(value, str):
        return None
    try:
        return to_utc(value)
    except InvalidInput:
        return None


def format_time(moment: datetime) -> str:
    """Return an aware datetime as a canonical time, cut to milliseconds. Raises InvalidInput outside years 1–9999."""
    try:
        text = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    except OverflowError as error:
        raise InvalidInput(f"a time out of range: {moment}", hint=_HINT) from error
    return text.replace("+00:00", "Z")


def from_epoch(seconds: float) -> str:
    """Return seconds since the epoch as a canonical time."""
    return format_time(datetime.fromtimestamp(seconds, UTC))


def shift_time(time: str, *, milliseconds: int = 0, days: int = 0) -> str:
    """Return a canonical time moved by a duration. Raises InvalidInput outside years 1–9999.

    >>> shift_time("2026-03-28T22:34:06.999Z", milliseconds=1)
    '2026-03-28T22:34:07.000Z'
    """
    try:
        moment = datetime.fromisoformat(time) + timedelta(milliseconds=milliseconds, days=days)
    except OverflowError as error:
        raise InvalidInput(f"a time out of range: {time} moved on", hint=_HINT) from error
    return format_time(moment)


def to_file_name(time: str) -> str:
    """Return the form of a canonical time for file names: `:` becomes `-` (spec: file naming)."""
    return time.replace(":", "-")


def from_file_name(text: str) -> str:
    """Undo `to_file_name`.

    >>> from_file_name("2026-03-28T22-34-06.792Z")
    '2026-03-28T22:34:06.792Z'
    """
    return text[:11] + text[11:].replace("-", ":")


def to_date(time: str) -> str:
    """Return the UTC date of a canonical time: `2026-03-28`."""
    return time[:10]
