"""The words of a query against the words of the index: how common each is, and replacements for words without rows.

Counts are read from the index itself, up to a limit: they are exact after every write, and nothing has to be kept.
Ubiquitous words are found by a sample: counting them takes as long as the search.
"""

import sqlite3
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Protocol

from lineage.core.search import segmentation
from lineage.core.search.index_sql import MAX_PASSAGES
from lineage.core.search.language import find_forms
from lineage.core.search.query import Query
from lineage.core.search.spelling import find_nearest, mistakes_allowed
from lineage.core.search.words import build_expression, join_or, quote
from lineage.full_text import COUNT_MATCHES
from lineage.index.fts_query import DEFAULT_RANKING, UBIQUITOUS, Ranking, Term

TABLES = ("create virtual table if not exists vocabulary using fts5vocab(search, row)",)

MAX_COMPARED_WORDS = 20_000
"""How many words of the index are compared with a mistyped one."""
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
_MIN_PREFIX, _MAX_WORD = 3, 40  # letters: shorter words begin too many others
_MAX_REPLACED = 4  # words: each takes queries of its own
_MAX_ENDING = 7  # letters that the tokenizer's stemmer may have taken off


class Vocabulary(Protocol):
    """The words of an index."""

    def count_rows(self, terms: Sequence[Term], limit: int) -> list[Term]:
        """Return the terms with their numbers of rows, counted to `limit` at least."""

    def find_ubiquitous(self, terms: Sequence[Term]) -> set[Term]:
        """Return the terms in about half of all rows, or more."""

    def find_words(self, start: str, stop: str, min_length: int, max_length: int) -> Iterable[str]:
        """Return words without digits from `start` to before `stop`, with lengths within these bounds."""


class SqliteVocabulary:
    """The words of SQLite's full-text table."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def count_rows(self, terms: Sequence[Term], limit: int) -> list[Term]:
        counts = self._count_each(COUNT_MATCHES, [(term.expression, limit) for term in terms])
        return [replace(term, rows=count) for term, count in zip(terms, counts, strict=True)]

    def find_ubiquitous(self, terms: Sequence[Term]) -> set[Term]:
        """Return the terms in half of the rows of every sample."""
        candidates = list(terms)
        # Samples of several regions: neighbouring rows are of one session.
        for number in range(_SAMPLES):
            first, last, rows = self.connection.execute(_SELECT_SAMPLE, (number,)).fetchone()
            counts = self._count_each(_COUNT_IN_SAMPLE, [(term.expression, first, last) for term in candidates])
            candidates = [term for term, count in zip(candidates, counts, strict=True) if 2 * count > rows]
        return set(candidates)

    def find_words(self, start: str, stop: str, min_length: int, max_length: int) -> Iterable[str]:
        return (row[0] for row in self.connection.execute(_SELECT_WORDS, (start, stop, min_length, max_length)))

    def _count_each(self, count_sql: str, parameters: Sequence[Sequence[object]]) -> Sequence[int]:
        """Return the count for each of these parameters, from one statement."""
        if not parameters:
            return ()
        values = [value for each in parameters for value in each]
        statement = f"select {', '.join([count_sql] * len(parameters))}"
        counts: Sequence[int] = self.connection.execute(statement, values).fetchone()
        return counts


def resolve_terms(vocabulary: Vocabulary, query: Query, ranking: Ranking = DEFAULT_RANKING) -> list[Term]:
    """Return the words of a query that have rows, with their counts.

    The first few words without rows are replaced by words that they begin, else by their other forms, else by words of
    similar spelling. Rare words alone take one statement.
    """
    terms = vocabulary.count_rows(
        [Term(word, build_expression(word, query.language)) for word in query.words], ranking.budget + 1
    )
    missing = [term for term in terms if not term.rows and _is_replaceable(term.word)][:_MAX_REPLACED]
    replacements = _find_replacements(vocabulary, missing, query.language, ranking.budget + 1)
    terms = [replacements.get(term.word, term) for term in terms]
    return _count_common_terms(vocabulary, [term for term in terms if term.rows], ranking)


def _count_common_terms(vocabulary: Vocabulary, terms: Sequence[Term], ranking: Ranking) -> list[Term]:
    """Count the terms beyond the budget further, up to `ranking.common`."""
    frequent = [term for term in terms if term.rows > ranking.budget]
    if not frequent:
        return list(terms)
    ubiquitous = vocabulary.find_ubiquitous(frequent)
    counted = vocabulary.count_rows([term for term in frequent if term not in ubiquitous], ranking.common + 1)
    by_word = {term.word: term for term in counted} | {term.word: replace(term, rows=UBIQUITOUS) for term in ubiquitous}
    return [by_word.get(term.word, term) for term in terms]


def _is_replaceable(word: str) -> bool:
    return word.isalnum() and _MIN_PREFIX <= len(word) <= _MAX_WORD and not segmentation.is_unspaced(word)


def _find_replacements(
    vocabulary: Vocabulary, missing: Sequence[Term], language: str | None, limit: int
) -> dict[str, Term]:
    prefixes = [Term(term.word, f"{quote(term.word)} *") for term in missing]
    forms = [Term(term.word, join_or(map(quote, [term.word, *find_forms(term.word, language)]))) for term in missing]
    replacements: dict[str, Term] = {}
    for term in vocabulary.count_rows([*prefixes, *forms], limit):
        if term.rows:
            replacements.setdefault(term.word, term)
    corrected = [_correct_spelling(vocabulary, term.word) for term in missing if term.word not in replacements]
    counted = vocabulary.count_rows([term for term in corrected if term], limit)
    return replacements | {term.word: term for term in counted}


def _correct_spelling(vocabulary: Vocabulary, word: str) -> Term | None:
    """Return the words that a mistyped one may mean. They begin with the same letter."""
    plain = "".join(letter for letter in unicodedata.normalize("NFD", word.lower()) if letter.isalpha())
    allowed = mistakes_allowed(plain)
    if not allowed:
        return None
    lengths = (max(3, len(plain) - allowed - _MAX_ENDING), len(plain) + allowed)
    words = find_nearest(plain, vocabulary.find_words(plain[0], chr(ord(plain[0]) + 1), *lengths))
    return Term(word, join_or(map(quote, words))) if words else None
