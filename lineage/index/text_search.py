"""Full-text search: passages of sessions and entries of books that match a query, ranked together.

A session's score is that of its best passage and, with decreasing weight, of the next ones: a subject of several
passages ranks before a mention. The more of the query's words its best passages hold, the more it counts: BM25 alone
prefers a passage with a rare word to two passages that have them all. Equal scores are ordered by time, newest first,
then by path. Every query applies the privacy rule, `is_allowed_in_scope`. (format: Commands)
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

from lineage import full_text
from lineage.core.base.about import FILE, split_subject
from lineage.core.format.synopsis import build_title
from lineage.core.search.index_sql import AGENT_SCOPE_PREFIX, MAX_OF_KIND, MAX_PASSAGES
from lineage.core.search.query import Query
from lineage.core.search.segmentation import remove_separators
from lineage.index import books, filter_sql, fts_query, fts_rows
from lineage.index.books import EntryRow
from lineage.index.filter_sql import SESSION_TOKEN_SQL
from lineage.index.fts_query import DEFAULT_RANKING, Ranking, Term
from lineage.index.sessions import ASK_SQL, FILES_SQL, OUTCOME_SQL
from lineage.index.vocabulary import SqliteVocabulary, Vocabulary, resolve_terms

SNIPPET_MARKS = ("\x02", "\x03")
"""They stand before and after each matching word of a snippet."""
_HIT_KEYS = ("session_id", "session_token", "agent_id", "kind", "path", "turns", "score", "snippet", "project",
             "membership_ts", "memory_sentence", "title", "outcome")  # fmt: skip
ENTRY_KIND = "entry"

_SCORED_PASSAGES = 4  # of a session; more would favour long ones
_MIN_RANKED, _RANKED_PER_RESULT = 200, 20  # several passages make one result
_COVERED_RESULTS, _COVERED_ROWS = 10, 3  # their texts are read for the words of the query; more find no more
_QUOTED = re.compile(r'"([^"]*)"')
_MIN_STEM, _MAX_ENDING = 4, 2  # letters of a word that have to be in a text, and that need not be
NO_LIMIT = -1  # all rows
SNIPPET_WORDS = 60  # FTS5 takes 64


class Superseded(NamedTuple):
    """The amendment of a result: its day, the token of its session or the id of its entry, and its sentence."""

    on: str
    by: str
    text: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A search result. `score` grows with relevance; `snippet` has `SNIPPET_MARKS` around matching words.

    `turns` are the first and last turn of a transcript's passage, `title` and `outcome` those of the session, else
    None. An entry of a book has the kind `entry` and is in `entry`; its session is that of its origin, if any.
    `of_tools`: the passage is what tools were given or gave, which has no vector. `rows` are the numbers of the
    session's best passages in the index, best first. `superseded` is what amends it, among the results or the entries.
    `files` are those that the session edited, or the entry is bound to. `project_key` is that of the session's project,
    "" without one.
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
    title: str | None
    outcome: str | None
    turns: tuple[int, int] | None = None
    entry: EntryRow | None = None
    of_tools: bool = False
    rows: tuple[int, ...] = ()
    superseded: Superseded | None = None
    files: tuple[str, ...] = ()
    project_key: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the values of the hit but its entry; its snippet without marks."""
        values = {name: getattr(self, name) for name in _HIT_KEYS}
        values["superseded"] = self.superseded._asdict() if self.superseded else None
        return values | {"score": round(self.score, 6), "snippet": "".join(text for text, _ in self.split_snippet())}

    def split_snippet(self) -> Iterator[tuple[str, bool]]:
        """Yield the snippet, cut at its matches: (text, is_match)."""
        opening, closing = SNIPPET_MARKS
        first, *others = self.snippet.split(opening)
        yield first, False
        for other in others:
            matched, _, rest = other.partition(closing)
            yield from ((matched, True), (rest, False))


class RankedRow(NamedTuple):  # a search makes thousands
    """A matching row. Rows with the same `key`, a session's token or an entry's number, make one result.

    `others` are the numbers of the result's next rows, best first.
    """

    number: int
    score: float
    at: str
    path: str
    key: str
    others: tuple[int, ...] = ()

    @property
    def of_tools(self) -> bool:
        """Return whether the row is a passage of a tool's input or output."""
        return self.number > 0 and self.number % MAX_PASSAGES >= MAX_OF_KIND


