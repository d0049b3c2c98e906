"""Decoded JSON as values of the needed type: objects, lists, texts, times, notes in place of media."""

import json
from typing import Any

from lineage.core.base.times import from_epoch
from lineage.harness.text import format_omission

JsonObject = dict[str, Any]

_MILLISECONDS_FROM = 100_000_000_000  # as seconds, this would be the year 5138


def decode_json(text: Any) -> Any:
    """Return the value of a JSON text, None for anything else."""
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None


def as_string(value: Any) -> str:
    """Return a string unchanged, "" for anything else."""
    return value if isinstance(value, str) else ""


def as_mapping(value: Any) -> JsonObject:
    """Return an object unchanged, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return a list unchanged, an empty one for anything else."""
    return value if isinstance(value, list) else []


def as_blocks(content: Any) -> list[Any]:
    """Return a message's content as a list: harnesses write a plain text in place of a list of one text block."""
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def parse_epoch(value: Any) -> str | None:
    """Return seconds or milliseconds since the epoch as canonical UTC text, None for anything else. Never raises.

    >>> parse_epoch(1790931600), parse_epoch(1790931600001), parse_epoch("soon")
    ('2026-10-02T09:00:00.000Z', '2026-10-02T09:00:00.001Z', None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return from_epoch(value / 1000 if abs(value) >= _MILLISECONDS_FROM else value)
    except (ValueError, OverflowError, OSError):
        return None


def format_media_note(kind: Any, data: Any) -> str:
    """Return the note that replaces base64 data of a media type.

    >>> format_media_note("image/png", "iVBORw0KGgo=")
    '[image image/png, 8 bytes left out]'
    """
    kind = as_string(kind)
    label = f"{'image' if kind.startswith('image/') else 'file'} {kind}".strip()
    return format_omission(label, measure_base64(data))


def measure_base64(data: Any) -> int:
    """Return the number of bytes that a base64 text stands for, 0 for anything else."""
    return len(as_string(data).rstrip("=")) * 3 // 4
