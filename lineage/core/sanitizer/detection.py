"""Finding what is secret in a normalized text: layer by layer, merged, again where nothing was found yet.

What a marker or a finding leaves standing between them is searched as a text of its own until nothing more is found.
So a text that was sanitized is, piece by piece, what was searched last, and a second run finds nothing in it.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from lineage.core.sanitizer.encodings import is_plain, is_random, iter_decoded_layers, leading_token
from lineage.core.sanitizer.layers import SEPARATOR, Layer
from lineage.core.sanitizer.rule import MARKER
from lineage.core.sanitizer.ruleset import Ruleset, Span, Verdicts

_MAX_PASSES = 8
_MIN_GAP_CHARS = 4
_SHORT_TEXT_CHARS = 80


def find_spans(text: str, rules: Ruleset, known_spans: Sequence[Span] = ()) -> list[Span]:
    """What to redact in the normalized text, `known` included: in order and without overlap."""
    if len(text) < _SHORT_TEXT_CHARS and not known_spans and is_plain(text) and not rules.find_matches(text):
        return []  # names, ids, times: most texts by far
    found = list(known_spans)
    gaps = _find_gaps([match.span() for match in MARKER.finditer(text)] + [span[:2] for span in known_spans], len(text))
    search = _SpanFinder(rules)
    for passes in range(1, _MAX_PASSES + 1):
        left = []
        for start, end in gaps:
            if new := search.find(text, start, end):
                new = [Span(start, end, new[0].rule, start, end)] if passes == _MAX_PASSES else new
                left += _find_gaps([span[:2] for span in new], end, start)
                found += new
        if not left:
            break
        gaps = left
    found.sort(key=lambda span: span.start)
    return found


def _find_gaps(ranges: Iterable[tuple[int, int]], end: int, position: int = 0) -> list[tuple[int, int]]:
    gaps = []
    for start, until in sorted(ranges):
        if start - position >= _MIN_GAP_CHARS:
            gaps.append((position, start))
        position = max(position, until)
    if end - position >= _MIN_GAP_CHARS:
        gaps.append((position, end))
    return gaps


class _SpanFinder:
    """Looks through the pieces of one text, and at nothing twice: the same short pieces come again and again where
    there is much to redact, the same secrets in every reading of a piece."""

    def __init__(self, rules: Ruleset) -> None:
        self._rules = rules
        self._clean_texts: set[str] = set()
        self._verdicts: Verdicts = {}

    def find(self, full_text: str, start: int, end: int) -> list[Span]:
        """What is found in a piece of the whole."""
        text = full_text[start:end]
        if text in self._clean_texts:
            return []
        found = self._find_in_text(text)
        if not found and len(text) < _SHORT_TEXT_CHARS:
            self._clean_texts.add(text)
        if not start:
            return found
        return [Span(s.start + start, s.end + start, s.rule, s.first + start, s.last + start) for s in found]

    def _find_in_text(self, text: str) -> list[Span]:
        sure: list[Span] = []
        unsure: list[Span] = []
        for layer in iter_decoded_layers(Layer(text)):
            hits = self._rules.find_matches(layer.text, self._verdicts)
            if layer.below is None:
                sure += hits
                continue
            for span, goes_on in _map_hits(layer, hits):
                (sure if goes_on else unsure).append(span)
        found = _merge(sure)
        return _merge(found + [span for span in unsure if not _overlaps(span, found)]) if unsure else found


def _map_hits(layer: Layer, hits: Iterable[Span]) -> Iterator[tuple[Span, bool]]:
    """What the rules find in a layer, as it is in the lowest one, and whether a token surely goes on over every seam
    in it. In a layer of seams that is only what lies on one; for a guess the token has to go on with a digit in it."""
    apart, seamed = SEPARATOR in layer.text, layer.has_joined_layer
    for hit in hits:
        start, end, rule, first, last = _clip_to_separators(layer.text, hit) if apart else hit
        if start < end:
            heads = [leading_token(text) for text in layer.iter_joins(start, end)] if seamed else []
            goes_on = all(map(is_random, heads))
            if not layer.is_joined or (heads and (not rule.guess or (goes_on and all(map(_has_digit, heads))))):
                yield Span(*layer.map_to_original(start, end), rule, *layer.map_to_original(first, last)), goes_on


def _clip_to_separators(text: str, hit: Span) -> Span:
    """What of it is between separators."""
    start, end, rule, first, last = hit
    first = text.rfind(SEPARATOR, first, start) + 1 or first
    end, last = (until if (at := text.find(SEPARATOR, start, until)) < 0 else at for until in (end, last))
    return Span(start, end, rule, first, last)


def _has_digit(text: str) -> bool:
    return any("0" <= character <= "9" for character in text)


def _overlaps(span: Span, others: Sequence[Span]) -> bool:
    """Whether the span overlaps one of others, which are in order and apart."""
    before = bisect_left(others, span.end, key=lambda other: other.start) - 1
    return before >= 0 and others[before].end > span.start


def _merge(spans: Sequence[Span]) -> list[Span]:
    """Findings that overlap become one, by the name of the first and longest. A guess that begins where something
    that is no guess does, and goes on behind it, took too much and falls away."""
    sure = {span.start for span in spans if not span.rule.guess}
    kept: list[Span] = []
    for span in sorted(spans, key=lambda s: (s.start, s.rule.guess, -s.end)):
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
