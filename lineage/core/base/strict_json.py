"""JSON without duplicate keys."""

import json
from typing import Any


def parse_strict_json(text: str) -> Any:
    """Return the value of a JSON text. Raises ValueError for invalid JSON and for an object with a duplicate key.

    >>> parse_strict_json('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ValueError: a key is there twice
    """
    return json.loads(text, object_pairs_hook=_reject_duplicate_keys)


def _reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key is there twice")
    return dict(pairs)
