"""Sanitizing text that does not fit into memory: block by block, cut only outside of secrets."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from lineage.core.sanitizer.detection import find_spans
from lineage.core.sanitizer.encodings import is_token_continued
from lineage.core.sanitizer.layers import Layer, build_normalized_layer, build_visible_layer
from lineage.core.sanitizer.ruleset import Ruleset, Span

# A secret that is shorter than the overlap, with its context, is found wherever it lies. A longer one is followed over
# four blocks, and from there as long as the text looks like a key's body.
BLOCK_CHARS = 1 << 18
OVERLAP_CHARS = 1 << 15

_MAX_BLOCKS = 4
_MAX_LINES = 200
_SAMPLE = 256
_SHOWN_CHARS = 2
_MIN_SHOWN_VALUE = 12
_BODY = r"[A-Za-z0-9+/=_\\.-]+"
_LINES = re.compile(rf"(?:[ \t]*{_BODY}[ \t]*(?:\n|\Z))*(?:[ \t]*-----END[^\n]{{0,80}}-----)?")
_LINE = re.compile(rf"(?:{_BODY})?{_LINES.pattern}")


@dataclass(frozen=True, slots=True)
class StreamBlock:
    """The next part of a text: the first `end` characters of a layer's text.

    `spans` are the secrets in the part. `offset` is the start of the layer's text in the original.
    """

    layer: Layer
    end: int
    spans: list[Span]
    offset: int


@dataclass(frozen=True, slots=True)
class RedactionFinding:
    """A redaction: the rule's id and the place in the original text, never the secret.

    `start` and `end` are characters from 0, `line` and `column` count from 1. `why` cites the rule alone, `head` is the
    first two characters of a long value.
    """

    rule: str
    start: int
    end: int
    line: int
    column: int
    why: str = field(default="", compare=False)
    head: str = field(default="", compare=False)


class FindingLocator:
    """Counts lines and columns over the blocks of a text."""

    def __init__(self) -> None:
        self._line = self._column = 1

    def locate(self, block: StreamBlock) -> Iterator[RedactionFinding]:
        """Yield the findings of the next block."""
        text, position = block.layer.text, 0
        for span in block.spans:
            self._advance(text[position : span.start])
            position = span.start
            start, end = block.layer.map_to_original(span.start, span.end)
            value, place = text[span.start : span.end], (start + block.offset, end + block.offset)
            why = span.rule.explain(text[max(span.first, span.start - _SAMPLE) : span.start], value)
            head = value[:_SHOWN_CHARS] if len(value) >= _MIN_SHOWN_VALUE else ""
            yield RedactionFinding(span.rule.id, *place, self._line, self._column, why, head)
        self._advance(text[position : block.end])

    def _advance(self, text: str) -> None:
        lines = text.count("\n")
        self._line += lines
        self._column = len(text) - text.rfind("\n") if lines else self._column + len(text)


def iter_blocks(
    chunks: Iterable[str], rules: Ruleset, block_chars: int = BLOCK_CHARS, overlap_chars: int = OVERLAP_CHARS
) -> Iterator[StreamBlock]:
    """Yield a text in parts; the borders of the chunks make no difference.

    Memory is bounded by the block and the longest chunk.
    """
    source, size, continuation = _ChunkReader(chunks), block_chars, None
    while source.fill(size):
        layer = build_normalized_layer(source.pending)
        text = layer.text
        if continuation is not None:
            # The rest of a truncated secret: nothing of it comes out.
            match = continuation.match(text)
            size, end = block_chars, match.end() if match else 0
            source.discard(_map_offset(layer, end, source.pending))
            continuation = continuation if end == len(text) else None
            continue
        spans = find_spans(text, rules)
        cut = len(text) if source.is_exhausted else _find_cut(text, spans, max(1, len(text) - overlap_chars))
        if not (cut or source.is_exhausted):
            if size < _MAX_BLOCKS * block_chars:
                size += block_chars
                continue
            cut, continuation = _truncate_secret(text, spans[0].end)
        yield StreamBlock(layer, cut, [span for span in spans if span.start < cut], source.position)
        source.discard(_map_offset(layer, cut, source.pending))
        size = block_chars


def _find_cut(text: str, spans: list[Span], limit: int) -> int:
    """Return the last place before the limit that is safe to cut at, 0 if there is none.

    Prefer a line's end, then a space. A cut never falls into a secret or its context.
    """
    cut = _find_line_end(text, limit) or text.rfind(" ", 0, limit) + 1 or limit
    for span in sorted(spans, key=lambda span: -span.last):
        if span.first < cut < span.last:
            cut = _find_line_end(text, span.first + 1) or span.first
    return cut


def _find_line_end(text: str, limit: int) -> int:
    """Return the place behind the last line end before the limit that no token continues over."""
    cut = last = text.rfind("\n", 0, limit) + 1
    for _ in range(_MAX_LINES):
        left = _read_visible(text[max(0, cut - 1 - _SAMPLE) : cut - 1])
        if not cut or not is_token_continued(left, _read_visible(text[cut : cut + _SAMPLE])):
            return cut
        cut = text.rfind("\n", 0, cut - 1) + 1
    return last  # so many lines of tokens in a row: one of them has to be cut


def _read_visible(text: str) -> str:
    return build_visible_layer(Layer(text)).text


def _truncate_secret(text: str, end: int) -> tuple[int, re.Pattern[str] | None]:
    """Return the cut in an endless secret and the pattern of its continuation, None if it ends after all."""
    if text[end:].strip():
        return end, None
    line = text.rfind("\n", 0, end) + 1
    return (line, _LINES) if line else (end, _LINE)


def _map_offset(layer: Layer, at: int, pending: str) -> int:
    return layer.map_to_original(at, at + 1)[0] if at < len(layer.text) else len(pending)


class _ChunkReader:
    """Reads chunks on demand. `is_exhausted` means that nothing follows `pending`."""

    def __init__(self, chunks: Iterable[str]) -> None:
        self._chunks = iter(chunks)
        self._unread = ""
        self.pending = ""
        self.position = 0
        self.is_exhausted = False

    def fill(self, size: int) -> bool:
        """Read until so many characters are pending; tell whether there are any."""
        parts = [self.pending, self._unread]
        length = sum(map(len, parts))
        exhausted = False
        while length <= size and not exhausted:
            chunk = next(self._chunks, None)
            exhausted = chunk is None
            parts.append(chunk or "")
            length += len(parts[-1])
        text = "".join(parts)
        self.pending, self._unread = text[:size], text[size:]
        self.is_exhausted = exhausted and not self._unread
        return bool(self.pending)

    def discard(self, count: int) -> None:
        """Forget the first pending characters."""
        self.pending = self.pending[count:]
        self.position += count
