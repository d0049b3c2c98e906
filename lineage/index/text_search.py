"""What is found: passages of sessions and entries of books by the words of a query, ranked together.

A session's score is that of its best passage and, less and less, of the next ones: what is spoken of in several places
goes before what is mentioned once. Of equal scores the newer goes first, then the path decides. Every query asks
`is_allowed_in_scope`, the gate of private sessions. (format: Commands)
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

from lineage.core.search.passages import MAX_PASSAGES
from lineage.core.search.query import Query
from lineage.core.search.segmentation import remove_separators
from lineage.index import books, filter_sql, fts_rows
from lineage.index.books import EntryRow
from lineage.index.filter_sql import SESSION_TOKEN_SQL
from lineage.index.fts_query import (
    DEFAULT_RANKING,
    Ranking,
    Term,
    build_pruned_expression,
    restrict_expression,
    without_ubiquitous,
)
from lineage.index.vocabulary import SqliteVocabulary, Vocabulary, resolve_terms

SNIPPET_MARKS = ("\x02", "\x03")  # around the words of a snippet that matched
ENTRY_KIND = "entry"

_SCORED_PASSAGES = 4
_MIN_RANKED, _RANKED_PER_RESULT = 200, 20
NO_LIMIT = -1
SNIPPET_WORDS = 24


@dataclass(frozen=True, slots=True)
class Hit:
    """One search result. `score` grows with relevance; `snippet` carries `SNIPPET_MARKS` around what matched; `turns`
    are the first and the last of the passage, None where it isn't of a transcript.

    An entry of a book has the kind `entry` and is in `entry`; its session is the one that it came from, if any.
    """

    session_id: str | None
    session_token: str | None
    agent_id: str | None
    kind: str
    path: str
    score: float
    snippet: str
    project: str | None
    membership_ts: str | None
    memory_sentence: str | None
    turns: tuple[int, int] | None = None
    entry: EntryRow | None = None


class RankedRow(NamedTuple):
    """A row that was found. `key` is what makes one result: a session's token, or an entry's own number."""

    number: int
    score: float
    at: str
    path: str
    key: str | int


_SELECT_MATCHES = "select rowid as id, rank from search where search match :words and rank match :weights"
_SELECT_ALL = f"""
    select id * {MAX_PASSAGES} as id, 0.0 as rank from artifacts where source_kind != 'manifest'
    union all select -id, 0.0 from book_entries where shelf != 'pending' and hidden = 0
"""
_SELECT_RANKED = """
    with found as materialized ({found}),
         least as materialized (select rank from found order by rank limit 1 offset :most)
    select found.id, -found.rank as score, a.membership_ts as at, a.source_path as path, a.session_token,
           found.id % {passages} as place
    from found join artifacts a on a.id = found.id / {passages}
    where found.id > 0 and found.rank <= coalesce((select rank from least), 9e9) and {artifacts}
    union all
    select found.id, -found.rank, e.at, e.path, found.id, e.entry_id
    from found join book_entries e on e.id = -found.id
    where found.id < 0 and found.rank <= coalesce((select rank from least), 9e9) and {entries}
    order by score desc, at desc, path, place
"""
_ENTRY_COLUMNS = ", ".join(f"e.{name}" for name in books.COLUMNS)
_SELECT_ARTIFACT = f"""
    select session_id, session_token, agent_id, source_kind, source_path, project, membership_ts, memory_sentence
    from artifacts where id = ? / {MAX_PASSAGES}
"""
_SELECT_ENTRY = f"""
    select s.session_id, nullif({SESSION_TOKEN_SQL}, ''), s.agent_id, s.project, {_ENTRY_COLUMNS}
    from book_entries e left join artifacts s on s.id =
        (select id from artifacts where session_token = {SESSION_TOKEN_SQL} order by source_path limit 1)
    where e.id = -?
"""
_SNIPPET = f"""
    select snippet(search, {{}}, '{SNIPPET_MARKS[0]}', '{SNIPPET_MARKS[1]}', ' … ', {SNIPPET_WORDS}), {{}}
    from search where search match ? and rowid = ?
