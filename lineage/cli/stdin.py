"""A text as an argument, or on stdin."""

import sys
from collections.abc import Sequence

from lineage.errors import InvalidInput

_MAX_BYTES = 1 << 20


def read_text_argument(words: Sequence[str]) -> str:
    """The words as one text; stdin's where they are a lone `-`. Raises InvalidInput where that is no UTF-8 text, or
    more than a mebibyte."""
    if list(words) != ["-"]:
        return " ".join(words)
    data = sys.stdin.buffer.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise InvalidInput("stdin holds more than 1 MB", hint="an entry has up to 4,000 characters; give the gist")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput("stdin holds no UTF-8 text", hint="convert it first") from error
