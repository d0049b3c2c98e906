"""What adapters share for decoded JSON: values of the type that is needed, epoch times, notes for media."""

from typing import Any

from lineage.core.base.times import from_epoch
from lineage.harness.text import format_omission

_MILLISECONDS_FROM = 100_000_000_000  # as seconds, this would be the year 5138


def as_string(value: Any) -> str:
    """The value where it is a string, else the empty one."""
    return value if isinstance(value, str) else ""


def as_mapping(value: Any) -> dict[str, Any]:
    """The value where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The value where it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def parse_epoch(value: Any) -> str | None:
    """Seconds or milliseconds since the epoch as canonical text, None where it is no time. Never raises.

    >>> parse_epoch(1790931600), parse_epoch(1790931600001), parse_epoch("soon")
    ('2026-10-02T09:00:00.000Z', '2026-10-02T09:00:00.001Z', None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return from_epoch(value / 1000 if abs(value) >= _MILLISECONDS_FROM else value)
    except (ValueError, OverflowError, OSError):
        return None


def format_media_note(kind: str, data: str) -> str:
    """The note that stands for base64 data of a media type.

    >>> format_media_note("image/png", "iVBORw0KGgo=")
    '[image image/png, 8 bytes left out]'
    """
    label = f"{'image' if kind.startswith('image/') else 'file'} {kind}".strip()
    return format_omission(label, len(data.rstrip("=")) * 3 // 4)