KIND_WEIGHT = f"case when {{}} % {MAX_PASSAGES} >= {MAX_OF_KIND} then {{}} else 1.0 end"
"""SQL of the weight of a row, given its number and the weight of passages of tools."""
_SELECT_MATCHES = f"""
    select rowid as id, rank * {KIND_WEIGHT.format("rowid", ":tools")} as rank
    from search where search match :words and rank match :weights
"""
# With the plus SQLite doesn't ask FTS5 for each of these rows. Ranks are computed of the rows that are left.
_CHOSEN = " and +rowid in (select rowid from search where search match :choosing)"
SELECT_ALL = f"""
    select id * {MAX_PASSAGES} as id, cast(0.0 as double precision) as rank
    from artifacts where source_kind != 'manifest'
    union all select -id, 0.0 from book_entries where shelf != 'pending' and hidden = 0
"""
# Both engines run it, so both halves of the union have columns of one type. `place` has a fixed length, to be sorted.
SELECT_RANKED = """
    with found as materialized ({found}),
         least as materialized (select rank from found order by rank limit 1 offset :most)
    select found.id, -found.rank as score, a.membership_ts as at, a.source_path as path, a.session_token as key,
           cast(100000000 + found.id % {passages} as text) as place
    from found join artifacts a on a.id = found.id / {passages}
    where found.id > 0 and found.rank <= coalesce((select rank from least), 9e9) and {artifacts}
    union all
    select found.id, -found.rank, e.at, e.path, cast(found.id as text), e.entry_id
    from found join book_entries e on e.id = -found.id
    where found.id < 0 and found.rank <= coalesce((select rank from least), 9e9) and {entries}
    order by score desc, at desc, path, place
"""
_ENTRY_COLUMNS = ", ".join(f"e.{name}" for name in books.COLUMNS)
HIT_COLUMNS = ", ".join((
    "a.session_id, a.session_token, a.agent_id, a.source_kind, a.source_path, a.project, a.project_key",
    "a.membership_ts, a.memory_sentence, a.title", ASK_SQL.format("a.session_token"),
    OUTCOME_SQL.format("a.session_token"), FILES_SQL.format("a.session_token"),
))  # fmt: skip
"""What `build_session_hit` takes of an artifact `a`."""
_SELECT_ARTIFACT = f"select {HIT_COLUMNS} from artifacts a where a.id = ? / {MAX_PASSAGES}"
ORIGIN_COLUMNS = 5  # of the session that an entry is from, before those of the entry
_SELECT_ENTRY = f"""
    select s.session_id, nullif({SESSION_TOKEN_SQL}, ''), s.agent_id, s.project, s.project_key,
        {_ENTRY_COLUMNS}
    from book_entries e left join artifacts s on s.id =
        (select id from artifacts where session_token = {SESSION_TOKEN_SQL} order by source_path limit 1)
    where e.id = -?
"""
_SNIPPET = f"""
    select snippet(search, {{}}, '{SNIPPET_MARKS[0]}', '{SNIPPET_MARKS[1]}', ' … ', {SNIPPET_WORDS}), {{}}
    from search where search match ? and rowid = ?
"""
_BODY_SNIPPET, _ANY_COLUMN_SNIPPET = _SNIPPET.format(fts_rows.BODY_COLUMN, "turns, rowid"), _SNIPPET.format(-1, "''")
# With the plus it is one walk over the matches: where these are few, looking up each row takes twice as long.
_BODY_SNIPPETS = _BODY_SNIPPET.replace("rowid = ?", "+rowid in (select value from json_each(?))")
_MAX_PREVIEW = 160  # characters of a body that no word of the query chose
_SELECT_PREVIEW = f"select substr(body, 1, {_MAX_PREVIEW + 1}), turns from search where rowid = ?"


class TextSearchEngine(Vocabulary, Protocol):
    """Full text of an index, and its words."""

    def rank_rows(
        self, query: Query, agent_id: str | None, ranking: Ranking, expression: str, limit: int, choosing: str = ""
    ) -> list[RankedRow]:
        """Return the visible rows among the best `limit` matches (`NO_LIMIT`: all), and equals of the last, best first.

        For a query without words, return all rows that pass its filters. Where `choosing` is no empty expression, only
        rows that match it are scored.
        """

    def load_texts(self, numbers: Sequence[int]) -> Mapping[int, str]:
        """Return the whole texts of rows."""

    def load_hits(
        self, expressions: Sequence[str], rows: Sequence[RankedRow], *, is_first_rare: bool = False
    ) -> list[Hit]:
        """Return the hits of ranked rows.

        A snippet shows what matches the first of the expressions that the row's body matches, else what the last one
        matches elsewhere; without expressions the beginning. `is_first_rare`: the first one matches few rows.
        """


