"""Which rows of the full text are scored, and how.

FTS5 scores every row that matches, so common words are slow. In a large index a row has to hold a rare word, or two
less rare ones, to be scored at all: the results are much the same in a fraction of the time. Which rows these are says
an expression of its own: FTS5 counts a word as often as it stands in the expression that it scores. (design: df budget)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from lineage.core.search.words import join_or
from lineage.index.fts_rows import COLUMN_WEIGHTS

_MAX_PAIRED = 6


@dataclass(frozen=True, slots=True)
class Ranking:
    """How many rows are scored, and with which weights. The values were measured by scripts/eval.

    Up to `budget` rows, the rarest words are looked up one by one. Words in more rows than `common` choose no rows
    while there are others; words in half of all rows are not scored, for their BM25 weight is zero. `weights` are those
    of a title, of a sentence or tag, and of a body. A passage of tools counts `tools` of one that somebody wrote. A
    session's next passage counts `decay` of the one before it. A result that holds all words of the query counts
    1 + `coverage` times as much as one that holds none.
    """

    budget: int = 2_000
    common: int = 24_000
    weights: tuple[float, float, float] = COLUMN_WEIGHTS
    tools: float = 0.5
    decay: float = 0.2
    coverage: float = 1.5


DEFAULT_RANKING = Ranking()
UBIQUITOUS = 1 << 40


@dataclass(frozen=True, slots=True)
class Term:
    """A word, its expression, and the number of rows that match it.

    Counting stops at a limit, so `rows` of a common word is one more than that, or `UBIQUITOUS` for half of all rows.
    """

    word: str
    expression: str
    rows: int = 0


def build_choosing_expression(terms: Sequence[Term], ranking: Ranking = DEFAULT_RANKING) -> str:
    """Return the expression of the rows to score, "" for all with any of the words but ubiquitous ones.

    Rare words match by themselves; of the less rare ones a row needs two.

    >>> build_choosing_expression([Term("a", '"a"', 5), Term("b", '"b"', 9000), Term("c", '"c"', 24000), Term("d",
    ... '"d"', 24001)])
    '"a" OR ("b" AND "c")'
    """
    ordered = sorted(terms, key=lambda term: term.rows)
    words = [term.expression for term in without_ubiquitous(ordered)]
    choosing = [term.expression for term in ordered if term.rows <= ranking.common] or words
    rare_count = sum(rows <= ranking.budget for rows in accumulate(term.rows for term in ordered))
    rare = choosing[:rare_count]
    paired = choosing[len(rare) :][:_MAX_PAIRED]
    pairs = [f"({word} AND {join_or(paired[place + 1 :])})" for place, word in enumerate(paired[:-1])]
    rows = [*rare, *pairs] or paired
    return " OR ".join(rows) if rows != words else ""


def without_ubiquitous(terms: Sequence[Term]) -> Sequence[Term]:
    """Return the terms that are not ubiquitous, all terms if there are no others."""
    return [term for term in terms if term.rows < UBIQUITOUS] or terms
