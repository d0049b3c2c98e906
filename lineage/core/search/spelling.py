"""Words that were mistyped: which of those that an index knows is meant."""

import re
from collections.abc import Iterable

_MIN_LENGTH, _LONG_LENGTH = 4, 8  # letters: shorter words are taken as they are, longer ones may have two mistakes
_MAX_RESULTS = 3
_MIN_STEM = 5
_PLAIN = re.compile(r"[^\W\d_]+")
_ENDINGS = (
    "s", "es", "ed", "er", "ers", "ing", "ings", "ion", "ions", "ation", "ations", "ment", "ments", "able", "ness",
    "ity", "ly", "al", "ive", "ful", "e", "ance", "ence", "ator", "ating", "ated", "izing", "ized", "ization",
)  # fmt: skip


def mistakes_allowed(word: str) -> int:
    """How many letters of a word may be wrong.

    >>> [mistakes_allowed(word) for word in ("tar", "parser", "configuration", "utf8")]
    [0, 1, 2, 0]
    """
    if len(word) < _MIN_LENGTH or not _PLAIN.fullmatch(word):
        return 0
    return 1 if len(word) < _LONG_LENGTH else 2


def find_nearest(word: str, terms: Iterable[str]) -> list[str]:
    """The terms with the fewest mistakes, at most three, in order. A term may be a stem of what is meant: then what the
    word has beyond it is an ending, which may have a mistake too.

    >>> find_nearest("configuraton", ["configur", "contour", "figur"]), find_nearest("parsre", ["parser", "parsed"])
    (['configur'], ['parser'])
    """
    allowed = mistakes_allowed(word)
    letters = set(word)
    found = []
    for term in terms:
        if (
            allowed
            and len(set(term) - letters) <= allowed
            and abs(len(term) - len(word)) <= allowed + len(max(_ENDINGS, key=len))
        ):
            mistakes = _count_mistakes(word, term, allowed)
            if mistakes <= allowed:
                found.append((mistakes, abs(len(term) - len(word)), term))
    best = min(found, default=(0, 0, ""))[0]
    return [term for mistakes, _, term in sorted(found)[:_MAX_RESULTS] if mistakes == best]


def _count_mistakes(word: str, term: str, allowed: int) -> int:
    """Mistakes in the word if the term is meant, or its stem."""
    if abs(len(term) - len(word)) <= allowed:
        whole = edit_distance(word, term, allowed)
        if whole <= allowed:
            return whole
    if len(term) < _MIN_STEM:
        return allowed + 1
    least = allowed + 1
    for cut in range(len(term) - 1, min(len(term) + 2, len(word))):
        stem = edit_distance(word[:cut], term, allowed)
        if stem < least:
            ending = min(edit_distance(word[cut:], ending, allowed) for ending in _ENDINGS)
            if ending <= len(word[cut:]) // 3:
                least = min(least, stem + ending)
    return least


def edit_distance(one: str, other: str, max_distance: int) -> int:
    """How many letters are wrong, missing, too many or swapped with their neighbour; `most` + 1 for any that are more.

    >>> edit_distance("parsre", "parser", 2), edit_distance("abc", "xyz", 2)
    (1, 3)
    """
    if abs(len(one) - len(other)) > max_distance:
        return max_distance + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, above, row = row, before, [i]
        for j, there in enumerate(other, 1):
            least = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != there))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == there:
                least = min(least, above[j - 2] + 1)
            row.append(least)
        if min(row) > max_distance:
            return max_distance + 1
    return min(row[-1], max_distance + 1)
