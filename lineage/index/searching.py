"""What is found: passages of sessions and entries of books by the words of a query, ranked together.

A session's score is that of its best passage and, less and less, of the next ones: what is spoken of in several places
goes before what is mentioned once. Of equal scores the newer goes first, then the path decides. Every query asks
`may_reach`, the gate of private sessions. (format: Commands)
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

from lineage.core.passages import MOST
from lineage.core.query import Query
from lineage.core.segmentation import joined
from lineage.index import books, filtering, texts
from lineage.index.books import EntryRow
from lineage.index.filtering import SPEAKER
from lineage.index.query import RANKING, Ranking, Term, bounded, pruned, told_apart
from lineage.index.terms import FtsVocabulary, Vocabulary, weighed

MARK = ("\x02", "\x03")  # around the words of a snippet that matched
ENTRY = "entry"

_COUNTED_PASSAGES = 4
_LEAST_RANKED, _RANKED_PER_RESULT = 200, 20
EVERY = -1
SNIPPET_WORDS = 24


@dataclass(frozen=True, slots=True)
class Hit:
    """One search result. `score` grows with relevance; `snippet` carries `MARK` around what matched; `turns` are the
    first and the last of the passage, None where it isn't of a transcript.

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


class Ranked(NamedTuple):
    """A row that was found. `key` is what makes one result: a session's token, or an entry's own number."""

    number: int
    score: float
    at: str
    path: str
    key: str | int


_FOUND = "select rowid as id, rank from search where search match :words and rank match :weights"
_LISTED = f"""
    select id * {MOST} as id, 0.0 as rank from artifacts where source_kind != 'manifest'
    union all select -id, 0.0 from book_entries where shelf != 'pending' and hidden = 0
"""
_RANKED = """
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
_ARTIFACT = f"""
    select session_id, session_token, agent_id, source_kind, source_path, project, membership_ts, memory_sentence
    from artifacts where id = ? / {MOST}
"""
_ENTRY = f"""
    select s.session_id, nullif({SPEAKER}, ''), s.agent_id, s.project, {_ENTRY_COLUMNS}
    from book_entries e left join artifacts s on s.id =
        (select id from artifacts where session_token = {SPEAKER} order by source_path limit 1)
    where e.id = -?
"""
_SNIPPET = f"""
    select snippet(search, {{}}, '{MARK[0]}', '{MARK[1]}', ' … ', {SNIPPET_WORDS}), {{}}
    from search where search match ? and rowid = ?
