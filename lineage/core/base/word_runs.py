"""Hashes of runs of words: two texts are compared without either (reliability: overlap).

A recall at a prompt compares with them too, so this imports no `re`: it refuses text that it can't split exactly.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
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
WORD, _OF_SIGNS, _OF_KANA = 15, 10, 6
_AROUND, _ENDS, _IN_NAMES = "\"'`*()[]{}<>,;!?", ".:", "._/\\~-"
_LINE = "0123456789-"  # of `users.py:12:30`
_MAX_PARTS, _MAX_WORDS = 8, 4  # between slashes, and words in one of them
_MARKUP = ("\\", "\x1b", "<", "&", "](", "%", "-\n", "|", "│")
_INVISIBLE = (
    *(0xAD, 0x34F, 0x180E, 0xFEFF),
    *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), *range(0xFE00, 0xFE10),
)  # fmt: skip
_WIDE = ((0x3040, 0x30FF), (0x3400, 0x9FFF), (0xF900, 0xFAFF), (0xAC00, 0xD7AF))


def hash_runs(words: Sequence[str]) -> Iterator[int]:
    """Yield the hash of each run of five words, in order."""
    return (hash_words(words[start : start + RUN_WORDS]) for start in range(len(words) - RUN_WORDS + 1))


def split_units(text: str, split_words: Callable[[str], list[str]]) -> tuple[list[str], list[int]]:
    """Return the words of a text, and for each the number of its unit: the parts of a path or an identifier have one.

    >>> split_units("Fixed in `src/users.py`.", lambda piece: split_plain_words(piece) or [])
    (['fixed', 'in', 'src', 'users', 'py'], [0, 1, 2, 2, 2])
    """
    words, units = list[str](), list[int]()
    for piece in text.split():
        own, first = split_words(piece), units[-1] + 1 if units else 0
        words += own
        units += [first] * len(own) if is_name(piece) else range(first, first + len(own))
    return words, units


def is_name(piece: str) -> bool:
    r"""Return whether what stands between two blanks is a path or an identifier.

    An address is none, nor is what a sentence could hide in: many parts, or many words in one part.

    >>> [is_name(one) for one in ("`src/v1/users.py:12:3-9`,", "http_status_code", r"C:\a\b.txt", "../docs)", "done.")]
    [True, True, True, True, False]
    >>> [is_name(one) for one in ("https://e.org/a_b", "evil.com/x.sh", "a=b/c", "never_run_the_tests_again")]
    [False, False, False, False]
    """
    core = piece.lstrip(_AROUND).rstrip(_AROUND + _ENDS)
    while core.rstrip(_LINE).endswith(":"):
        core = core.rstrip(_LINE)[:-1]
    core = core[2:] if core[1:2] == ":" else core
    parts = core.replace("\\", "/").split("/")
    is_plain = all((char.isalnum() and not _is_sign(char)) or char in _IN_NAMES for char in core)
    if not is_plain or len(parts) > _MAX_PARTS or not any(joint in core[1:] for joint in "/\\_."):
        return False
    return not (_is_host(parts) or any(_count_words(part) > _MAX_WORDS for part in parts))


def _is_host(parts: Sequence[str]) -> bool:
    """Return whether parts between slashes begin with what may be a host's name."""
    name, dot, last = parts[0].rpartition(".")
    return len(parts) > 1 and bool(name.strip(".") and dot) and last.isalpha() and len(last) > 1


def _count_words(part: str) -> int:
    return len(part.replace("_", " ").replace("-", " ").replace(".", " ").split())


def _is_sign(char: str) -> bool:
    return any(first <= ord(char) <= last for first, last in _WIDE)


def are_signs(words: Sequence[str]) -> bool:
    """Return whether all words are single signs of a script without spaces: a word has two of them and more."""
    return all(len(word) == 1 and _is_sign(word) for word in words)


def weigh(words: Sequence[str]) -> int:
    """Return what a run of words counts, `WORD`, or less for one of signs: a word of kana has the most."""
    if not are_signs(words):
        return WORD
    return _OF_KANA if all("\u3040" <= word <= "\u30ff" for word in words) else _OF_SIGNS


class SentenceRuns:
    """The hashes of a sentence that are looked for: its runs of three units and more."""

    __slots__ = ("_of_signs", "hashes")

    def __init__(self) -> None:
        self.hashes, self._of_signs = set[int](), set[int]()

    def add(self, words: Sequence[str], units: Sequence[object]) -> None:
        """Look for a run, or for a short sentence."""
        if len({*units}) >= _MIN_SHORT_WORDS:
            run = hash_words(words)
            self.hashes.add(run)
            self._of_signs |= {run} if are_signs(words) else set()

    def are_in(self, printed: Collection[int]) -> bool:
        """Return whether the sentence repeats what was printed. Of many signs two runs say so: one may be a word."""
        found = self.hashes.intersection(printed)
        return not found <= self._of_signs or len(found) > (len(self._of_signs) >= SURE_WORDS)


def hash_sentences(sentences: Sequence[tuple[list[str], list[int]]], runs: Sequence[SentenceRuns]) -> None:
    """Look for the words of sentences, given with their units; runs from one into the next count for both.

    So a sentence that is cut into lines is found like a whole one. A single word of a sentence says nothing about it.
    """
    for own, (words, units) in zip(runs, sentences, strict=True):
        if is_short(words):
            own.add(words, units)
    joined = [(word, (place, unit)) for place, own in enumerate(sentences) for word, unit in zip(*own, strict=True)]
    for start in range(len(joined) - RUN_WORDS + 1):
        run, marks = zip(*joined[start : start + RUN_WORDS], strict=True)
        for place, count in Counter(place for place, _ in marks).items():
            if count > 1:
                runs[place].add(run, marks)


def hash_short(words: Sequence[str]) -> list[int]:
    """Return the hash of a line or sentence of three to seven words; none for any other."""
    return [hash_words(words)] if is_short(words) else []


def is_short(words: Sequence[str]) -> bool:
    """Return whether a line or sentence has three to seven words."""
    return _MIN_SHORT_WORDS <= len(words) < SURE_WORDS


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
