"""Fingerprints of text that a transcript leaves out: enough to find eight of its words in a row again, and no word.

Runs of five words are hashed to 32 bits; of any four hashes in a row the smallest stays (winnowing), so that every
shared run of eight words shares a fingerprint. (reliability: overlap).
"""

import base64
import re
import struct
import zlib
from collections import deque
from collections.abc import Iterator

RUN_WORDS = 5
WINDOW = 4
MAX_CHARS = 1_000_000

_WORD = re.compile(r"\w+")


def compute_fingerprints(text: str) -> frozenset[int]:
    """Return the fingerprints of the first million characters of a text; none below eight words."""
    return frozenset(_winnow(_iter_hashes(text[:MAX_CHARS])))


def compute_all_hashes(text: str) -> frozenset[int]:
    """Return the hashes of all runs of five words, to look for in another text's fingerprints."""
    return frozenset(_iter_hashes(text))


def encode_fingerprints(fingerprints: frozenset[int]) -> str:
    """Return fingerprints as base64 of their bytes, sorted; "" for none."""
    return base64.b64encode(b"".join(struct.pack(">I", value) for value in sorted(fingerprints))).decode()


def decode_fingerprints(text: str) -> frozenset[int]:
    """Return the fingerprints in a text of `encode_fingerprints`. Raise ValueError for any other text."""
    data = base64.b64decode(text, validate=True)
    if len(data) % 4:
        raise ValueError("fingerprints have four bytes each")
    return frozenset(value for (value,) in struct.iter_unpack(">I", data))


def _iter_hashes(text: str) -> Iterator[int]:
    words = deque[str](maxlen=RUN_WORDS)
    for match in _WORD.finditer(text.casefold()):
        words.append(match[0])
        if len(words) == RUN_WORDS:
            yield zlib.crc32(" ".join(words).encode("utf-8", "replace"))


def _winnow(hashes: Iterator[int]) -> Iterator[int]:
    window = deque[int](maxlen=WINDOW)
    for value in hashes:
        window.append(value)
        if len(window) == WINDOW:
            yield min(window)
