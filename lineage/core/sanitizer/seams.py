"""Secrets that are split over consecutive texts: the chunks of a tool's output, two messages."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise

from lineage.core.sanitizer.encodings import TOKEN_CHARACTERS, beginning, is_random
from lineage.core.sanitizer.engine import spans
from lineage.core.sanitizer.ruleset import Ruleset, Span

WINDOW = 200
"""Characters on each side of a seam that are read together."""

BATCH = 1 << 20
"""Characters of text that are looked through together at least, where there are as many."""

_LONGEST_BLOCK = 1 << 15


def batches(texts: Iterable[str]) -> Iterator[tuple[list[str], bool]]:
    """Consecutive normalized texts, as many as it pays to look through together, apart from all others; and whether the
    last one is the first of the next batch too, for something may begin or end in it."""
    batch: list[str] = []
    size = 0
    for text in texts:
        if size >= BATCH and not _goes_on(batch[-1], text):
            yield batch, False
            batch, size = [], 0
        elif size >= BATCH and len(batch) > 1 and _parts(batch):
            yield batch, True
            batch, size = batch[-1:], len(batch[-1])
        batch.append(text)
        size += len(text)
    if batch:
        yield batch, False


def _parts(batch: Sequence[str]) -> bool:
    """Whether what is read together around the last text's beginning is apart from what is around its end."""
    if len(batch[-1]) <= 2 * WINDOW:
        return False
    looked_at, number = "", len(batch)
    while number and len(looked_at) < len(batch[-1]) + _LONGEST_BLOCK:
        number -= 1
        looked_at = batch[number] + looked_at
    return "-----BEGIN " not in looked_at


def split_over(texts: Sequence[str], rules: Ruleset) -> list[list[Span]]:
    """For each of the normalized texts, the parts of secrets that lie in it and in a neighbour."""
    starts = list(accumulate(map(len, texts), initial=0))
    found: list[list[Span]] = [[] for _ in texts]
    for first, last in _runs(texts):
        whole, offset = "".join(texts[first : last + 1]), starts[first]
        seams = [starts[number] - offset for number in range(first + 1, last + 1)]
        for span in _crossing(whole, seams, rules):
            for number in range(first, last + 1):
                start, end = starts[number] - offset, starts[number + 1] - offset
                part = max(span.start, start) - start, min(span.end, end) - start
                if part[0] < part[1]:
                    found[number].append(Span(*part, span.rule, *part))
    return found


def _runs(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The first and last of texts that may go on in one another without a gap."""
    first = 0
    for number in range(1, len(texts) + 1):
        if number == len(texts) or not _goes_on(texts[number - 1], texts[number]):
            if first < number - 1:
                yield first, number - 1
            first = number


def _goes_on(left: str, right: str) -> bool:
    if not left or not right:
        return False
    return (left[-1] in TOKEN_CHARACTERS and right[0] in TOKEN_CHARACTERS) or _open_block(left) >= 0


def _open_block(text: str) -> int:
    """Where a private key begins that doesn't end; -1 where there is none."""
    begin = text.rfind("-----BEGIN ")
    return begin if begin >= 0 and "PRIVATE KEY" in text[begin : begin + 80] and "-----END" not in text[begin:] else -1


def _crossing(whole: str, seams: list[int], rules: Ruleset) -> Iterator[Span]:
    reached = 0
    for start, end in _windows(whole, seams):
        for span in spans(whole[start:end], rules):
            there = Span(span.start + start, span.end + start, span.rule, span.first + start, span.last + start)
            inside = [seam for seam in seams if there.start < seam < there.end]
            if there.start >= reached and inside and _is_one(whole, there, inside, rules):
                reached = there.end
                yield there


def _windows(whole: str, seams: list[int]) -> Iterator[tuple[int, int]]:
    """What is read together around the seams; windows that overlap are one."""
    open_since, last = -1, 0
    for seam, following in pairwise([*seams, len(whole) + 2 * WINDOW + 1]):
        start = max(0, seam - WINDOW)
        begin = _open_block(whole[max(0, seam - _LONGEST_BLOCK) : seam])
        end = min(len(whole), seam + WINDOW)
        if begin >= 0:
            start = min(start, max(0, seam - _LONGEST_BLOCK) + begin)
            end = min(len(whole), seam + _LONGEST_BLOCK)
        open_since = start if open_since < 0 else min(open_since, start)
        last = max(last, end)
        if following - WINDOW > last:
            yield open_since, last
            open_since = -1


def _is_one(whole: str, span: Span, seams: list[int], rules: Ruleset) -> bool:
    """Whether the finding is a secret in parts, and not a whole one with the next text's first word behind it."""
    left = whole[span.start : seams[0]]
    alone = spans(left, rules)
    if not alone or alone[-1].end < len(left) or _open_block(left) >= 0:
        return True
    return is_random(beginning(whole[seams[0] : span.end]))