def search(
    engine: TextSearchEngine,
    query: Query,
    agent_id: str | None,
    limit: int,
    *,
    by_passage: bool = False,
    ranking: Ranking = DEFAULT_RANKING,
) -> list[Hit]:
    """Return the best passage of each session (or every one) and every matching entry. See `Index.search`."""
    if query.is_empty:
        return []
    terms = resolve_terms(engine, query, ranking)
    full = full_text.restrict_expression(_join_terms(terms), query.phrases, query.excluded)
    if not full and (query.words or query.phrases):
        return []
    first, choosing, marked, is_rare = full, "", [full] if full else [], True
    if terms and not query.phrases and _exceeds_budget(engine, full, terms, ranking):
        kept = _join_terms(fts_query.without_ubiquitous(terms))
        first = full_text.restrict_expression(kept, (), query.excluded)
        choosing = fts_query.build_choosing_expression(terms, ranking)
        # A snippet with common words takes three times as long as one with rare words, which show more.
        rare = [term for term in terms if term.rows <= ranking.budget]
        marked, is_rare = [_join_terms(rare)] * bool(rare) + [kept], bool(rare)
    rank = partial(engine.rank_rows, query, agent_id, ranking)
    decay = None if by_passage else ranking.decay
    row_limit = max(_MIN_RANKED, _RANKED_PER_RESULT * limit)
    results = _group_results(rank(first, row_limit, choosing), decay)
    # Too few results may mean that the choice of rows, or their limit, left some out.
    if len(results) < limit and (
        choosing or first != full or not terms or sum(term.rows for term in terms) > row_limit
    ):
        results, marked, is_rare = _group_results(rank(full, NO_LIMIT), decay), [full] if full else [], False
    if not by_passage and len(terms) > 1:
        results[:_COVERED_RESULTS] = _favor_coverage(engine, terms, results[:_COVERED_RESULTS], ranking.coverage)
    return engine.load_hits(marked, results[:limit], is_first_rare=is_rare)


def _join_terms(terms: Sequence[Term]) -> str:
    return " OR ".join(term.expression for term in terms)


def _exceeds_budget(engine: TextSearchEngine, expression: str, terms: Sequence[Term], ranking: Ranking) -> bool:
    if sum(term.rows for term in terms) <= ranking.budget:
        return False
    if expression == _join_terms(terms) and max(term.rows for term in terms) > ranking.budget:
        return True  # without a count of all
    (counted,) = engine.count_rows([Term("", expression)], ranking.budget + 1)
    return counted.rows > ranking.budget


def _group_results(rows: Sequence[RankedRow], decay: float | None) -> list[RankedRow]:
    """Return the best row of each result with the result's score, best first. Without a decay each row is a result."""
    if decay is None:
        return list(rows)
    by_key: dict[str, list[RankedRow]] = {}
    for row in rows:
        by_key.setdefault(row.key, []).append(row)
    results = []
    for group in by_key.values():
        score = sum(row.score * decay**place for place, row in enumerate(group[:_SCORED_PASSAGES]))
        others = tuple(row.number for row in group[1:_SCORED_PASSAGES])
        results.append(group[0]._replace(score=score, others=others))
    # Sorting is stable, so the last key counts most: score, then time, then path.
    results.sort(key=lambda row: row.path)
    results.sort(key=lambda row: row.at, reverse=True)
    return sorted(results, key=lambda row: row.score, reverse=True)


def _favor_coverage(
    engine: TextSearchEngine, terms: Sequence[Term], results: Sequence[RankedRow], coverage: float
) -> list[RankedRow]:
    """Return the results with scores that grow with the share of the terms in their best rows, best first."""
    rows_of = [(row.number, *row.others)[:_COVERED_ROWS] for row in results]
    texts = engine.load_texts([number for numbers in rows_of for number in numbers])
    stems = [_find_stems(term) for term in terms]
    favored = []
    for row, numbers in zip(results, rows_of, strict=True):
        text = remove_separators("\n".join(texts.get(number, "") for number in numbers)).lower()
        share = sum(any(stem in text for stem in of_term) for of_term in stems) / len(stems)
        favored.append(row._replace(score=row.score * (1 + coverage * share)))
    return sorted(favored, key=lambda row: row.score, reverse=True)


def _find_stems(term: Term) -> list[str]:
    """Return the beginning that a form of the term has in a text: a guess at stems that only the tokenizer knows."""
    words = (remove_separators(word).lower() for word in _QUOTED.findall(term.expression))
    return [word[: max(_MIN_STEM, len(word) - _MAX_ENDING)] if word.isalpha() else word for word in words]


