"""Secrets that are split over consecutive texts: the chunks of a tool's output, two messages."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise

from lineage.core.sanitizer.detection import find_spans
from lineage.core.sanitizer.encodings import TOKEN_CHARACTERS, is_random, leading_token
from lineage.core.sanitizer.ruleset import Ruleset, Span

# Characters on each side of a boundary between two texts that are searched together.
WINDOW_CHARS = 200

# A batch closes once it has so many characters.
BATCH_CHARS = 1 << 20

_MAX_KEY_CHARS = 1 << 15


def iter_batches(texts: Iterable[str]) -> Iterator[tuple[list[str], bool]]:
    """Yield consecutive normalized texts in batches that can be searched apart from each other.

    The flag tells that the batch's last text is the first of the next batch too: a secret may begin or end in it.
    """
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
    """Tell whether the windows at the start and at the end of the last text are apart."""
    if len(batch[-1]) <= 2 * WINDOW_CHARS:
        return False
    searched, number = "", len(batch)
    while number and len(searched) < len(batch[-1]) + _MAX_KEY_CHARS:
        number -= 1
        searched = batch[number] + searched
    return "-----BEGIN " not in searched  # an open private key reaches far beyond a window


def find_split_spans(texts: Sequence[str], rules: Ruleset) -> list[list[Span]]:
    """Return for each of the normalized texts its parts of secrets that lie in several texts."""
    starts = list(accumulate(map(len, texts), initial=0))
    spans_by_text: list[list[Span]] = [[] for _ in texts]
    for first, last in _find_runs(texts):
        offset = starts[first]
        boundaries = [starts[number] - offset for number in range(first + 1, last + 1)]
        for span in _find_crossing_spans("".join(texts[first : last + 1]), boundaries, rules):
            for number in range(first, last + 1):
                text_start = starts[number] - offset
                start, end = max(span.start - text_start, 0), min(span.end - text_start, len(texts[number]))
                if start < end:
                    spans_by_text[number].append(Span(start, end, span.rule, start, end))
    return spans_by_text


def _find_runs(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the first and last number of texts that may continue each other without a gap."""
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
    """Return the start of a private key without an end, -1 if there is none."""
    begin = text.rfind("-----BEGIN ")
    return begin if begin >= 0 and "PRIVATE KEY" in text[begin : begin + 80] and "-----END" not in text[begin:] else -1


def _find_crossing_spans(text: str, boundaries: list[int], rules: Ruleset) -> Iterator[Span]:
    position = 0
    for start, end in _find_windows(text, boundaries):
        for found in find_spans(text[start:end], rules):
            span = found.shift(start)
            inside = [boundary for boundary in boundaries if span.start < boundary < span.end]
            if span.start >= position and inside and _is_split_secret(text, span, inside, rules):
                position = span.end
                yield span


def _find_windows(text: str, boundaries: list[int]) -> Iterator[tuple[int, int]]:
    """Yield the ranges around the boundaries that are searched together; ranges that overlap are one."""
    window_start, window_end = -1, 0
    for boundary, following in pairwise([*boundaries, len(text) + 2 * WINDOW_CHARS + 1]):
        start = max(0, boundary - WINDOW_CHARS)
        end = min(len(text), boundary + WINDOW_CHARS)
        before = max(0, boundary - _MAX_KEY_CHARS)
        key_start = _find_unclosed_key(text[before:boundary])
        if key_start >= 0:
            start = min(start, before + key_start)
            end = min(len(text), boundary + _MAX_KEY_CHARS)
        window_start = start if window_start < 0 else min(window_start, start)
        window_end = max(window_end, end)
        if following - WINDOW_CHARS > window_end:
            yield window_start, window_end
            window_start = -1


def _is_split_secret(text: str, span: Span, boundaries: list[int], rules: Ruleset) -> bool:
    """Tell a secret in parts from a whole one with the next text's first word behind it."""
    left = text[span.start : boundaries[0]]
    alone = find_spans(left, rules)
    is_whole = bool(alone) and alone[-1].end == len(left)
    if not (is_whole or rules.allowed.covers(left, 0, len(left))) or _find_unclosed_key(left) >= 0:
        return True
    return is_random(leading_token(text[boundaries[0] : span.end]))
