"""Sanitizing what does not fit into memory: block by block, cut where nothing secret is."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lineage.core.sanitizer.detection import find_spans
from lineage.core.sanitizer.encodings import is_token_continued
from lineage.core.sanitizer.layers import Layer, build_normalized_layer, build_visible_layer
from lineage.core.sanitizer.ruleset import Ruleset, Span

BLOCK_CHARS = 1 << 18
OVERLAP_CHARS = 1 << 15
"""Characters. A secret that is shorter than OVERLAP, with all that has to be read to know it, is found wherever it
lies. One that goes on for longer is followed over four BLOCKs, and from there to where it stops looking like one."""

_MAX_BLOCKS = 4
_MAX_LINES = 200
_SAMPLE = 256
_BODY = r"[A-Za-z0-9+/=_\\.-]+"
_LINES = re.compile(rf"(?:[ \t]*{_BODY}[ \t]*(?:\n|\Z))*(?:[ \t]*-----END[^\n]{{0,80}}-----)?")
_LINE = re.compile(rf"(?:{_BODY})?{_LINES.pattern}")


class StreamBlock(NamedTuple):
    """The next part of a text: the first `end` characters of a normalized text, what to redact in them, and where in
    the whole original the layer's own begins."""

    layer: Layer
    end: int
    spans: list[Span]
    offset: int


def iter_blocks(
    chunks: Iterable[str], rules: Ruleset, block_chars: int = BLOCK_CHARS, overlap_chars: int = OVERLAP_CHARS
) -> Iterator[StreamBlock]:
    """The whole text in parts; where the chunks were cut makes no difference. Memory is bounded by the block and the
    longest chunk."""
    source, size, rest = _ChunkReader(chunks), block_chars, None
    while source.fill(size):
        layer = build_normalized_layer(source.pending)
        text = layer.text
        if rest is not None:
            size, end = block_chars, _match_end(rest, text)
            source.discard(_original_offset(layer, end, source.pending))
            rest = rest if end == len(text) else None
            continue
        found = find_spans(text, rules)
        cut = len(text) if source.is_exhausted else _find_cut(text, found, max(1, len(text) - overlap_chars))
        if not (cut or source.is_exhausted):
            if size < _MAX_BLOCKS * block_chars:
                size += block_chars
                continue
            cut, rest = _truncate_secret(text, found[0].end)
        yield StreamBlock(layer, cut, [span for span in found if span.start < cut], source.position)
        source.discard(_original_offset(layer, cut, source.pending))
        size = block_chars


def _find_cut(text: str, spans: list[Span], limit: int) -> int:
    """The last place before the limit where a part can end: at a line's end, else at a space, else anywhere, and in
    nothing that had to be read to know a secret. 0 where there is none."""
    cut = _find_line_end(text, limit) or text.rfind(" ", 0, limit) + 1 or limit
    for span in sorted(spans, key=lambda span: -span.last):
        if span.first < cut < span.last:
            cut = _find_line_end(text, span.first + 1) or span.first
    return cut


def _find_line_end(text: str, limit: int) -> int:
    """Behind the last line end before the limit over which no token goes on; the last one where all of many do."""
    cut = last = text.rfind("\n", 0, limit) + 1
    for _ in range(_MAX_LINES):
        left, right = (
            _visible_text(text[max(0, cut - 1 - _SAMPLE) : cut - 1]),
            _visible_text(text[cut : cut + _SAMPLE]),
        )
        if not cut or not is_token_continued(left, right):
            return cut
        cut = text.rfind("\n", 0, cut - 1) + 1
    return last


def _visible_text(text: str) -> str:
    return build_visible_layer(Layer(text)).text


def _truncate_secret(text: str, end: int) -> tuple[int, re.Pattern[str] | None]:
    """Where a secret without end is cut, and what goes on with it; None where it ends after all."""
    if text[end:].strip():
        return end, None
    line = text.rfind("\n", 0, end) + 1
    return (line, _LINES) if line else (end, _LINE)


def _match_end(continuation: re.Pattern[str], text: str) -> int:
    match = continuation.match(text)
    return match.end() if match else 0


def _original_offset(layer: Layer, at: int, pending: str) -> int:
    return layer.map_to_original(at, at + 1)[0] if at < len(layer.text) else len(pending)


class _ChunkReader:
    """What comes in chunks, read as far as it is needed. `ended` says that nothing follows what is pending."""

    def __init__(self, chunks: Iterable[str]) -> None:
        self._chunks = iter(chunks)
        self._unread = ""
        self.pending = ""
        self.position = 0
        self.is_exhausted = False

    def fill(self, size: int) -> bool:
        """Reads on until so many characters are pending, and whether there are any."""
        parts = [self.pending, self._unread]
        length = sum(map(len, parts))
        exhausted = False
        while length <= size and not exhausted:
            chunk = next(self._chunks, None)
            exhausted = chunk is None
            parts.append(chunk or "")
            length += len(parts[-1])
        whole = "".join(parts)
        self.pending, self._unread = whole[:size], whole[size:]
        self.is_exhausted = exhausted and not self._unread
        return bool(self.pending)

    def discard(self, count: int) -> None:
        self.pending = self.pending[count:]
        self.position += count
