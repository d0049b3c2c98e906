"""Layers of a text: decoded readings for the rules, each with a map of its places back to the text itself.

A layer is a text made of another one: invisible characters left out, fullwidth letters folded, escapes decoded. It
records the origin of each of its pieces.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain

# Between parts of a layer that are apart in the one below. A match ends here: unrelated text follows.
SEPARATOR = "\n\x1e\n"

# A piece without a place for each of its characters: any of them stands for the whole piece below.
_OPAQUE = 0
_PREVIEW_CHARS = 64

_TERMINAL = r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n\r]*(?:\x07|\x1b\\)?|\x1b[@-Z\\^_]"
_NEEDS_NORMALIZING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_NORMALIZED_AWAY = re.compile(
    r"\r\n?|[\ud800-\udfff]|\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n\r]*(?:\x07|\x1b\\)?|[@-Z\\^_])"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)
_INVISIBLE = (
    r"[\x00-\x08\x0b-\x1d\x1f\x7f-\x84\x86-\x9f\xad\u0300-\u036f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    r"\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]+"
)
_HIDDEN = re.compile(f"{_TERMINAL}|{_INVISIBLE}")
_INVISIBLE_CHARACTER = re.compile(_INVISIBLE.rstrip("+"))
_FOLDED = re.compile(
    r"[\x85\xa0\xb2\xb3\xb9\u1680\u2000-\u200a\u2010\u2011\u2018-\u201f\u2028\u2029\u202f\u2032-\u2033\u205f"
    r"\u2070-\u2089\u2102-\u2134\u2212\u2460-\u2468\u24b6-\u24e9\u3000\ufe55\ufe63\uff01-\uff5e\U0001d400-\U0001d7ff\U0001f130-\U0001f189]+"
)


class Layer:
    """A text and the origin of its pieces in the layer below; the lowest layer has no pieces.

    Piece i begins at `starts[i]`; `pieces[i]` is its begin and end in the text below and its stride: so many characters
    below for each of its own, or, with stride 0, the whole for any of them. The pieces of a joined layer stood apart in
    the layer below: the text between them was no part of a token. One that `has_rows` joins rows that a width cut.
    """

    __slots__ = ("below", "has_rows", "is_joined", "pieces", "starts", "text")

    def __init__(self, text: str, below: "Layer | None" = None, is_joined: bool = False) -> None:
        self.text = text
        self.below = below
        self.is_joined = is_joined
        self.has_rows = False
        self.starts: list[int] = []
        self.pieces: list[tuple[int, int, int]] = []

    @property
    def has_joined_layer(self) -> bool:
        """Tell whether this layer or one below it is joined."""
        return self.is_joined or (self.below is not None and self.below.has_joined_layer)

    def map_to_original(self, start: int, end: int) -> tuple[int, int]:
        """Return the place of a non-empty span in the lowest layer: the smallest range that covers its origin."""
        layer: Layer | None = self
        while layer is not None:
            start, end = layer._map_down(start, end)
            layer = layer.below
        return start, end

    def map_match(self, first: int, start: int, end: int, last: int) -> tuple[int, int, int, int]:
        """Return the places of a match, from `first` to `last`, and of its finding in the lowest layer."""
        layer: Layer | None = self
        while layer is not None:
            if starts := layer.starts:
                piece = bisect_right(starts, first, 1) - 1
                begin, until, stride = layer.pieces[piece]
                shift = begin - starts[piece]
                if stride > 1 or bisect_left(starts, last, piece + 1) - 1 > piece:
                    (start, end), (first, last) = layer._map_down(start, end), layer._map_down(first, last)
                elif stride == _OPAQUE:
                    first, start, end, last = begin, begin, until, until
                else:
                    first, start, end, last = first + shift, start + shift, end + shift, last + shift
            layer = layer.below
        return first, start, end, last

    def get_lowest_text(self) -> str:
        """Return the text behind all layers: they are its readings."""
        return self.text if self.below is None else self.below.get_lowest_text()

    def iter_joins(self, start: int, end: int) -> Iterator[str]:
        """Yield the text behind each join in the span, in this layer and in those below."""
        layer: Layer | None = self
        while layer is not None:
            if layer.is_joined:
                for join in layer.starts[bisect_right(layer.starts, start) : bisect_left(layer.starts, end)]:
                    yield layer.text[join : min(end, join + _PREVIEW_CHARS)]
            start, end = layer._map_down(start, end)
            layer = layer.below

    def _map_down(self, start: int, end: int) -> tuple[int, int]:
        if not (starts := self.starts):
            return start, end
        first = bisect_right(starts, start, 1) - 1
        begin, until, stride = self.pieces[first]
        if stride == 1 and end - starts[first] <= until - begin:
            return start - starts[first] + begin, end - starts[first] + begin
        last = bisect_right(starts, end - 1, first + 1) - 1
        start = begin + (start - starts[first]) * stride
        begin, until, stride = self.pieces[last]
        return start, until if stride == _OPAQUE else min(until, begin + (end - starts[last]) * stride)


class LayerBuilder:
    """Builds a layer of pieces of the layer below, in order, as they are or replaced."""

    def __init__(self, below: Layer, *, is_joined: bool = False) -> None:
        self._below = below.text
        self._layer = Layer("", below, is_joined)
        self._parts: list[str] = []
        self._length = 0

    def copy(self, start: int, end: int) -> None:
        """Take over this part of the layer below as it is."""
        if start < end:
            self.replace(self._below[start:end], start, end, 1)

    def replace(self, text: str, start: int, end: int, stride: int = _OPAQUE) -> None:
        """Add the text that replaces this part of the layer below."""
        if text:
            self._layer.starts.append(self._length)
            self._layer.pieces.append((start, end, stride))
            self._parts.append(text)
            self._length += len(text)

    def insert(self, text: str) -> None:
        """Add text without an origin below."""
        self._parts.append(text)
        self._length += len(text)

    def build(self) -> Layer:
        """Return the layer of all pieces."""
        self._layer.text = "".join(self._parts)
        return self._layer


# Start and end of a part of a layer, its replacement, and its stride (see `Layer`).
LayerEdit = tuple[int, int, str, int]


def rewrite(layer: Layer, edits: Iterable[LayerEdit]) -> Layer | None:
    """Return the layer with all edits in their order; None if there are none."""
    builder, position, changed = LayerBuilder(layer), 0, False
    for start, end, text, stride in edits:
        builder.copy(position, start)
        builder.replace(text, start, end, stride)
        position, changed = end, True
    if not changed:
        return None
    builder.copy(position, len(layer.text))
    return builder.build()


def rewrite_lines(layer: Layer, edits: Iterator[LayerEdit], *, is_joined: bool = False) -> Layer | None:
    """Return a layer of the edited lines alone, with a separator between lines that were apart; None without edits."""
    if (edit := next(edits, None)) is None:
        return None
    full_text, builder, position, line_end = layer.text, LayerBuilder(layer, is_joined=is_joined), 0, 0
    for start, end, text, stride in chain((edit,), edits):
        if start >= line_end:
            line_start = full_text.rfind("\n", line_end, start) + 1 or line_end
            builder.copy(position, line_end)
            if 0 < line_end < line_start:
                builder.insert(SEPARATOR)
            position = line_start
        builder.copy(position, start)
        builder.replace(text, start, end, stride)
        position = end
        if end >= line_end:
            line_end = full_text.find("\n", end) + 1 or len(full_text)
    builder.copy(position, line_end)
    return builder.build()


def _normalize_match(match: re.Match[str]) -> str:
    first = match[0][0]
    return "\n" if first == "\r" else "\ufffd" if first >= "\ud800" else ""


def normalize_text(text: str) -> str:
    """Return text with LF line ends, without terminal sequences and control characters other than tab and newline.

    Lone surrogates become U+FFFD: they have no UTF-8.
    """
    return _NORMALIZED_AWAY.sub(_normalize_match, text) if _NEEDS_NORMALIZING.search(text) else text


def build_normalized_layer(text: str) -> Layer:
    """Return the normalized text as a layer above the text."""
    lowest = Layer(text)
    edits = ((*match.span(), _normalize_match(match), _OPAQUE) for match in _NORMALIZED_AWAY.finditer(text))
    return (rewrite(lowest, edits) if _NEEDS_NORMALIZING.search(text) else None) or lowest


def build_visible_layer(layer: Layer) -> Layer:
    r"""Return the detection view: nothing invisible, fullwidth and mathematical letters as ASCII.

    >>> build_visible_layer(Layer("ｋｅｙ\u200b=\xad1")).text
    'key=1'
    """
    if not layer.text.isascii() and _FOLDED.search(layer.text):
        layer = Layer(_FOLDED.sub(lambda match: match[0].translate(_build_fold_table()), layer.text), layer)
    if not _INVISIBLE_CHARACTER.search(layer.text):
        return layer
    return rewrite(layer, ((*match.span(), "", _OPAQUE) for match in _HIDDEN.finditer(layer.text))) or layer


@cache
def _build_fold_table() -> dict[int, str]:
    """Return the characters that are read as ASCII, one for one. The table is fixed: unicodedata's grow by version."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    both = letters + letters.lower()
    folds = {0xFF01 + i: chr(0x21 + i) for i in range(94)}
    folds |= {0x1D400 + i: both[i % 52] for i in range(13 * 52)}
    folds |= {0x1D7CE + i: str(i % 10) for i in range(50)}
    folds |= {0x24B6 + i: both[i] for i in range(52)}
    folds |= {base + i: letters[i] for base in (0x1F130, 0x1F150, 0x1F170) for i in range(26)}
    folds |= {0x2460 + i: str(i + 1) for i in range(9)}
    folds |= {0x2070 + i: str(i) for i in (0, *range(4, 10))} | {0x2080 + i: str(i) for i in range(10)}
    folds |= dict(zip(map(ord, "¹²³ℂℊℋℌℍℎℐℑℒℓℕℙℚℛℜℝℤℨℬℭℯℰℱℳℴ"), "123CgHHHhIILlNPQRRRZZBCeEFMo", strict=True))
    folds |= dict.fromkeys([0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000], " ")
    folds |= dict.fromkeys([0x85, 0x2028, 0x2029], "\n")
    folds |= dict.fromkeys([0x2010, 0x2011, 0x2212, 0xFE63], "-")
    folds |= dict.fromkeys([0x201C, 0x201D, 0x201E, 0x201F, 0x2033], '"')
    folds |= dict.fromkeys([0x2018, 0x2019, 0x201A, 0x201B, 0x2032], "'")
    return folds | {0xFE55: ":"}
