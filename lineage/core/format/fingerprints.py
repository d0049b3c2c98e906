"""Fingerprints of text: enough to find eight of its words in a row again, and no word (reliability: overlap).

Runs of five words are hashed to 32 bits; of any four hashes in a row the smallest stays (winnowing), so that every
shared run of eight words shares a fingerprint. A transcript holds those of the text that it leaves out, the index those
of all that tools printed.
"""

import base64
import re
import struct
from collections.abc import Iterator, Sequence

from lineage.core.base.normalize import tokenize_folded
from lineage.core.base.unwrap import fold_readings
from lineage.core.base.word_runs import RUN_WORDS, WINDOW, hash_words

MAX_CHARS = 1_000_000

_SHORT = re.compile(  # plain words from the beginning of a line or sentence to its end
    r"(?:^|[.!?…:] )[ \t>*#-]*((?:[^\W\d_]+[ ,'-]+){2,6}[^\W\d_]+)(?=[.!?…]?(?:\s|$))", re.MULTILINE
)


def compute_fingerprints(text: str) -> frozenset[int]:
    """Return the fingerprints of the first million characters of a text; none below eight words."""
    return winnow(tokenize_folded(fold_readings(text[:MAX_CHARS])))


def winnow(words: Sequence[str]) -> frozenset[int]:
    """Return the hashes of the runs that stay."""
    runs = zip(*(words[start:] for start in range(RUN_WORDS)), strict=False)
    hashes = list(map(hash_words, runs))
    return frozenset(map(min, *(hashes[start:] for start in range(WINDOW))))


def hash_short_sentences(folded: str) -> Iterator[int]:
    """Yield the hashes of lines and sentences of three to seven words: too short for a run of eight."""
    return (hash_words(tokenize_folded(sentence)) for sentence in _SHORT.findall(folded))


def encode_fingerprints(fingerprints: frozenset[int]) -> str:
    """Return fingerprints as base64 of their bytes, sorted; "" for none."""
    return base64.b64encode(b"".join(struct.pack(">I", value) for value in sorted(fingerprints))).decode()


def decode_fingerprints(text: str) -> frozenset[int]:
    """Return the fingerprints in a text of `encode_fingerprints`. Raise ValueError for any other text."""
    data = base64.b64decode(text, validate=True)
    if len(data) % 4:
        raise ValueError("fingerprints have four bytes each")
    return frozenset(value for (value,) in struct.iter_unpack(">I", data))
