"""From the words of a query to an FTS5 expression: every word is quoted, so nothing that was typed is syntax.

FTS5 scores every row that matches, so common words cost. Where there are many rows, one has to hold a rare word, or two
that are less rare, to be scored at all: much the same is found in a fraction of the time. (design: df budget)
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from lineage.core.format.body import replace_surrogates
from lineage.core.search.query import extract_words
from lineage.core.search.segmentation import segment
from lineage.index.fts_rows import COLUMN_WEIGHTS

_MAX_PAIRED = 6


class Ranking(NamedTuple):
    """How much of the text is looked at, and what counts how much in it; the values were measured by scripts/eval.

    `budget` is how many rows the rarest words may have together to be looked up each by itself. Words in more rows than
    `common` choose no rows while there are others, and those in half of all rows don't count either: their BM25 weight
    is nothing. `weights` are a title's, a sentence's or tag's, and a body's. `decay` is what each next passage of a
    session counts of the one before it.
    """

    budget: int = 2_000
    common: int = 24_000
    weights: tuple[float, float, float] = COLUMN_WEIGHTS
    decay: float = 0.2


DEFAULT_RANKING = Ranking()
UBIQUITOUS = 1 << 40


class Term(NamedTuple):
    """A word with what it is looked up by, and how many `rows` that is in; one more than are common for any more, and
    `EVERYWHERE` for half of all."""

    word: str
    expression: str
    rows: int = 0


def quote(text: str) -> str:
    """
    >>> quote('src/app.py')
    '"src/app.py"'
    """
    return f'"{segment(replace_surrogates(text)).replace(chr(34), " ").replace(chr(0), " ")}"'


def join_or(expressions: Iterable[str]) -> str:
    """
    >>> join_or(['"row"', '"rows"']), join_or(['"row"'])
    ('("row" OR "rows")', '"row"')
    """
    found = list(dict.fromkeys(expressions))
    return found[0] if len(found) == 1 else f"({' OR '.join(found)})"


def build_match_expression(text: str) -> str | None:
    """The words of a text, OR-ed; None where it has no word.

    >>> build_match_expression('split() NEAR "last line"')
    '"split" OR "NEAR" OR "last" OR "line"'
    """
    return " OR ".join(map(quote, extract_words(text))) or None


def build_pruned_expression(terms: Sequence[Term], ranking: Ranking = DEFAULT_RANKING) -> str:
    """The expression whose rows are ranked: any of the words where they are in few rows, else rows with a rare word or
    with two of the less rare ones, ranked by all words but those that are everywhere.

    >>> (build_pruned_expression([Term("a", '"a"', 5), Term("b", '"b"', 9000), Term("c", '"c"', 24000), Term("d",
    ... '"d"', 24001)]))
    '("a" OR ("b" AND "c")) AND ("a" OR "b" OR "c" OR "d")'
    """
    ordered = sorted(terms, key=lambda term: term.rows)
    words = [term.expression for term in without_ubiquitous(ordered)]
    choosing = [term.expression for term in ordered if term.rows <= ranking.common] or words
    rare = choosing[: _count_rare(ordered, ranking.budget)]
    paired = choosing[len(rare) :][:_MAX_PAIRED]
    pairs = [f"({one} AND {join_or(paired[place + 1 :])})" for place, one in enumerate(paired[:-1])]
    rows = [*rare, *pairs] or paired
    return f"({' OR '.join(rows)}) AND {join_or(words)}" if rows != words else " OR ".join(rows)


def without_ubiquitous(terms: Sequence[Term]) -> Sequence[Term]:
    """The terms that tell rows apart: without those that are everywhere, while there are others."""
    return [term for term in terms if term.rows < UBIQUITOUS] or terms


def _count_rare(ordered: Sequence[Term], budget: int) -> int:
    """How many of the terms, rarest first, are in no more rows than that together."""
    sums = accumulate(term.rows for term in ordered)
    return sum(rows <= budget for rows in sums)


def restrict_expression(expression: str, phrases: Sequence[str], excluded: Sequence[str]) -> str:
    """The expression with what has to be there and what must not; "" where that is nothing.

    >>> restrict_expression('"row"', ["last line"], ["draft"])
    '(("last line") AND ("row" OR "last line")) NOT "draft"'
    """
    if phrases:
        needed = [quote(phrase) for phrase in phrases]
        ranked = [expression] if expression else []
        expression = f"({' AND '.join(needed)}) AND ({' OR '.join([*ranked, *needed])})"
    return f"({expression}) NOT {join_or(map(quote, excluded))}" if expression and excluded else expression
