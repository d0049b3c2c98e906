"""The words of a query against the words of the index: how common each is, and what stands in for one that has no hit.

Document frequencies are asked of the index itself, up to a bound: exact after every write, and nothing to keep. Which
words are everywhere is told by a sample: to count them takes as long as the search.
"""

import sqlite3
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Protocol

from lineage.core.search import segmentation
from lineage.core.search.language import ENGLISH, find_forms
from lineage.core.search.passages import MAX_PASSAGES
from lineage.core.search.query import Query
from lineage.core.search.spelling import find_nearest, mistakes_allowed
from lineage.index.fts_query import DEFAULT_RANKING, UBIQUITOUS, Ranking, Term, join_or, quote

TABLES = ("create virtual table if not exists vocabulary using fts5vocab(search, row)",)

MAX_COMPARED_WORDS = 20_000
"""How many words of the index are compared with one that was mistyped."""
_COUNT = "(select count(*) from (select 1 from search where search match ? limit ?))"
_SELECT_WORDS = f"""
    select term from vocabulary
    where term >= ? and term < ? and length(term) between ? and ? and term not glob '*[0-9]*' limit {MAX_COMPARED_WORDS}
"""
_SAMPLES, _SAMPLE_SIZE = 3, 256
_SELECT_SAMPLE = f"""
    select min(id), max(id), count(*) from (
        select id from search_docsize where id >= (select max(id) * ? / {_SAMPLES} from artifacts) * {MAX_PASSAGES}
        order by id limit {_SAMPLE_SIZE})
"""
_COUNT_IN_SAMPLE = "(select count(*) from search where search match ? and rowid between ? and ?)"
_MIN_PREFIX, _MAX_WORD = 3, 40
_MAX_REPLACED = 4
_MAX_ENDING = 7


class Vocabulary(Protocol):
    """The words of an index."""

    def count_rows(self, terms: Sequence[Term], limit: int) -> list[Term]:
        """The terms, each with its number of rows; who counts that far may stop at `most`."""

    def find_ubiquitous(self, terms: Sequence[Term]) -> set[Term]:
        """Those of these common terms that are in half of all rows, or nearly."""

    def find_words(self, start: str, stop: str, min_length: int, max_length: int) -> Iterable[str]:
        """Words from `first` to before `past` of so many letters, without a digit."""


class SqliteVocabulary:
    """The words of the full-text table."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def count_rows(self, terms: Sequence[Term], limit: int) -> list[Term]:
        counts = self._count_each(_COUNT, [(term.expression, limit) for term in terms])
        return [term._replace(rows=count) for term, count in zip(terms, counts, strict=True)]

    def find_ubiquitous(self, terms: Sequence[Term]) -> set[Term]:
        found = list(terms)
        for number in range(_SAMPLES):
            first, last, rows = self.connection.execute(_SELECT_SAMPLE, (number,)).fetchone()
            counts = self._count_each(_COUNT_IN_SAMPLE, [(term.expression, first, last) for term in found])
            found = [term for term, count in zip(found, counts, strict=True) if 2 * count > rows]
        return set(found)

    def find_words(self, start: str, stop: str, min_length: int, max_length: int) -> Iterable[str]:
        return (row[0] for row in self.connection.execute(_SELECT_WORDS, (start, stop, min_length, max_length)))

    def _count_each(self, count_sql: str, parameters: Sequence[Sequence[object]]) -> Sequence[int]:
        """What one statement counts for each of these values."""
        if not parameters:
            return ()
        values = [value for one in parameters for value in one]
        found: Sequence[int] = self.connection.execute(
            f"select {', '.join([count_sql] * len(parameters))}", values
        ).fetchone()
        return found


def resolve_terms(vocabulary: Vocabulary, query: Query, ranking: Ranking = DEFAULT_RANKING) -> list[Term]:
    """The words that are found, each with its number of rows; for the first few that aren't, what begins with them,
    else another form of them, else what they are mistyped for. One statement where each is found in few rows."""
    terms = vocabulary.count_rows([_build_term(word, query.language) for word in query.words], ranking.budget + 1)
    missing = [term for term in terms if not term.rows and _is_replaceable(term.word)][:_MAX_REPLACED]
    replaced = _find_replacements(vocabulary, missing, query.language, ranking.budget + 1)
    found = [term for one in terms if (term := replaced.get(one.word, one)).rows]
    return _count_common_terms(vocabulary, found, ranking)


def _count_common_terms(vocabulary: Vocabulary, terms: Sequence[Term], ranking: Ranking) -> list[Term]:
    """The terms with how common those are that are in more rows than the budget."""
    many = [term for term in terms if term.rows > ranking.budget]
    if not many:
        return list(terms)
    everywhere = vocabulary.find_ubiquitous(many)
    counted = vocabulary.count_rows([term for term in many if term not in everywhere], ranking.common + 1)
    common = {term.word: term for term in counted} | {term.word: term._replace(rows=UBIQUITOUS) for term in everywhere}
    return [common.get(term.word, term) for term in terms]


def _build_term(word: str, language: str | None) -> Term:
    """A word and, in a language whose endings the tokenizer doesn't know, its other forms."""
    others = find_forms(word, language) if language not in (None, ENGLISH) and word.isalpha() else []
    return Term(word, join_or(map(quote, [word, *others])))


def _is_replaceable(word: str) -> bool:
    return word.isalnum() and _MIN_PREFIX <= len(word) <= _MAX_WORD and not segmentation.is_unspaced(word)


def _find_replacements(
    vocabulary: Vocabulary, missing: Sequence[Term], language: str | None, limit: int
) -> dict[str, Term]:
    begun = [Term(term.word, f"{quote(term.word)} *") for term in missing]
    bent = [Term(term.word, join_or(map(quote, [term.word, *find_forms(term.word, language)]))) for term in missing]
    found: dict[str, Term] = {}
    for term in vocabulary.count_rows([*begun, *bent], limit):
        if term.rows:
            found.setdefault(term.word, term)
    meant = [_correct_spelling(vocabulary, term.word) for term in missing if term.word not in found]
    return found | {term.word: term for term in vocabulary.count_rows([term for term in meant if term], limit)}


def _correct_spelling(vocabulary: Vocabulary, word: str) -> Term | None:
    """The words that a mistyped one may stand for: they begin with the same letter."""
    plain = "".join(letter for letter in unicodedata.normalize("NFD", word.lower()) if letter.isalpha())
    allowed = mistakes_allowed(plain)
    if not allowed:
        return None
    lengths = (max(3, len(plain) - allowed - _MAX_ENDING), len(plain) + allowed)
    found = find_nearest(plain, vocabulary.find_words(plain[0], chr(ord(plain[0]) + 1), *lengths))
    return Term(word, join_or(map(quote, found))) if found else None
