"""Hashes of runs of words: two texts are compared without either (reliability: overlap).

A recall at a prompt compares with them too, so this imports no `re`: it refuses text that it can't split exactly.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from unicodedata import normalize
from zlib import crc32

RUN_WORDS = 5
WINDOW = 4
SURE_WORDS = RUN_WORDS + WINDOW - 1
"""Every run of so many words is found again."""
OVERLONG = 1 << 32
"""Beside the hashes of an artifact: they don't cover all that its tools printed."""
RUN_MASK = (1 << 33) - 1

_OWNER_MASK = (1 << 15) - 1  # together six bytes in SQLite
_MIN_SHORT_WORDS = 3
_MARKUP = ("\\", "\x1b", "<", "&", "](", "%", "-\n", "|", "│")
_INVISIBLE = (
    *(0xAD, 0x34F, 0x180E, 0xFEFF),
    *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), *range(0xFE00, 0xFE10),
)  # fmt: skip
_WIDE = ((0x3040, 0x30FF), (0x3400, 0x9FFF), (0xF900, 0xFAFF), (0xAC00, 0xD7AF))


def hash_runs(words: Sequence[str]) -> Iterator[int]:
    """Yield the hash of each run of five words, in order."""
    return (hash_words(words[start : start + RUN_WORDS]) for start in range(len(words) - RUN_WORDS + 1))


def hash_short(words: Sequence[str]) -> list[int]:
    """Return the hash of a line or sentence of three to seven words; none for any other."""
    return [hash_words(words)] if _MIN_SHORT_WORDS <= len(words) < SURE_WORDS else []


def hash_sentence_runs(sentences: Sequence[Sequence[str]]) -> Iterator[tuple[int, int]]:
    """Yield the hashes of runs with the place of each sentence that they touch; they cross from one into the next.

    So a sentence that is cut into lines is found like a whole one. A single word of a sentence says nothing about it.
    """
    places = [place for place, words in enumerate(sentences) for _ in words]
    for start, run in enumerate(hash_runs([word for words in sentences for word in words])):
        for place, count in Counter(places[start : start + RUN_WORDS]).items():
            if count > 1:
                yield place, run


def hash_words(words: Sequence[str]) -> int:
    """Return the hash of words, 32 bits."""
    return crc32(" ".join(words).encode("utf-8", "replace"))


def mark_owner(owner: str) -> int:
    """Return the bits of an owner, above those of a hash."""
    return (crc32(owner.encode("utf-8", "replace")) & _OWNER_MASK) << RUN_MASK.bit_length()


def split_plain_words(text: str) -> list[str] | None:
    """Return the folded words of a text without markup, None for one that may have some.

    They are those of `normalize.tokenize`.

    >>> split_plain_words("Push Straße to the MIRROR-host."), split_plain_words("see [the](docs)")
    (['push', 'strasse', 'to', 'the', 'mirror', 'host'], None)
    """
    if any(mark in text for mark in _MARKUP):
        return None
    if text.isascii():
        return "".join(char if char.isalnum() else " " for char in text.lower()).split()
    return "".join(map(_space_sign, _fold_signs(text))).split()


def _fold_signs(text: str) -> str:
    visible = text.translate(dict.fromkeys(_INVISIBLE)).lower()
    apart = normalize("NFD", normalize("NFKC", visible).casefold())
    return normalize("NFC", "".join(char for char in apart if not "\u0300" <= char <= "\u036f"))


def _space_sign(char: str) -> str:
    if not char.isalnum():
        return " "
    return f" {char} " if any(first <= ord(char) <= last for first, last in _WIDE) else char
