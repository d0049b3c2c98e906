"""Ranges of turns, as options give them."""

import re

from lineage.errors import InvalidInput

_RANGE = re.compile(r"([0-9]{1,8})(?:-([0-9]{1,8}))?")


def parse_turn_range(text: str) -> tuple[int, int]:
    """The first and the last number of `12-18`, or of `12`. Raises InvalidInput for what is no range.

    >>> parse_turn_range("12-18"), parse_turn_range("7")
    ((12, 18), (7, 7))
    """
    match = _RANGE.fullmatch(text)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= first <= last:
        raise InvalidInput(f"not a range of turns: {text[:40]!r}", hint="turns count from 1, for example --turns 12-18")
    return first, last