"""
_IN_BODY, _ELSEWHERE = _SNIPPET.format(texts.BODY, "turns"), _SNIPPET.format(-1, "''")
_BEGINNING = "select substr(body, 1, 160), turns from search where rowid = ?"


class Engine(Vocabulary, Protocol):
    """Full text, and what goes with it."""

    def ranked(self, query: Query, agent_id: str | None, ranking: Ranking, expression: str, most: int) -> list[Ranked]:
        """The rows that are found and may be shown, best first: the best `most` that match (`EVERY`: all), with all
        that rank equal. Of a query without words those that its filters let through."""

    def shown(self, expression: str, ranked: Sequence[Ranked]) -> list[Hit]:
        """The hits of ranked rows; they are read here, for the few that are shown."""


def hits(
    engine: Engine,
    query: Query,
    agent_id: str | None,
    limit: int,
    *,
    by_passage: bool = False,
    ranking: Ranking = RANKING,
) -> list[Hit]:
    """The best passage of each session (or each passage) and every entry that the query finds, best first; the newest
    where it has filters alone."""
    if query.is_empty:
        return []
    terms = weighed(engine, query, ranking)
    whole = bounded(_any(terms), query.phrases, query.without)
    if not whole and (query.words or query.phrases):
        return []
    first = marked = whole
    if terms and not query.phrases and _are_many(engine, whole, terms, ranking):
        first = bounded(pruned(terms, ranking), (), query.without)
        marked = _any(told_apart(terms))
    look = partial(engine.ranked, query, agent_id, ranking)
    decay = None if by_passage else ranking.decay
    most = max(_LEAST_RANKED, _RANKED_PER_RESULT * limit)
    found = _results(look(first, most), decay)[:limit]
    if len(found) < limit and (first != whole or not terms or sum(term.rows for term in terms) > most):
        found, marked = _results(look(whole, EVERY), decay)[:limit], whole
    return engine.shown(marked, found)


def _any(terms: Sequence[Term]) -> str:
    return " OR ".join(term.expression for term in terms)


def _are_many(engine: Engine, expression: str, terms: Sequence[Term], ranking: Ranking) -> bool:
    """Whether more rows match than are ranked without a choice among them."""
    if sum(term.rows for term in terms) <= ranking.budget:
        return False
    (whole,) = engine.counted([Term("", expression)], ranking.budget + 1)
    return whole.rows > ranking.budget


def _results(ranked: Sequence[Ranked], decay: float | None) -> list[Ranked]:
    """One row for each result, its best, with the result's score; best first, of equals the newer. Without a decay each
    row is a result."""
    if decay is None:
        return list(ranked)
    of_result: dict[str | int, list[Ranked]] = {}
    for row in ranked:
        of_result.setdefault(row.key, []).append(row)
    scored = [
        rows[0]._replace(score=_together([row.score for row in rows[:_COUNTED_PASSAGES]], decay))
        for rows in of_result.values()
    ]
    newest_first = sorted(sorted(scored, key=lambda row: row.path), key=lambda row: row.at, reverse=True)
    return sorted(newest_first, key=lambda row: row.score, reverse=True)


def _together(scores: Sequence[float], decay: float) -> float:
    return sum(score * decay**place for place, score in enumerate(scores))


def _shown(connection: sqlite3.Connection, expression: str, number: int) -> tuple[str, str]:
    """The snippet of a row and the turns that it is of: what matched in the passage or, where nothing did, in a title,
    a sentence or a tag, which no turn said."""
    if not expression:
        found: tuple[str, str] = connection.execute(_BEGINNING, (number,)).fetchone()
        return found
    found = connection.execute(_IN_BODY, (expression, number)).fetchone()
    return found if MARK[0] in found[0] else connection.execute(_ELSEWHERE, (expression, number)).fetchone()


class Fts(FtsVocabulary):
    """The full-text table of SQLite."""

    def ranked(self, query: Query, agent_id: str | None, ranking: Ranking, expression: str, most: int) -> list[Ranked]:
        sql = _RANKED.format(
            found=_FOUND if expression else _LISTED,
            passages=MOST,
            artifacts=filtering.of_artifacts(query.filters),
            entries=filtering.of_entries(query.filters),
        )
        values = {
            **filtering.values(query.filters, agent_id),
            "words": expression,
            "weights": f"bm25({', '.join(map(str, ranking.weights))})",
            "most": most if most != EVERY else 1 << 40,
        }
        return [Ranked(*row[:-1]) for row in self.connection.execute(sql, values)]

    def shown(self, expression: str, ranked: Sequence[Ranked]) -> list[Hit]:
        return [_hit(self.connection, expression, one) for one in ranked]


def _hit(connection: sqlite3.Connection, expression: str, ranked: Ranked) -> Hit:
    """The hit of a ranked row; it is read here, for the few that are shown."""
    number, score = ranked.number, ranked.score
    snippet, turns = _shown(connection, expression, number)
    if number > 0:
        session_id, token, agent_id, kind, path, *rest = connection.execute(_ARTIFACT, (number,)).fetchone()
        project, at, sentence = rest
        shown = (joined(snippet), project, at, sentence, texts.turns_of(turns))
        return Hit(session_id, token, agent_id, kind, path, score, *shown)
    session_id, token, agent_id, project, *values = connection.execute(_ENTRY, (number,)).fetchone()
    return entry_hit(books.entry_row(values), (session_id, token, agent_id, project), score, joined(snippet))


def entry_hit(entry: EntryRow, spoken: tuple[str | None, ...], score: float, snippet: str) -> Hit:
    """The hit of an entry; `spoken` are id, token, agent and project of the session that it came from, if any."""
    session_id, token, agent_id, project = spoken
    agent = entry.scope.removeprefix(books.AGENT) if entry.scope.startswith(books.AGENT) else agent_id
    found = (session_id, token, agent, ENTRY, entry.path, score, snippet, project, entry.at or None, None)
    return Hit(*found, entry=entry)
