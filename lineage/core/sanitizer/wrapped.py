"""Readings of rows, the lines that a window or a margin cut at a width, and of the dumps of xxd, hexdump -C and od.

A row continues on the next one if it is full: no shorter than the next, with the same margin, cut within a word.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from lineage.core.sanitizer.layers import SEPARATOR, Layer, LayerBuilder, LayerEdit, rewrite_lines

_MIN_ROW_CHARS = 40
_MAX_ROW_CHARS = 250
_SAME_START = 4

_MARGIN = re.compile(
    r"(?P<time>\[?[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:]{8}(?:[.,][0-9]{1,9})?(?:Z|[+-][0-9]{2}:?[0-9]{2})?\]? )"
    r"|[ \t]{0,12}(?P<number>[0-9]{1,6})(?:→|\t|[:|│] )"
    r"|(?P<same>[A-Za-z][A-Za-z0-9_.-]{0,40}[ \t]{0,20}\| |[ \t]{0,40}(?:(?:[>│┃║|#*;]|//|--) )*)"
)
_BORDERS = "│┃║|"
_ODD = re.compile(r"[0-9]|[a-z][A-Z]|[A-Z]{4}")  # words are not worth a reading without the line end between them
_OWN_LINE = re.compile(
    r"(?:export )?[A-Za-z_][A-Za-z0-9_.-]{0,60}(?:[ \t]{0,8}:(?:[ \t]|\Z)|[ \t]{1,8}=|=(?!=|[\"'`]?(?:[\s,;)}\]]|\Z)))"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:|[0-9]{2}:[0-9]{2}:[0-9]{2}|[~.]{0,2}/[a-z]+/"
)
_RANDOM_HEAD = re.compile(
    r"(?=[^0-9]*[0-9])(?=.*[^0-9.,:/-])...|[A-Za-z]*[a-z][A-Z][A-Za-z]*[a-z][A-Z]|[a-z]*[A-Z]{2,}[a-z]"
)
_ROW_END = re.compile(r"[ \t│┃║|]*(?:\n|\Z)")
_WORD = re.compile(r"[^A-Za-z0-9]{0,2}(?:[A-Za-z]?[a-z]+|[A-Z]+)[.,;:!?)\]}]{0,2}")

_DUMP_ROW = re.compile(
    r"\n[ \t>│|]{0,8}[0-9A-Fa-f]{6,8}(?:: ((?:[0-9A-Fa-f]{2}){1,4}(?: (?:[0-9A-Fa-f]{2}){1,4}){0,31})(?=  |\n|\Z)"
    r"|  ?([0-9A-Fa-f]{2}(?: {1,2}[0-9A-Fa-f]{2}){0,31})(?=  [|>]| *(?:\n|\Z)))[^\n]*"
)


def join_rows(layer: Layer) -> Layer | None:
    r"""Join rows that a width cut, without the margins between them; None if there are none.

    >>> rows = "> the long line of the quotation says token=\"q7Zp\n> 4vLk9sXw\" and more"
    >>> join_rows(Layer(rows)).text
    '> the long line of the quotation says token="q7Zp4vLk9sXw" and more'
    """
    rows = rewrite_lines(layer, _find_cut_rows(layer.text), is_joined=True) if "\n" in layer.text else None
    if rows is not None:
        rows.has_rows = True
    return rows


def _find_cut_rows(text: str) -> Iterator[LayerEdit]:
    position = 0
    for left, right in pairwise(text.split("\n")):
        after = position + len(left) + 1
        if cut := find_row_cut(left, right):
            yield position + cut[0], after + cut[1], "", 0
        position = after


def find_row_cut(left: str, right: str) -> tuple[int, int] | None:
    """Return the end of the left row's content and the start of the right one's, None if they are apart."""
    if len(left) < _MIN_ROW_CHARS or not right:
        return None
    margin, following = _MARGIN.match(left), _MARGIN.match(right)
    if not margin or not following or not _is_same_margin(margin, following):
        return None
    begin, end, start = margin.end(), len(left), following.end()
    if left[-1] in _BORDERS and left[-1] in margin[0]:
        end -= 2 if left[-2] == " " else 1
        right = right.rstrip(_BORDERS).rstrip()
    if not _MIN_ROW_CHARS <= end - begin <= _MAX_ROW_CHARS or not 0 < len(right) - start <= end - begin:
        return None
    if left[end - 1].isspace() or right[start].isspace() or _are_apart(left[begin:end], right[start:]):
        return None
    return end, start


def _are_apart(left: str, right: str) -> bool:
    """Tell whether the contents of two rows are words, two lines of one listing, or a line of its own."""
    tail, head = left.rsplit(None, 1)[-1], right.split(None, 1)[0]
    return (
        not (_ODD.search(tail) or _ODD.search(head))
        or left.startswith(right[:_SAME_START])
        or _OWN_LINE.match(right) is not None
    )


def _is_same_margin(left: re.Match[str], right: re.Match[str]) -> bool:
    if left["number"] and right["number"]:
        return int(right["number"]) == int(left["number"]) + 1
    return left.lastgroup == right.lastgroup and left["same"] == right["same"]


def is_row_continued(head: str, text: str, end: int) -> bool:
    """Tell whether the start of the last row in a match up to `end` looks like a part of a random token.

    It may be short and without a digit if it is all that its row holds.
    """
    return _RANDOM_HEAD.match(head) is not None or (_ROW_END.match(text, end) is not None and not is_word(head))


def is_word(text: str) -> bool:
    """Tell whether a part of a row is an ordinary word."""
    return _WORD.fullmatch(text) is not None


def decode_dumps(layer: Layer) -> Layer | None:
    r"""Return a layer of the bytes of hex dumps, each row one piece; None if there are none.

    >>> decode_dumps(Layer("00000000: 6b65 793d 3132 3334  key=1234\n00000008: 3536  56")).text
    'key=123456'
    """
    text = "\n" + layer.text
    builder, until = LayerBuilder(layer), -1
    for match in _DUMP_ROW.finditer(text):
        if 0 <= until < match.start():
            builder.insert(SEPARATOR)
        until = match.end()
        decoded = bytes.fromhex(match[1] or match[2]).decode("latin-1").replace("\x1e", " ")
        builder.replace(decoded, match.start(), until - 1)
    return builder.build() if until >= 0 else None
