"""Reciprocal rank fusion: one ranking out of several whose scores say nothing to each other."""

from collections.abc import Hashable, Sequence
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)

SMOOTHING = 60
"""How little the first places are ahead of the next: what comes high in two rankings goes before the first of one."""


def fuse_rankings(rankings: Sequence[Sequence[Key]], smoothing: int = SMOOTHING) -> list[tuple[Key, float]]:
    """Everything that is in any ranking with its score, the sum of 1 / (smoothing + place) over the rankings that hold
    it; best first, of equals what comes first in the earlier ranking. In a ranking that holds a key twice its first
    place counts.

    >>> [key for key, _ in fuse_rankings([["a", "b", "c"], ["c", "a"]])]
    ['a', 'c', 'b']
    """
    scores: dict[Key, float] = {}
    for ranking in rankings:
        for place, key in enumerate(dict.fromkeys(ranking), 1):
            scores[key] = scores.get(key, 0.0) + 1 / (smoothing + place)
    return sorted(scores.items(), key=lambda scored: -scored[1])
