"""Detection of secrets in a normalized text: layer by layer, merged, then again in the gaps between them.

Each gap between markers and findings is searched as a text of its own until nothing more is found. So the pieces of a
sanitized text are exactly those of the last search, and a second run finds nothing in it.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

from lineage.core.sanitizer import encodings, ruleset
from lineage.core.sanitizer.layers import SEPARATOR, Layer
from lineage.core.sanitizer.rule import MARKER, Rule
from lineage.core.sanitizer.ruleset import Ruleset, Span, Verdicts
from lineage.core.sanitizer.value_ends import find_quoted_end
from lineage.core.sanitizer.wrapped import is_row_continued, is_word

_MIN_GAP_CHARS = 4
_SHORT_TEXT_CHARS, _KNOWN_TEXT_CHARS = 80, 1000
_DIGIT = re.compile(r"[0-9]")
_OPENED_VALUE = re.compile(r"=[\"'`]\S{0,4}\Z|=([\"'`])(?:(?!\1)[^\n]){0,4}\Z")
_STILL_OPEN = re.compile(r"[=(]([\"'`])(?:(?!\1)[^\n]){0,4}\Z")
_ESCAPED_QUOTES = re.compile(r"(?:\\?[\"'`]){2}\Z|'\\\Z")


def find_spans(text: str, rules: Ruleset, known_spans: Sequence[Span] = ()) -> list[Span]:
    """Return all spans to redact, `known_spans` included, in order and without overlap."""
    # A short cut for names, ids and times: most texts by far.
    if len(text) < _SHORT_TEXT_CHARS and not known_spans and encodings.is_plain(text) and not rules.find_matches(text):
        return []
    spans = list(known_spans)
    markers = [match.span() for match in MARKER.finditer(text)]
    gaps = _find_gaps(markers + [(span.start, span.end) for span in spans], len(text))
    finder = _SpanFinder(rules)
    limit = ruleset.MAX_WORK * len(text) + ruleset.LONG_TEXT_WORK
    for passes in range(ruleset.MAX_PASSES):
        # The last pass redacts whole gaps: nothing is left for a second run to find.
        is_last = passes == ruleset.MAX_PASSES - 1 or finder.work > limit
        next_gaps = []
        for start, end in gaps:
            if new := finder.find(text, start, end):
                new = [Span(start, end, new[0].rule, start, end)] if is_last else new
                next_gaps += _find_gaps([(span.start, span.end) for span in new], end, start)
                spans += new
        if not next_gaps:
            break
        gaps = next_gaps
    return sorted(spans, key=lambda span: span.start)


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
    """Searches the pieces of one text, none of them twice.

    The same short pieces repeat between redactions, and the same secrets in every decoded layer of a piece.
    """

    def __init__(self, rules: Ruleset) -> None:
        self.work = 0
        self._rules = rules
        self._known: dict[str, tuple[list[Span], int]] = {}
        self._verdicts = Verdicts()

    def find(self, full_text: str, start: int, end: int) -> list[Span]:
        """Return the spans in one piece, at their places in the full text."""
        text = full_text[start:end]
        if text in self._known:
            spans, work = self._known[text]
            self.work += work
        else:
            work = self.work
            spans = self._find_in_text(text)
            if len(text) < _KNOWN_TEXT_CHARS:
                is_free = not spans and len(text) < _SHORT_TEXT_CHARS
                self._known[text] = spans, 0 if is_free else self.work - work
        return [span.shift(start) for span in spans] if start else spans

    def _find_in_text(self, text: str) -> list[Span]:
        sure: list[Span] = []
        unsure: list[Span] = []
        limit = self.work + ruleset.MAX_WORK * len(text) + ruleset.SMALL_TEXT_WORK
        for layer in encodings.iter_decoded_layers(Layer(text)):
            if self.work > limit:
                break  # a hostile text: what it encodes further stays, unless a name claims it as it stands
            self.work += len(layer.text) + ruleset.EDIT_WORK * len(layer.starts)
            names = self._verdicts.names
            matches = self._rules.find_matches(layer.text, self._verdicts)
            self.work += ruleset.NAME_WORK * (self._verdicts.names - names)
            if layer.below is None:
                sure += matches
                continue
            for span, continues in _map_matches(layer, matches):
                (sure if continues else unsure).append(span)
        spans = _merge(sure)
        spans = _merge(spans + [span for span in unsure if not _overlaps(span, spans)]) if unsure else spans
        # Merged first: what goes beyond an allowed value is found whole.
        allowed = self._rules.allowed
        return [span for span in spans if not allowed.covers(text, span.start, span.end)]


def _map_matches(layer: Layer, matches: Iterable[Span]) -> Iterator[tuple[Span, bool]]:
    """Yield each match at its place in the lowest layer, and whether a token surely continues over all its joins.

    A joined layer yields only matches over a join: the layer below has the others. A guess must continue with a digit,
    else ordinary words on the next line would become part of it.
    """
    has_separators, has_joins, lowest = SEPARATOR in layer.text, layer.has_joined_layer, layer.get_lowest_text()
    for match in matches:
        start, end, rule, first, last = _clip_to_separators(layer.text, match) if has_separators else match
        if start >= end:
            continue
        if layer.has_rows:
            continues = _is_continued_row(layer, start, end, rule)
            is_match = continues is not None
        elif not has_joins:
            continues = is_match = True
        else:
            heads = [encodings.leading_token(text) for text in layer.iter_joins(start, end)]
            continues = all(map(encodings.is_random, heads))
            is_match = not layer.is_joined or (bool(heads) and _may_be_joined(rule, heads, continues=continues))
        if is_match:
            quote = layer.text[start - 1 : start]
            first, start, end, last = layer.map_match(first, start, end, last)
            span = Span(start, end, rule, first, last)
            if rule.claim not in ("value", "prose"):
                yield span, bool(continues)
            elif whole := _fit_to_quotes(lowest, span, quote):
                yield whole, bool(continues)


def _may_be_joined(rule: Rule, heads: Sequence[str], *, continues: bool) -> bool:
    """Tell whether a match over joins is one: a rule that goes by a name alone needs digits behind every join."""
    if not (rule.guess or rule.claim):
        return True
    return rule.claim != "prose" and continues and all(map(_DIGIT.search, heads))


def _fit_to_quotes(text: str, span: Span, quote: str) -> Span | None:
    """Return the span of a value between its quotes in the lowest layer, None for a wrong reading.

    `quote` opened it in the layer that was read. Once decoded, quotes inside of a value look like its end.
    """
    if quote and quote in "\"'`" and (opening := text.rfind(quote, span.first, span.start)) >= 0:
        if _STILL_OPEN.search(text, span.first, opening):
            return None  # the value begins before, and has this quote in it
        span = span._replace(start=opening + 1)  # what was decoded to nothing belongs to the value
    elif _OPENED_VALUE.search(text, span.first, span.start):
        return None  # the value begins before; two of its own quotes looked like literals to join
    if _ESCAPED_QUOTES.search(text, span.start - 4, span.start):
        return None  # inside of the value, where it looked like an opening
    end = find_quoted_end(text, span.start, span.end)
    if end is None or end == span.end:
        return span
    if span.end < end:
        return span._replace(end=end, last=max(end, span.last))
    return span if encodings.is_literal_continued(text, end) or "\n" in text[span.start : span.end] else None


def _clip_to_separators(text: str, span: Span) -> Span:
    start, end, rule, first, last = span
    first = text.rfind(SEPARATOR, first, start) + 1 or first
    end, last = (until if (at := text.find(SEPARATOR, start, until)) < 0 else at for until in (end, last))
    return Span(start, end, rule, first, last)


def _is_continued_row(layer: Layer, start: int, end: int, rule: Rule) -> bool | None:
    """Tell whether the parts of a match in rows surely belong together; None if they are no match."""
    heads = list(layer.iter_joins(start, end))
    if not heads:
        return None
    text, is_guess = layer.text, bool(rule.guess or rule.claim)
    if start > 0 and text[start - 1] in "\"'`" and text.startswith(text[start - 1], end):
        return True  # all that stands between two quotes
    if is_guess and is_word(text[start : layer.starts[bisect_right(layer.starts, start)]]):
        return None
    if is_row_continued(heads[-1], text, end):
        return True
    return None if is_guess else False


def _overlaps(span: Span, others: Sequence[Span]) -> bool:
    """Tell whether the span overlaps one of the others: these are in order and apart."""
    before = bisect_left(others, span.end, key=lambda other: other.start) - 1
    return before >= 0 and others[before].end > span.start


def _merge(spans: Sequence[Span]) -> list[Span]:
    """Join spans that overlap, under the rule of the first and longest."""
    sure_starts = {span.start for span in spans if not (span.rule.guess or span.rule.claim)}
    merged: list[Span] = []
    for span in sorted(spans, key=lambda s: (s.start, s.rule.guess, -s.end)):
        if span.rule.guess and span.start in sure_starts:
            continue  # a marked token starts here: the guess that goes further took too much
        if merged and span.start < merged[-1].end:
            start, end, rule, first, last = merged[-1]
            if span.end > end or span.first < first or span.last > last:
                merged[-1] = Span(start, max(end, span.end), rule, min(first, span.first), max(last, span.last))
        else:
            merged.append(span)
    return merged
