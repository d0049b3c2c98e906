"""Hashes of runs of words: two texts are compared without either (reliability: overlap).

A recall at a prompt compares with them too, so this imports no `re`: it refuses text that it can't split exactly.
"""

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
_ENDS, _LINE = ".:", "0123456789-"  # behind a name, and the numbers of its lines
_MAX_NAME, _MAX_WORDS, _MAX_PLAIN, _MAX_JOINED = 120, 10, 4, 3  # signs, words, of a folder, without a slash
_FEW_SIGNS = 8
# What stands between blanks is cut at quotation marks and brackets, too: no word goes on behind them.
_OPENING = "\"'`([{<“‘«‹「『【（"
_CUTS = str.maketrans(dict.fromkeys("\"'`()[]{}<>*,;!?“”‘’‚„«»‹›「」『』（）【】、。，；！？", " "))
_MARKUP = ("\\", "\x1b", "<", "&", "](", "%", "-\n", "|", "│")
_INVISIBLE = (
    *(0xAD, 0x34F, 0x180E, 0xFEFF),
    *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), *range(0xFE00, 0xFE10),
)  # fmt: skip
_WIDE = ((0x3040, 0x30FF), (0x3400, 0x9FFF), (0xF900, 0xFAFF), (0xAC00, 0xD7AF))


def hash_runs(words: Sequence[str]) -> Iterator[int]:
    """Yield the hash of each run of five words, in order."""
    return (hash_words(words[start : start + RUN_WORDS]) for start in range(len(words) - RUN_WORDS + 1))


def split_units(folded: str, split_words: Callable[[str], list[str]]) -> tuple[list[str], list[int]]:
    """Return the words of a folded text, and for each the number of its unit: the words of a name have one together.

    >>> split_units("fixed in `src/users.py`.", split_folded)
    (['fixed', 'in', 'src', 'users', 'py'], [0, 1, 2, 2, 2])
    """
    words, units = list[str](), list[int]()
    for piece, is_unit in iter_pieces(folded):
        own, first = split_words(piece), units[-1] + 1 if units else 0
        words += own
        units += [first] * len(own) if is_unit else range(first, first + len(own))
    return words, units


def iter_pieces(folded: str) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a folded text, and whether each is a name.

    They are cut at blanks, quotation marks, brackets and the signs of scripts without spaces; no address is.
    """
    for chunk in folded.split():
        cut, end = chunk.translate(_CUTS), 0
        if not cut.isascii():
            cut = "".join(f" {char} " if _is_sign(char) else char for char in cut)
        for piece in cut.split():
            start = chunk.find(piece, end)
            end = start + len(piece)
            is_tail = start > 0 and piece[0] in "/." and chunk[start - 1] not in _OPENING
            yield piece, "://" not in chunk and not is_tail and is_name(piece)


def is_name(piece: str) -> bool:
    r"""Return whether a folded piece of a text is a path or an identifier, which is one word however many it joins.

    What may be an address is none, nor is what a sentence could hide in.

    >>> [is_name(one) for one in ("src/api/v1/users.py:12:3-9", "http_status_code", r"c:\a\b.txt", "../docs.", "done.")]
    [True, True, True, True, False]
    >>> [is_name(one) for one in ("https://e.org/a_b", "evil.com/x.sh", "10.0.0.7/x", "a=b/c", "never_run_the_tests")]
    [False, False, False, False, False]
    """
    if piece.isalnum() or len(piece) > _MAX_NAME:  # most are plain words
        return False
    path = piece.rstrip(_ENDS)
    while path.rstrip(_LINE).endswith(":"):
        path = path.rstrip(_LINE)[:-1]
    path = path.replace("\\", "/")
    if path[1:3] == ":/":
        path = path[3:]
    parts = [part for part in path.removeprefix("~").split("/") if part.strip(".")]
    is_plain = all(char.isalnum() or char in "._-/" for char in path.removeprefix("~"))
    if not (is_plain and any(joint in path[1:] for joint in "/_.")) or _may_be_host(path):
        return False
    counts = [len(part.replace("_", " ").replace("-", " ").replace(".", " ").split()) for part in parts]
    is_flag = any(part.startswith("-") for part in parts)
    if sum(counts) > _MAX_PLAIN and "." not in parts[-1]:  # a sentence could stand in folders; a file has a type
        return False
    return 0 < sum(counts) <= _MAX_WORDS and not is_flag and (len(parts) > 1 or counts[0] <= _MAX_JOINED)


def _may_be_host(path: str) -> bool:
    """Return whether a path may be an address: it begins with a name that has a dot in it, or with two slashes."""
    first, slash, _ = path.partition("/")
    return path.startswith("//") or first == "localhost" or (bool(slash) and "." in first.strip("."))


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
    """The hashes of a sentence that are looked for: of runs of three units and more, and of a short sentence."""

    __slots__ = ("_of_signs", "hashes")

    def __init__(self) -> None:
        self.hashes, self._of_signs = set[int](), set[int]()

    def add(self, words: Sequence[str], units: Sequence[object]) -> None:
        """Look for a run, or for a short sentence. A word before a path says nothing."""
        if len({*units}) >= _MIN_SHORT_WORDS:
            run = hash_words(words)
            self.hashes.add(run)
            self._of_signs |= {run} if are_signs(words) else set()

    def are_in(self, printed: Collection[int]) -> bool:
        """Return whether the sentence repeats what was printed. Of many signs two runs say so: one may be a word."""
        found = self.hashes.intersection(printed)
        return not found <= self._of_signs or len(found) > (len(self._of_signs) >= _FEW_SIGNS)


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
        places = [place for place, _ in marks]
        for place in {*places}:
            if places.count(place) > 1:
                runs[place].add(run, marks)


def is_short(words: Sequence[str]) -> bool:
    """Return whether a line or sentence has three to seven words."""
    return _MIN_SHORT_WORDS <= len(words) < SURE_WORDS


def hash_words(words: Sequence[str]) -> int:
    """Return the hash of words, 32 bits."""
    return crc32(" ".join(words).encode("utf-8", "replace"))


def mark_owner(owner: str) -> int:
    """Return the bits of an owner, above those of a hash."""
    return (crc32(owner.encode("utf-8", "replace")) & _OWNER_MASK) << RUN_MASK.bit_length()


def fold_plain(text: str) -> str | None:
    """Return a text without markup, folded, None for one that may have some.

    Its words by `split_folded` are those of `normalize.tokenize`.

    >>> split_folded(fold_plain("Push Straße to the MIRROR-host.") or ""), fold_plain("see [the](docs)")
    (['push', 'strasse', 'to', 'the', 'mirror', 'host'], None)
    """
    if any(mark in text for mark in _MARKUP):
        return None
    return text.lower() if text.isascii() else _fold_signs(text)


def split_folded(folded: str) -> list[str]:
    """Return the words of a folded text."""
    if folded.isascii():  # a hook splits many such texts: they have no sign that is a word
        return "".join(char if char.isalnum() else " " for char in folded).split()
    return "".join(map(_space_sign, folded)).split()


def _fold_signs(text: str) -> str:
    visible = text.translate(dict.fromkeys(_INVISIBLE)).lower()
    apart = normalize("NFD", normalize("NFKC", visible).casefold())
    return normalize("NFC", "".join(char for char in apart if not "\u0300" <= char <= "\u036f"))


def _space_sign(char: str) -> str:
    if _is_sign(char):
        return f" {char} "
    return char if char.isalnum() else " "
