"""The merge of two versions of a text, line by line, against their common ancestor."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple


class _CommonLines(NamedTuple):
    """A run of lines common to all three texts, by its start in each."""

    base: int
    ours: int
    theirs: int
    length: int


def merge_texts(base: str, ours: str, theirs: str) -> str | None:
    r"""Merge the changes of both to `base`. Return None if they touch the same or adjacent lines.

    >>> merge_texts("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n")
    'A\nb\nC\n'
    >>> merge_texts("a\n", "b\n", "c\n") is None
    True
    """
    lines = [text.splitlines(keepends=True) for text in (base, ours, theirs)]
    merged: list[str] = []
    at = _CommonLines(0, 0, 0, 0)
    for common in _iter_common(*lines):
        old, mine, yours = (lines[n][at[n] + at.length : common[n]] for n in range(3))
        if mine not in (old, yours) and yours != old:
            return None
        merged += mine if yours == old else yours
        merged += lines[0][common.base : common.base + common.length]
        at = common
    return "".join(merged)


def _iter_common(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> Iterator[_CommonLines]:
    """Yield the common runs of lines in order, and an empty one at the end."""
    their_blocks = _matching_blocks(base, theirs)
    for start, mine, length in _matching_blocks(base, ours):
        for other, place, size in their_blocks:
            first, last = max(start, other), min(start + length, other + size)
            if first < last:
                yield _CommonLines(first, mine + first - start, place + first - other, last - first)
    yield _CommonLines(len(base), len(ours), len(theirs), 0)


def _matching_blocks(base: Sequence[str], other: Sequence[str]) -> list[tuple[int, int, int]]:
    return [(block.a, block.b, block.size) for block in SequenceMatcher(None, base, other, False).get_matching_blocks()]
