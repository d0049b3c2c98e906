"""The words of a query against the words of the index: how common each is, and what stands in for one that has no hit.

Document frequencies are asked of the index itself, up to a bound: exact after every write, and nothing to keep.
"""

import sqlite3
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lineage.core import segmentation
from lineage.core.language import ENGLISH, forms
from lineage.core.query import Query
from lineage.core.spelling import mistakes_allowed, nearest
from lineage.index.query import RANKING, Ranking, Term, any_of, quoted

TABLES = ("create virtual table if not exists vocabulary using fts5vocab(search, row)",)

COUNT = "(select count(*) from (select 1 from search where search match ? limit ?))"
_KNOWN = """
    select term from vocabulary
    where term >= ? and term < ? and length(term) between ? and ? and term not glob '*[0-9]*' limit 20000
"""
_SHORTEST_PREFIX, _LONGEST_WORD = 3, 40
_MOST_REPLACED = 4
_LONGEST_ENDING = 7


def weighed(connection: sqlite3.Connection, query: Query, ranking: Ranking = RANKING) -> list[Term]:
    """The words that are found, each with its number of rows; for the first few that aren't, what begins with them,
    else another form of them, else what they are mistyped for. One statement where each is found."""
    counter = _Counter(connection, ranking.common + 1)
    terms = counter.counted([_term(word, query.language) for word in query.words])
    missing = [term for term in terms if not term.count and _may_be_replaced(term.word)][:_MOST_REPLACED]
    found = _replaced(counter, missing, query.language)
    return [term for one in terms if (term := found.get(one.word, one)).count]


def _term(word: str, language: str | None) -> Term:
    """A word and, in a language whose endings the tokenizer doesn't know, its other forms."""
    others = forms(word, language) if language not in (None, ENGLISH) and word.isalpha() else []
    return Term(word, any_of(map(quoted, [word, *others])))


@dataclass(frozen=True, slots=True)
class _Counter:
    """Counts rows, up to `most` of each term."""

    connection: sqlite3.Connection
    most: int

    def counted(self, terms: Sequence[Term]) -> list[Term]:
        if not terms:
            return []
        values = [value for term in terms for value in (term.expression, self.most)]
        counts = self.connection.execute(f"select {', '.join([COUNT] * len(terms))}", values).fetchone()
        return [replace(term, count=count) for term, count in zip(terms, counts, strict=True)]


def _may_be_replaced(word: str) -> bool:
    return word.isalnum() and _SHORTEST_PREFIX <= len(word) <= _LONGEST_WORD and not segmentation.is_dense(word)


def _replaced(counter: _Counter, missing: Sequence[Term], language: str | None) -> dict[str, Term]:
    begun = [Term(term.word, f"{quoted(term.word)} *") for term in missing]
    bent = [Term(term.word, any_of(map(quoted, [term.word, *forms(term.word, language)]))) for term in missing]
    found: dict[str, Term] = {}
    for term in counter.counted([*begun, *bent]):
        if term.count:
            found.setdefault(term.word, term)
    meant = [_meant(counter.connection, term.word) for term in missing if term.word not in found]
    return found | {term.word: term for term in counter.counted([term for term in meant if term])}


def _meant(connection: sqlite3.Connection, word: str) -> Term | None:
    """The words that a mistyped one may stand for: they begin with the same letter."""
    plain = "".join(letter for letter in unicodedata.normalize("NFD", word.lower()) if letter.isalpha())
    allowed = mistakes_allowed(plain)
    if not allowed:
        return None
    lengths = (max(3, len(plain) - allowed - _LONGEST_ENDING), len(plain) + allowed)
    rows = connection.execute(_KNOWN, (plain[0], chr(ord(plain[0]) + 1), *lengths))
    found = nearest(plain, (row[0] for row in rows))
    return Term(word, any_of(map(quoted, found))) if found else None
