"""From the words of a query to an FTS5 expression: every word is quoted, so nothing that was typed is syntax.

FTS5 scores every row that matches, so common words cost. Where there are many, a row has to hold a rare word, or two
that are less rare: the same is found, in a tenth of the time. (design: df budget)
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lineage.core.body import cleaned
from lineage.core.query import words_of
from lineage.core.segmentation import segmented

BUDGET = 2_000
"""How many rows the rarest words may have together to be looked up each by itself."""
COMMON = 12_000
"""Words in more rows than this have no part in the ranking while there are others."""
_MOST_PAIRED = 6


@dataclass(frozen=True, slots=True)
class Term:
    """A word with what it is looked up by, and in how many rows that is; `COMMON` + 1 for any more."""

    word: str
    expression: str
    count: int = 0


def quoted(text: str) -> str:
    """
    >>> quoted('src/app.py')
    '"src/app.py"'
    """
    return f'"{segmented(cleaned(text)).replace(chr(34), " ").replace(chr(0), " ")}"'


def any_of(expressions: Iterable[str]) -> str:
    """
    >>> any_of(['"row"', '"rows"']), any_of(['"row"'])
    ('("row" OR "rows")', '"row"')
    """
    found = list(dict.fromkeys(expressions))
    return found[0] if len(found) == 1 else f"({' OR '.join(found)})"


def match_expression(text: str) -> str | None:
    """The words of a text, OR-ed; None where it has no word.

    >>> match_expression('split() NEAR "last line"')
    '"split" OR "NEAR" OR "last" OR "line"'
    """
    return " OR ".join(map(quoted, words_of(text))) or None


def pruned(terms: Sequence[Term]) -> str:
    """The expression whose rows are ranked: any of the words where they are in few rows, else rows with a rare word or
    with two of the less rare ones.

    >>> pruned([Term("a", '"a"', 5), Term("b", '"b"', 9000), Term("c", '"c"', 12000), Term("d", '"d"', 16001)])
    '"a" OR ("b" AND "c") OR ("a" AND ("b" OR "c"))'
    """
    if sum(term.count for term in terms) <= BUDGET:
        return " OR ".join(term.expression for term in terms)
    ordered = sorted(terms, key=lambda term: term.count)
    rare: list[str] = []
    left = BUDGET
    for term in ordered:
        if term.count <= left:
            left -= term.count
            rare.append(term.expression)
    others = ordered[len(rare) :]
    paired = [term.expression for term in others if term.count <= COMMON] if rare or len(others) > 1 else []
    paired = (paired or ([] if rare else [term.expression for term in others]))[:_MOST_PAIRED]
    if not rare and len(paired) == 1:
        return paired[0]
    pairs = [f"({one} AND {any_of(paired[place + 1 :])})" for place, one in enumerate(paired[:-1])]
    scored = [f"({any_of(rare)} AND {any_of(paired)})"] if rare and paired else []
    return " OR ".join([*rare, *pairs, *scored])


def bounded(expression: str, phrases: Sequence[str], without: Sequence[str]) -> str:
    """The expression with what has to be there and what must not; "" where that is nothing.

    >>> bounded('"row"', ["last line"], ["draft"])
    '(("last line") AND ("row" OR "last line")) NOT "draft"'
    """
    if phrases:
        needed = [quoted(phrase) for phrase in phrases]
        ranked = [expression] if expression else []
        expression = f"({' AND '.join(needed)}) AND ({' OR '.join([*ranked, *needed])})"
    return f"({expression}) NOT {any_of(map(quoted, without))}" if expression and without else expression


def shown(terms: Sequence[Term]) -> str:
    """What a snippet is made for: the words that took part in `pruned`."""
    taken = [term for term in terms if term.count <= COMMON] or terms
    return " OR ".join(term.expression for term in taken)
