"""The words of a query against the words of the index: how common each is, and what stands in for one that has no hit.

Document frequencies are asked of the index itself, up to a bound: exact after every write, and nothing to keep. Which
words are everywhere is told by a sample: to count them takes as long as the search.
"""

import sqlite3
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Protocol

from lineage.core import segmentation
from lineage.core.language import ENGLISH, forms
from lineage.core.passages import MOST
from lineage.core.query import Query
from lineage.core.spelling import mistakes_allowed, nearest
from lineage.index.query import EVERYWHERE, RANKING, Ranking, Term, any_of, quoted

TABLES = ("create virtual table if not exists vocabulary using fts5vocab(search, row)",)

MOST_LOOKED_AT = 20_000
"""How many words of the index are compared with one that was mistyped."""
_COUNT = "(select count(*) from (select 1 from search where search match ? limit ?))"
_KNOWN = f"""
    select term from vocabulary
    where term >= ? and term < ? and length(term) between ? and ? and term not glob '*[0-9]*' limit {MOST_LOOKED_AT}
"""
_PLACES, _OF_PLACE = 3, 256
_PLACE = f"""
    select min(id), max(id), count(*) from (
        select id from search_docsize where id >= (select max(id) * ? / {_PLACES} from artifacts) * {MOST}
        order by id limit {_OF_PLACE})
"""
_COUNT_THERE = "(select count(*) from search where search match ? and rowid between ? and ?)"
_SHORTEST_PREFIX, _LONGEST_WORD = 3, 40
_MOST_REPLACED = 4
_LONGEST_ENDING = 7


class Vocabulary(Protocol):
    """The words of an index."""

    def counted(self, terms: Sequence[Term], most: int) -> list[Term]:
        """The terms, each with its number of rows; who counts that far may stop at `most`."""

    def everywhere(self, terms: Sequence[Term]) -> set[Term]:
        """Those of these common terms that are in half of all rows, or nearly."""

    def known(self, first: str, past: str, shortest: int, longest: int) -> Iterable[str]:
        """Words from `first` to before `past` of so many letters, without a digit."""


class FtsVocabulary:
    """The words of the full-text table."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def counted(self, terms: Sequence[Term], most: int) -> list[Term]:
        counts = self._selected(_COUNT, [(term.expression, most) for term in terms])
        return [term._replace(rows=count) for term, count in zip(terms, counts, strict=True)]

    def everywhere(self, terms: Sequence[Term]) -> set[Term]:
        found = list(terms)
        for number in range(_PLACES):
            first, last, rows = self.connection.execute(_PLACE, (number,)).fetchone()
            counts = self._selected(_COUNT_THERE, [(term.expression, first, last) for term in found])
            found = [term for term, count in zip(found, counts, strict=True) if 2 * count > rows]
        return set(found)

    def known(self, first: str, past: str, shortest: int, longest: int) -> Iterable[str]:
        return (row[0] for row in self.connection.execute(_KNOWN, (first, past, shortest, longest)))

    def _selected(self, count: str, asked: Sequence[Sequence[object]]) -> Sequence[int]:
        """What one statement counts for each of these values."""
        if not asked:
            return ()
        values = [value for one in asked for value in one]
        found: Sequence[int] = self.connection.execute(f"select {', '.join([count] * len(asked))}", values).fetchone()
        return found


def weighed(vocabulary: Vocabulary, query: Query, ranking: Ranking = RANKING) -> list[Term]:
    """The words that are found, each with its number of rows; for the first few that aren't, what begins with them,
    else another form of them, else what they are mistyped for. One statement where each is found in few rows."""
    terms = vocabulary.counted([_term(word, query.language) for word in query.words], ranking.budget + 1)
    missing = [term for term in terms if not term.rows and _may_be_replaced(term.word)][:_MOST_REPLACED]
    replaced = _replaced(vocabulary, missing, query.language, ranking.budget + 1)
    found = [term for one in terms if (term := replaced.get(one.word, one)).rows]
    return _told_apart(vocabulary, found, ranking)


def _told_apart(vocabulary: Vocabulary, terms: Sequence[Term], ranking: Ranking) -> list[Term]:
    """The terms with how common those are that are in more rows than the budget."""
    many = [term for term in terms if term.rows > ranking.budget]
    if not many:
        return list(terms)
    everywhere = vocabulary.everywhere(many)
    counted = vocabulary.counted([term for term in many if term not in everywhere], ranking.common + 1)
    common = {term.word: term for term in counted} | {term.word: term._replace(rows=EVERYWHERE) for term in everywhere}
    return [common.get(term.word, term) for term in terms]


def _term(word: str, language: str | None) -> Term:
    """A word and, in a language whose endings the tokenizer doesn't know, its other forms."""
    others = forms(word, language) if language not in (None, ENGLISH) and word.isalpha() else []
    return Term(word, any_of(map(quoted, [word, *others])))


def _may_be_replaced(word: str) -> bool:
    return word.isalnum() and _SHORTEST_PREFIX <= len(word) <= _LONGEST_WORD and not segmentation.is_dense(word)


def _replaced(vocabulary: Vocabulary, missing: Sequence[Term], language: str | None, most: int) -> dict[str, Term]:
    begun = [Term(term.word, f"{quoted(term.word)} *") for term in missing]
    bent = [Term(term.word, any_of(map(quoted, [term.word, *forms(term.word, language)]))) for term in missing]
    found: dict[str, Term] = {}
    for term in vocabulary.counted([*begun, *bent], most):
        if term.rows:
            found.setdefault(term.word, term)
    meant = [_meant(vocabulary, term.word) for term in missing if term.word not in found]
    return found | {term.word: term for term in vocabulary.counted([term for term in meant if term], most)}


def _meant(vocabulary: Vocabulary, word: str) -> Term | None:
    """The words that a mistyped one may stand for: they begin with the same letter."""
    plain = "".join(letter for letter in unicodedata.normalize("NFD", word.lower()) if letter.isalpha())
    allowed = mistakes_allowed(plain)
    if not allowed:
        return None
    lengths = (max(3, len(plain) - allowed - _LONGEST_ENDING), len(plain) + allowed)
    found = nearest(plain, vocabulary.known(plain[0], chr(ord(plain[0]) + 1), *lengths))
    return Term(word, any_of(map(quoted, found))) if found else None
