"""Sanitizing what does not fit into memory: block by block, cut where nothing secret is."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lineage.core.sanitizer.encodings import token_goes_on
from lineage.core.sanitizer.engine import spans
from lineage.core.sanitizer.ruleset import Ruleset, Span
from lineage.core.sanitizer.view import Layer, normalizing, visible

BLOCK = 1 << 18
OVERLAP = 1 << 15
"""Characters. A secret that is shorter than OVERLAP, with all that has to be read to know it, is found wherever it
lies. One that goes on for longer is followed over four BLOCKs, and from there to where it stops looking like one."""

_MOST_BLOCKS = 4
_MOST_LINES = 200
_SAMPLE = 256
_BODY = r"[A-Za-z0-9+/=_\\.-]+"
_LINES = re.compile(rf"(?:[ \t]*{_BODY}[ \t]*(?:\n|\Z))*(?:[ \t]*-----END[^\n]{{0,80}}-----)?")
_LINE = re.compile(rf"(?:{_BODY})?{_LINES.pattern}")


class Block(NamedTuple):
    """The next part of a text: the first `end` characters of a normalized text, what to redact in them, and where in
    the whole original the layer's own begins."""

    layer: Layer
    end: int
    spans: list[Span]
    offset: int


def blocks(chunks: Iterable[str], rules: Ruleset, block: int = BLOCK, overlap: int = OVERLAP) -> Iterator[Block]:
    """The whole text in parts; where the chunks were cut makes no difference. Memory is bounded by the block and the
    longest chunk."""
    source, size, rest = _Source(chunks), block, None
    while source.fill(size):
        layer = normalizing(source.pending)
        text = layer.text
        if rest is not None:
            size, end = block, _end_of(rest, text)
            source.drop(_original(layer, end, source.pending))
            rest = rest if end == len(text) else None
            continue
        found = spans(text, rules)
        cut = len(text) if source.ended else _cut(text, found, max(1, len(text) - overlap))
        if not (cut or source.ended):
            if size < _MOST_BLOCKS * block:
                size += block
                continue
            cut, rest = _cut_short(text, found[0].end)
        yield Block(layer, cut, [span for span in found if span.start < cut], source.position)
        source.drop(_original(layer, cut, source.pending))
        size = block


def _cut(text: str, found: list[Span], limit: int) -> int:
    """The last place before the limit where a part can end: at a line's end, else at a space, else anywhere, and in
    nothing that had to be read to know a secret. 0 where there is none."""
    cut = _line_end(text, limit) or text.rfind(" ", 0, limit) + 1 or limit
    for span in sorted(found, key=lambda span: -span.last):
        if span.first < cut < span.last:
            cut = _line_end(text, span.first + 1) or span.first
    return cut


def _line_end(text: str, limit: int) -> int:
    """Behind the last line end before the limit over which no token goes on; the last one where all of many do."""
    cut = last = text.rfind("\n", 0, limit) + 1
    for _ in range(_MOST_LINES):
        left, right = (_seen(text[max(0, cut - 1 - _SAMPLE) : cut - 1]), _seen(text[cut : cut + _SAMPLE]))
        if not cut or not token_goes_on(left, right):
            return cut
        cut = text.rfind("\n", 0, cut - 1) + 1
    return last


def _seen(text: str) -> str:
    return visible(Layer(text)).text


def _cut_short(text: str, end: int) -> tuple[int, re.Pattern[str] | None]:
    """Where a secret without end is cut, and what goes on with it; None where it ends after all."""
    if text[end:].strip():
        return end, None
    line = text.rfind("\n", 0, end) + 1
    return (line, _LINES) if line else (end, _LINE)


def _end_of(rest: re.Pattern[str], text: str) -> int:
    match = rest.match(text)
    return match.end() if match else 0


def _original(layer: Layer, at: int, pending: str) -> int:
    return layer.origin(at, at + 1)[0] if at < len(layer.text) else len(pending)


class _Source:
    """What comes in chunks, read as far as it is needed. `ended` says that nothing follows what is pending."""

    def __init__(self, chunks: Iterable[str]) -> None:
        self._chunks = iter(chunks)
        self._ahead = ""
        self.pending = ""
        self.position = 0
        self.ended = False

    def fill(self, size: int) -> bool:
        """Reads on until so many characters are pending, and whether there are any."""
        parts = [self.pending, self._ahead]
        length = sum(map(len, parts))
        exhausted = False
        while length <= size and not exhausted:
            chunk = next(self._chunks, None)
            exhausted = chunk is None
            parts.append(chunk or "")
            length += len(parts[-1])
        whole = "".join(parts)
        self.pending, self._ahead = whole[:size], whole[size:]
        self.ended = exhausted and not self._ahead
        return bool(self.pending)

    def drop(self, count: int) -> None:
        self.pending = self.pending[count:]
        self.position += count
