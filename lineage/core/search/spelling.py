"""Mistyped words, and the nearest terms of an index."""

import re
from collections.abc import Iterable
from typing import Any

_MIN_LENGTH, _LONG_LENGTH = 4, 8  # letters: a shorter word has no mistake, a long one may have two
_MAX_RESULTS = 3
_MIN_STEM = 5
_PLAIN = re.compile(r"[^\W\d_]+")
_ENDINGS = (
    "s", "es", "ed", "er", "ers", "ing", "ings", "ion", "ions", "ation", "ations", "ment", "ments", "able", "ness",
    "ity", "ly", "al", "ive", "ful", "e", "ance", "ence", "ator", "ating", "ated", "izing", "ized", "ization",
)  # fmt: skip
_MAX_ENDING = max(map(len, _ENDINGS))


def mistakes_allowed(word: str) -> int:
    """Return the number of mistakes that a word may have.

    >>> [mistakes_allowed(word) for word in ("tar", "parser", "configuration", "utf8")]
    [0, 1, 2, 0]
    """
    if len(word) < _MIN_LENGTH or not _PLAIN.fullmatch(word):
        return 0
    return 1 if len(word) < _LONG_LENGTH else 2


def find_nearest(word: str, terms: Iterable[str]) -> list[str]:
    """Return the terms with the fewest mistakes in the word, at most three, sorted.

    A mistake is a wrong, missing, extra or swapped letter. A term may be a stem. The rest of the word is then an
    English ending, possibly with a mistake too.

    >>> find_nearest("configuraton", ["configur", "contour", "figur"]), find_nearest("parsre", ["parser", "parsed"])
    (['configur'], ['parser'])
    """
    if not (allowed := mistakes_allowed(word)):
        return []
    from rapidfuzz import distance, process  # noqa: PLC0415 - takes as long as a search, and most words are found

    scorer: Any = distance.OSA.distance  # the library's types ask for more digits than its counts have

    def find(start: str, among: Iterable[str], most: int) -> list[tuple[str, int]]:
        found = process.extract(start, among, scorer=scorer, score_cutoff=most, limit=None)
        return [(term, int(mistakes)) for term, mistakes, _ in found]

    words = list(terms)
    stems = [term for term in words if len(term) >= _MIN_STEM]
    mistakes = dict(find(word, words, allowed))
    for cut in range(max(_MIN_STEM - 1, len(word) - _MAX_ENDING - 1), len(word)):
        in_ending = min((each for _, each in find(word[cut:], _ENDINGS, len(word[cut:]) // 3)), default=allowed + 1)
        for term, in_stem in find(word[:cut], stems, allowed - in_ending) if in_ending <= allowed else ():
            if abs(len(term) - cut) <= 1:
                mistakes[term] = min(mistakes.get(term, in_stem + in_ending), in_stem + in_ending)
    fewest = min(mistakes.values(), default=0)
    best = [term for term, count in mistakes.items() if count == fewest]
    return sorted(best, key=lambda term: (abs(len(term) - len(word)), term))[:_MAX_RESULTS]
