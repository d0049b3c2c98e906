"""File names that are one on every system: some ignore case, compose letters or reserve device names."""

import re
import unicodedata

from lineage.errors import InvalidInput

DEVICE_NAME = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)
DEVICE_MARK = "~-"

_MAX_BYTES = 200  # leaves room for the suffixes of books and sync clients within 255
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._-")
_ESCAPED = re.compile(r"~(?:0([0-9a-f]+)~|([a-z])|(_)|(-))")


def escape_name(name: str, *, dots: bool = True) -> str:
    """Return a name as one part of a path, unique on every file system. Without `dots` these are escaped too.

    Raises InvalidInput for an empty or overlong name.

    >>> [escape_name(name) for name in ("ann", "Ann", "ann.", "con.x", "..", "a/b", "日本")]
    ['ann', '~ann', 'ann~_', '~-con.x', '~02e~~_', 'a~02f~b', '日本']
    """
    is_composed = unicodedata.is_normalized("NFC", name)
    last = len(name.rstrip("."))
    parts = [_escape_character(char, index, last, dots, is_composed) for index, char in enumerate(name)]
    escaped = (DEVICE_MARK if DEVICE_NAME.match(name) else "") + "".join(parts)
    if not name or len(escaped.encode()) > _MAX_BYTES:
        raise InvalidInput(f"not a name for a book: {name[:60]!r}", hint="use a name of 1–60 characters")
    return escaped


def _escape_character(char: str, index: int, last: int, dots: bool, is_composed: bool) -> str:
    if char == "." and (index == 0 or not dots):
        return "~02e~"
    if char == ".":
        return char if index < last else "~_"
    if char.isascii() and char.isupper():
        return "~" + char.lower()
    if char in _PLAIN or (is_composed and not char.isascii() and char.isalpha() and char.casefold() == char):
        return char
    return f"~0{ord(char):x}~"


def unescape_name(part: str) -> str:
    """Return the name that `escape_name` escaped. Other text gives an arbitrary name: compare its escaped form."""

    def unescape(match: re.Match[str]) -> str:
        code, letter, dot, _ = match.groups()
        if code:
            return chr(int(code, 16)) if len(code) < 7 and int(code, 16) <= 0x10FFFF else match[0]
        return letter.upper() if letter else "." if dot else ""

    return _ESCAPED.sub(unescape, part)
