"""Secrets that are split over consecutive texts: the chunks of a tool's output, two messages."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise

from lineage.core.sanitizer.detection import find_spans
from lineage.core.sanitizer.encodings import TOKEN_CHARACTERS, is_random, leading_token
from lineage.core.sanitizer.ruleset import Ruleset, Span

WINDOW_CHARS = 200
"""Characters on each side of a seam that are read together."""

BATCH_CHARS = 1 << 20
"""Characters of text that are looked through together at least, where there are as many."""

_MAX_KEY_CHARS = 1 << 15


def iter_batches(texts: Iterable[str]) -> Iterator[tuple[list[str], bool]]:
    """Consecutive normalized texts, as many as it pays to look through together, apart from all others; and whether the
    last one is the first of the next batch too, for something may begin or end in it."""
    batch: list[str] = []
    size = 0
    for text in texts:
        if size >= BATCH_CHARS and not _continues(batch[-1], text):
            yield batch, False
            batch, size = [], 0
        elif size >= BATCH_CHARS and len(batch) > 1 and _is_separable(batch):
            yield batch, True
            batch, size = batch[-1:], len(batch[-1])
        batch.append(text)
        size += len(text)
    if batch:
        yield batch, False


def _is_separable(batch: Sequence[str]) -> bool:
    """Whether what is read together around the last text's beginning is apart from what is around its end."""
    if len(batch[-1]) <= 2 * WINDOW_CHARS:
        return False
    looked_at, number = "", len(batch)
    while number and len(looked_at) < len(batch[-1]) + _MAX_KEY_CHARS:
        number -= 1
        looked_at = batch[number] + looked_at
    return "-----BEGIN " not in looked_at


def find_split_spans(texts: Sequence[str], rules: Ruleset) -> list[list[Span]]:
    """For each of the normalized texts, the parts of secrets that lie in it and in a neighbour."""
    starts = list(accumulate(map(len, texts), initial=0))
    found: list[list[Span]] = [[] for _ in texts]
    for first, last in _find_runs(texts):
        whole, offset = "".join(texts[first : last + 1]), starts[first]
        seams = [starts[number] - offset for number in range(first + 1, last + 1)]
        for span in _find_crossing_spans(whole, seams, rules):
            for number in range(first, last + 1):
                start, end = starts[number] - offset, starts[number + 1] - offset
                part = max(span.start, start) - start, min(span.end, end) - start
                if part[0] < part[1]:
                    found[number].append(Span(*part, span.rule, *part))
    return found


def _find_runs(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The first and last of texts that may go on in one another without a gap."""
    first = 0
    for number in range(1, len(texts) + 1):
        if number == len(texts) or not _continues(texts[number - 1], texts[number]):
            if first < number - 1:
                yield first, number - 1
            first = number


def _continues(left: str, right: str) -> bool:
    if not left or not right:
        return False
    return (left[-1] in TOKEN_CHARACTERS and right[0] in TOKEN_CHARACTERS) or _find_unclosed_key(left) >= 0


def _find_unclosed_key(text: str) -> int:
    """Where a private key begins that doesn't end; -1 where there is none."""
    begin = text.rfind("-----BEGIN ")
    return begin if begin >= 0 and "PRIVATE KEY" in text[begin : begin + 80] and "-----END" not in text[begin:] else -1


def _find_crossing_spans(text: str, boundaries: list[int], rules: Ruleset) -> Iterator[Span]:
    reached = 0
    for start, end in _find_windows(text, boundaries):
        for span in find_spans(text[start:end], rules):
            there = Span(span.start + start, span.end + start, span.rule, span.first + start, span.last + start)
            inside = [seam for seam in boundaries if there.start < seam < there.end]
            if there.start >= reached and inside and _is_split_secret(text, there, inside, rules):
                reached = there.end
                yield there


def _find_windows(text: str, boundaries: list[int]) -> Iterator[tuple[int, int]]:
    """What is read together around the seams; windows that overlap are one."""
    open_since, last = -1, 0
    for seam, following in pairwise([*boundaries, len(text) + 2 * WINDOW_CHARS + 1]):
        start = max(0, seam - WINDOW_CHARS)
        begin = _find_unclosed_key(text[max(0, seam - _MAX_KEY_CHARS) : seam])
        end = min(len(text), seam + WINDOW_CHARS)
        if begin >= 0:
            start = min(start, max(0, seam - _MAX_KEY_CHARS) + begin)
            end = min(len(text), seam + _MAX_KEY_CHARS)
        open_since = start if open_since < 0 else min(open_since, start)
        last = max(last, end)
        if following - WINDOW_CHARS > last:
            yield open_since, last
            open_since = -1


def _is_split_secret(text: str, span: Span, boundaries: list[int], rules: Ruleset) -> bool:
    """Whether the finding is a secret in parts, and not a whole one with the next text's first word behind it."""
    left = text[span.start : boundaries[0]]
    alone = find_spans(left, rules)
    if not alone or alone[-1].end < len(left) or _find_unclosed_key(left) >= 0:
        return True
    return is_random(leading_token(text[boundaries[0] : span.end]))