"""
_BODY_SNIPPET, _ANY_COLUMN_SNIPPET = _SNIPPET.format(fts_rows.BODY_COLUMN, "turns"), _SNIPPET.format(-1, "''")
_SELECT_PREVIEW = "select substr(body, 1, 160), turns from search where rowid = ?"


class TextSearchEngine(Vocabulary, Protocol):
    """Full text, and what goes with it."""

    def rank_rows(
        self, query: Query, agent_id: str | None, ranking: Ranking, expression: str, limit: int
    ) -> list[RankedRow]:
        """The rows that are found and may be shown, best first: the best `most` that match (`NO_LIMIT`: all), with all
        that rank equal. Of a query without words those that its filters let through."""

    def load_hits(self, expression: str, rows: Sequence[RankedRow]) -> list[Hit]:
        """The hits of ranked rows; they are read here, for the few that are shown."""


def search(
    engine: TextSearchEngine,
    query: Query,
    agent_id: str | None,
    limit: int,
    *,
    by_passage: bool = False,
    ranking: Ranking = DEFAULT_RANKING,
) -> list[Hit]:
    """The best passage of each session (or each passage) and every entry that the query finds, best first; the newest
    where it has filters alone."""
    if query.is_empty:
        return []
    terms = resolve_terms(engine, query, ranking)
    whole = restrict_expression(_join_terms(terms), query.phrases, query.excluded_words)
    if not whole and (query.words or query.phrases):
        return []
    first = marked = whole
    if terms and not query.phrases and _exceeds_budget(engine, whole, terms, ranking):
        first = restrict_expression(build_pruned_expression(terms, ranking), (), query.excluded_words)
        marked = _join_terms(without_ubiquitous(terms))
    look = partial(engine.rank_rows, query, agent_id, ranking)
    decay = None if by_passage else ranking.decay
    most = max(_MIN_RANKED, _RANKED_PER_RESULT * limit)
    found = _group_results(look(first, most), decay)[:limit]
    if len(found) < limit and (first != whole or not terms or sum(term.rows for term in terms) > most):
        found, marked = _group_results(look(whole, NO_LIMIT), decay)[:limit], whole
    return engine.load_hits(marked, found)


def _join_terms(terms: Sequence[Term]) -> str:
    return " OR ".join(term.expression for term in terms)


def _exceeds_budget(engine: TextSearchEngine, expression: str, terms: Sequence[Term], ranking: Ranking) -> bool:
    """Whether more rows match than are ranked without a choice among them."""
    if sum(term.rows for term in terms) <= ranking.budget:
        return False
    (whole,) = engine.count_rows([Term("", expression)], ranking.budget + 1)
    return whole.rows > ranking.budget


def _group_results(ranked: Sequence[RankedRow], decay: float | None) -> list[RankedRow]:
    """One row for each result, its best, with the result's score; best first, of equals the newer. Without a decay each
    row is a result."""
    if decay is None:
        return list(ranked)
    of_result: dict[str | int, list[RankedRow]] = {}
    for row in ranked:
        of_result.setdefault(row.key, []).append(row)
    scored = [
        rows[0]._replace(score=_combine_scores([row.score for row in rows[:_SCORED_PASSAGES]], decay))
        for rows in of_result.values()
    ]
    newest_first = sorted(sorted(scored, key=lambda row: row.path), key=lambda row: row.at, reverse=True)
    return sorted(newest_first, key=lambda row: row.score, reverse=True)


def _combine_scores(scores: Sequence[float], decay: float) -> float:
    return sum(score * decay**place for place, score in enumerate(scores))


def _load_snippet(connection: sqlite3.Connection, expression: str, number: int) -> tuple[str, str]:
    """The snippet of a row and the turns that it is of: what matched in the passage or, where nothing did, in a title,
    a sentence or a tag, which no turn said."""
    if not expression:
        found: tuple[str, str] = connection.execute(_SELECT_PREVIEW, (number,)).fetchone()
        return found
    found = connection.execute(_BODY_SNIPPET, (expression, number)).fetchone()
    return (
        found
        if SNIPPET_MARKS[0] in found[0]
        else connection.execute(_ANY_COLUMN_SNIPPET, (expression, number)).fetchone()
    )


class SqliteTextSearch(SqliteVocabulary):
    """The full-text table of SQLite."""

    def rank_rows(
        self, query: Query, agent_id: str | None, ranking: Ranking, expression: str, limit: int
    ) -> list[RankedRow]:
        sql = _SELECT_RANKED.format(
            found=_SELECT_MATCHES if expression else _SELECT_ALL,
            passages=MAX_PASSAGES,
            artifacts=filter_sql.build_artifact_condition(query.filters),
            entries=filter_sql.build_entry_condition(query.filters),
        )
        values = {
            **filter_sql.build_values(query.filters, agent_id),
            "words": expression,
            "weights": f"bm25({', '.join(map(str, ranking.weights))})",
            "most": limit if limit != NO_LIMIT else 1 << 40,
        }
        return [RankedRow(*row[:-1]) for row in self.connection.execute(sql, values)]

    def load_hits(self, expression: str, rows: Sequence[RankedRow]) -> list[Hit]:
        return [_load_hit(self.connection, expression, one) for one in rows]


def _load_hit(connection: sqlite3.Connection, expression: str, ranked: RankedRow) -> Hit:
    """The hit of a ranked row; it is read here, for the few that are shown."""
    number, score = ranked.number, ranked.score
    snippet, turns = _load_snippet(connection, expression, number)
    if number > 0:
        session_id, token, agent_id, kind, path, *rest = connection.execute(_SELECT_ARTIFACT, (number,)).fetchone()
        project, at, sentence = rest
        shown = (remove_separators(snippet), project, at, sentence, fts_rows.parse_turn_range(turns))
        return Hit(session_id, token, agent_id, kind, path, score, *shown)
    session_id, token, agent_id, project, *values = connection.execute(_SELECT_ENTRY, (number,)).fetchone()
    return build_entry_hit(
        books.decode_entry(values), (session_id, token, agent_id, project), score, remove_separators(snippet)
    )


def build_entry_hit(entry: EntryRow, session: tuple[str | None, ...], score: float, snippet: str) -> Hit:
    """The hit of an entry; `spoken` are id, token, agent and project of the session that it came from, if any."""
    session_id, token, agent_id, project = session
    agent = (
        entry.scope.removeprefix(books.AGENT_SCOPE_PREFIX)
        if entry.scope.startswith(books.AGENT_SCOPE_PREFIX)
        else agent_id
    )
    found = (session_id, token, agent, ENTRY_KIND, entry.path, score, snippet, project, entry.at or None, None)
    return Hit(*found, entry=entry)
