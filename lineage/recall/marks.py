"""What tells a recalled text again: its names and phrases, as numbers. Both the hook and a capture count them."""

from zlib import crc32

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_RUN = 5  # words that nobody says by chance
_MIN_NAME = 4
_AROUND = "\"'`.,:;!?()[]{}<>*“”‘’…"


def mark_text(text: str) -> set[int]:
    """Return the hashes of a text's paths, identifiers and runs of five words, whatever their case.

    >>> sorted(mark_text("See `core/hooks.py`.")) == sorted(mark_text("in core/hooks.py:"))
    True
    >>> mark_text("so be it") | mark_text("read/write and/or 2026")
    set()
    """
    return {crc32(mark.lower().encode("utf-8", "replace")) for mark in _iter_marks(text)}


def _iter_marks(text: str) -> "Iterator[str]":
    words = [word for part in text.split() if (word := part.strip(_AROUND))]
    yield from filter(_is_name, words)
    yield from (" ".join(words[start : start + _RUN]) for start in range(len(words) - _RUN + 1))


def _is_name(word: str) -> bool:
    """Return whether a word is one of code: a path, a file, an option, an identifier."""
    if len(word) < _MIN_NAME or not any(map(str.isalpha, word)):
        return False
    inner = word[1:]
    has_case = inner != inner.lower() and inner != inner.upper()
    return has_case or "_" in inner or "." in inner or word.count("/") > 1 or any(map(str.isdigit, word))
