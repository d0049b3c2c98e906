"""From the words of a query to an FTS5 expression: every word is quoted, so nothing that was typed is syntax.

FTS5 scores every row that matches, so common words cost. Where there are many rows, one has to hold a rare word, or two
that are less rare, to be scored at all: much the same is found in a fraction of the time. (design: df budget)
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from lineage.core.body import cleaned
from lineage.core.query import words_of
from lineage.core.segmentation import segmented
from lineage.index.texts import WEIGHTS

_MOST_PAIRED = 6


class Ranking(NamedTuple):
    """How much of the text is looked at, and what counts how much in it; the values were measured by scripts/eval.

    `budget` is how many rows the rarest words may have together to be looked up each by itself. Words in more rows than
    `common` choose no rows while there are others, and those in half of all rows don't count either: their BM25 weight
    is nothing. `weights` are a title's, a sentence's or tag's, and a body's. `decay` is what each next passage of a
    session counts of the one before it.
    """

    budget: int = 2_000
    common: int = 24_000
    weights: tuple[float, float, float] = WEIGHTS
    decay: float = 0.2


RANKING = Ranking()
EVERYWHERE = 1 << 40


class Term(NamedTuple):
    """A word with what it is looked up by, and how many `rows` that is in; one more than are common for any more, and
    `EVERYWHERE` for half of all."""

    word: str
    expression: str
    rows: int = 0


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


def pruned(terms: Sequence[Term], ranking: Ranking = RANKING) -> str:
    """The expression whose rows are ranked: any of the words where they are in few rows, else rows with a rare word or
    with two of the less rare ones, ranked by all words but those that are everywhere.

    >>> pruned([Term("a", '"a"', 5), Term("b", '"b"', 9000), Term("c", '"c"', 24000), Term("d", '"d"', 24001)])
    '("a" OR ("b" AND "c")) AND ("a" OR "b" OR "c" OR "d")'
    """
    ordered = sorted(terms, key=lambda term: term.rows)
    words = [term.expression for term in told_apart(ordered)]
    choosing = [term.expression for term in ordered if term.rows <= ranking.common] or words
    rare = choosing[: _rare(ordered, ranking.budget)]
    paired = choosing[len(rare) :][:_MOST_PAIRED]
    pairs = [f"({one} AND {any_of(paired[place + 1 :])})" for place, one in enumerate(paired[:-1])]
    rows = [*rare, *pairs] or paired
    return f"({' OR '.join(rows)}) AND {any_of(words)}" if rows != words else " OR ".join(rows)


def told_apart(terms: Sequence[Term]) -> Sequence[Term]:
    """The terms that tell rows apart: without those that are everywhere, while there are others."""
    return [term for term in terms if term.rows < EVERYWHERE] or terms


def _rare(ordered: Sequence[Term], budget: int) -> int:
    """How many of the terms, rarest first, are in no more rows than that together."""
    sums = accumulate(term.rows for term in ordered)
    return sum(rows <= budget for rows in sums)


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
