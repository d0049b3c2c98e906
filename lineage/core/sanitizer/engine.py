"""Finding what is secret in a normalized text: layer by layer, merged, again where nothing was found yet.

What a marker or a finding leaves standing between them is searched as a text of its own until nothing more is found.
So a text that was sanitized is, piece by piece, what was searched last, and a second run finds nothing in it.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from lineage.core.sanitizer.encodings import beginning, is_random, readings
from lineage.core.sanitizer.rule import MARKER, Rule
from lineage.core.sanitizer.ruleset import Ruleset
from lineage.core.sanitizer.view import SEPARATOR, Layer

_MOST_PASSES = 8
_SHORTEST = 4
_SHORT = 80


class Span(NamedTuple):
    """What is redacted and which rule says so; `first` to `last` is what had to be read to know it."""

    start: int
    end: int
    rule: Rule
    first: int
    last: int


def spans(text: str, rules: Ruleset, known: Iterable[Span] = ()) -> list[Span]:
    """What to redact in the normalized text, `known` included: in order and without overlap."""
    found = list(known)
    taken = [(span.start, span.end) for span in found]
    gaps = list(_between([*(match.span() for match in MARKER.finditer(text)), *taken], len(text)))
    clean: set[str] = set()
    for passes in range(_MOST_PASSES):
        if not gaps:
            break
        searched = [(start, end, _search(text, start, end, rules, clean)) for start, end in gaps]
        if passes == _MOST_PASSES - 1:
            searched = [
                (start, end, [Span(start, end, new[0].rule, start, end)]) for start, end, new in searched if new
            ]
        found += [span for _, _, new in searched for span in new]
        gaps = [gap for start, end, new in searched if new for gap in _between([s[:2] for s in new], end, start)]
    found.sort(key=lambda span: span.start)
    return found


def _between(taken: Iterable[tuple[int, int]], end: int, position: int = 0) -> Iterator[tuple[int, int]]:
    for start, until in sorted(taken):
        if start - position >= _SHORTEST:
            yield position, start
        position = max(position, until)
    if end - position >= _SHORTEST:
        yield position, end


def _search(whole: str, start: int, end: int, rules: Ruleset, clean: set[str]) -> list[Span]:
    """What is found in a piece of the whole. `clean` collects short pieces that hold nothing: they come again and
    again where there is much to redact."""
    text = whole[start:end]
    if text in clean:
        return []
    sure: list[Span] = []
    unsure: list[Span] = []
    for layer in readings(Layer(text)):
        for span, goes_on in _found(layer, rules):
            (sure if goes_on else unsure).append(span)
    found = _merged(sure)
    if unsure:
        found = _merged(found + [span for span in unsure if not _overlaps(span, found)])
    if not found and len(text) < _SHORT:
        clean.add(text)
    return [Span(s.start + start, s.end + start, s.rule, s.first + start, s.last + start) for s in found]


def _found(layer: Layer, rules: Ruleset) -> Iterator[tuple[Span, bool]]:
    """What the rules find in a layer, and whether a token surely goes on over every seam in it. In a layer of seams
    that is only what lies on one; for a guess the token has to go on with a digit in it."""
    for hit in rules.hits(layer.text):
        first = layer.text.rfind(SEPARATOR, hit.first, hit.start) + 1 or hit.first
        end, last = (_before_separator(layer.text, hit.start, until) for until in (hit.end, hit.last))
        if hit.start < end:
            heads = [beginning(text) for text in layer.joints(hit.start, end)]
            goes_on = all(map(is_random, heads))
            if not layer.seams or (heads and (not hit.rule.guess or (goes_on and all(map(_has_digit, heads))))):
                yield Span(*layer.origin(hit.start, end), hit.rule, *layer.origin(first, last)), goes_on


def _has_digit(text: str) -> bool:
    return any("0" <= character <= "9" for character in text)


def _overlaps(span: Span, others: Sequence[Span]) -> bool:
    """Whether the span overlaps one of others, which are in order and apart."""
    before = bisect_left(others, span.end, key=lambda other: other.start) - 1
    return before >= 0 and others[before].end > span.start


def _before_separator(text: str, start: int, end: int) -> int:
    at = text.find(SEPARATOR, start, end)
    return end if at < 0 else at


def _merged(found: Sequence[Span]) -> list[Span]:
    """Findings that overlap become one, by the name of the first and longest. A guess that begins where something
    that is no guess does, and goes on behind it, took too much and falls away."""
    sure = {span.start for span in found if not span.rule.guess}
    kept: list[Span] = []
    for span in sorted(found, key=lambda s: (s.start, s.rule.guess, -s.end)):
        if span.rule.guess and span.start in sure:
            continue
        if kept and span.start < kept[-1].end:
            before = kept[-1]
            kept[-1] = before._replace(
                end=max(before.end, span.end), first=min(before.first, span.first), last=max(before.last, span.last)
            )
        else:
            kept.append(span)
    return kept
