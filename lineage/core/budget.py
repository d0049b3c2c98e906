"""Budgets in bytes: what fits is kept whole, in order."""

from collections.abc import Iterable


def fitting(costs: Iterable[int], budget: int) -> int:
    """How many of the first items fit into `budget` bytes together.

    >>> fitting([10, 10, 10], 25)
    2
    """
    kept = spent = 0
    for cost in costs:
        spent += cost
        if spent > budget:
            break
        kept += 1
    return kept


def clipped(text: str, budget: int, marker: str) -> str:
    """The text cut at a line end so that it and the marker line stay within `budget` bytes of UTF-8."""
    if len(text.encode()) <= budget:
        return text
    room = budget - len(marker.encode()) - 1
    lines = text.split("\n")
    kept = fitting((len(line.encode()) + 1 for line in lines), room)
    return "\n".join([*lines[:kept], marker])