class SqliteTextSearch(SqliteVocabulary):
    """Full text in SQLite's FTS5 table."""

    def rank_rows(
        self, query: Query, agent_id: str | None, ranking: Ranking, expression: str, limit: int, choosing: str = ""
    ) -> list[RankedRow]:
        sql = SELECT_RANKED.format(
            found=_SELECT_MATCHES + _CHOSEN * bool(choosing) if expression else SELECT_ALL,
            passages=MAX_PASSAGES,
            artifacts=filter_sql.build_artifact_condition(query.filters),
            entries=filter_sql.build_entry_condition(query.filters),
        )
        values = {
            **filter_sql.build_values(query.filters, agent_id),
            "words": expression,
            "choosing": choosing,
            "weights": f"bm25({', '.join(map(str, ranking.weights))})",
            "tools": ranking.tools,
            "most": limit if limit != NO_LIMIT else 1 << 40,
        }
        return [RankedRow(*row[:-1]) for row in self.connection.execute(sql, values)]

    def load_texts(self, numbers: Sequence[int]) -> Mapping[int, str]:
        rows = full_text.read_rows(self.connection, numbers)
        return {row.number: f"{row.title} {row.sentence} {row.body}" for row in rows}

    def load_hits(
        self, expressions: Sequence[str], rows: Sequence[RankedRow], *, is_first_rare: bool = False
    ) -> list[Hit]:
        shown = dict[int, tuple[str, str]]()
        if expressions and is_first_rare:
            values = expressions[0], json.dumps([row.number for row in rows])
            found = self.connection.execute(_BODY_SNIPPETS, values)
            shown = {number: (snippet, turns) for snippet, turns, number in found if SNIPPET_MARKS[0] in snippet}
        return [
            self._load_hit(row, shown.get(row.number) or self._load_snippet(expressions, row.number)) for row in rows
        ]

    def _load_hit(self, row: RankedRow, shown: tuple[str, str]) -> Hit:
        snippet, turns = remove_separators(shown[0]), shown[1]
        if row.number < 0:
            columns = self.connection.execute(_SELECT_ENTRY, (row.number,)).fetchone()
            session, values = columns[:ORIGIN_COLUMNS], columns[ORIGIN_COLUMNS:]
            return build_entry_hit(books.decode_entry(values), session, row.score, snippet)
        columns = self.connection.execute(_SELECT_ARTIFACT, (row.number,)).fetchone()
        return build_session_hit(columns, row, snippet, fts_rows.parse_turn_range(turns))

    def _load_snippet(self, expressions: Sequence[str], number: int) -> tuple[str, str]:
        """Return a row's snippet and its passage's turns, none for a match outside of the body."""
        for expression in expressions:
            found = self.connection.execute(_BODY_SNIPPET, (expression, number)).fetchone()
            if found and SNIPPET_MARKS[0] in found[0]:
                return found[0], found[1]
        if not expressions:
            body, turns = self.connection.execute(_SELECT_PREVIEW, (number,)).fetchone() or ("", "")
            return build_preview(body), turns
        found = self.connection.execute(_ANY_COLUMN_SNIPPET, (expressions[-1], number)).fetchone()
        return found or ("", "")


def build_preview(body: str) -> str:
    """Return the beginning of a body, cut at a word.

    >>> build_preview("word " * 40)[-16:]
    'word word word …'
    """
    if len(body) <= _MAX_PREVIEW:
        return body
    shown = body[:_MAX_PREVIEW]
    return f"{shown.rpartition(' ')[0] or shown} …"


def build_session_hit(columns: Sequence[Any], row: RankedRow, snippet: str, turns: tuple[int, int] | None) -> Hit:
    """Return the hit of an artifact's passage, given the artifact's `HIT_COLUMNS`."""
    *origin, path, project, project_key, at, sentence, title, ask, outcome, files = columns
    session_id, token, agent_id, kind = origin
    shown = build_title(ask or "", outcome or "", title)
    return Hit(
        session_id, token, agent_id, kind, path, row.score, snippet, project, at, sentence, shown, outcome, turns,
        of_tools=row.of_tools, rows=(row.number, *row.others), files=tuple((files or "").splitlines()),
        project_key=project_key or "",
    )  # fmt: skip


def build_entry_hit(entry: EntryRow, session: tuple[str | None, ...], score: float, snippet: str) -> Hit:
    """Return the hit of an entry; `session` is (id, token, agent, project, its key) of its origin, None without one."""
    session_id, token, agent_id, project, project_key = session
    if entry.scope.startswith(AGENT_SCOPE_PREFIX):
        agent_id = entry.scope.removeprefix(AGENT_SCOPE_PREFIX)
    return Hit(
        session_id, token, agent_id, ENTRY_KIND, entry.path, score, snippet, project, entry.at or None, None, None,
        None, entry=entry, files=tuple(name for sort, name in map(split_subject, entry.about) if sort == FILE),
        project_key=project_key or "",
    )  # fmt: skip
