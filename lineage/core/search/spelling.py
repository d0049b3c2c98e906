"""Mistyped words, and the nearest terms of an index."""

import re
from collections.abc import Iterable

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

    A term may be a stem. The rest of the word is then an English ending, possibly with a mistake too.

    >>> find_nearest("configuraton", ["configur", "contour", "figur"]), find_nearest("parsre", ["parser", "parsed"])
    (['configur'], ['parser'])
    """
    allowed = mistakes_allowed(word)
    letters = set(word)
    matches = []
    for term in terms if allowed else ():
        # Two cheap tests spare nearly all terms of an index the table of `edit_distance`.
        distance = abs(len(term) - len(word))
        if len(set(term) - letters) <= allowed and distance <= allowed + _MAX_ENDING:
            mistakes = _count_mistakes(word, term, allowed)
            if mistakes <= allowed:
                matches.append((mistakes, distance, term))
    best = min(matches, default=(0, 0, ""))[0]
    return [term for mistakes, _, term in sorted(matches)[:_MAX_RESULTS] if mistakes == best]


def _count_mistakes(word: str, term: str, allowed: int) -> int:
    """Return the number of mistakes in the word, taking the term for the whole word or for its stem."""
    if abs(len(term) - len(word)) <= allowed:
        mistakes = edit_distance(word, term, allowed)
        if mistakes <= allowed:
            return mistakes
    best = allowed + 1
    if len(term) < _MIN_STEM:
        return best
    for cut in range(len(term) - 1, min(len(term) + 2, len(word))):
        in_stem = edit_distance(word[:cut], term, allowed)
        if in_stem < best:
            in_ending = min(edit_distance(word[cut:], ending, allowed) for ending in _ENDINGS)
            if in_ending <= len(word[cut:]) // 3:
                best = min(best, in_stem + in_ending)
    return best


def edit_distance(one: str, other: str, max_distance: int) -> int:
    """Return the number of wrong, missing, extra or swapped letters, at most `max_distance` + 1.

    >>> edit_distance("parsre", "parser", 2), edit_distance("abc", "xyz", 2)
    (1, 3)
    """
    if abs(len(one) - len(other)) > max_distance:
        return max_distance + 1
    previous: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        previous, before_previous, row = row, previous, [i]
        for j, other_letter in enumerate(other, 1):
            distance = min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (letter != other_letter))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == other_letter:
                distance = min(distance, before_previous[j - 2] + 1)
            row.append(distance)
        if min(row) > max_distance:
            return max_distance + 1
    return min(row[-1], max_distance + 1)
