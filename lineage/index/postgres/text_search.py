"""Full-text search in PostgreSQL: FTS5's matches and ranks, from vectors and the counts of words.

`ts_rank_cd` of one phrase adds up the weights of its places, which BM25 takes for its frequency. With the count of each
phrase and the mean length the ranks are FTS5's own. (index/text_search.py)
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lineage.core.search.index_sql import MAX_PASSAGES
from lineage.core.search.query import Query
from lineage.core.search.segmentation import remove_separators
from lineage.database.postgres import Postgres
from lineage.index import books, filter_sql
from lineage.index.filter_sql import SESSION_TOKEN_SQL
from lineage.index.fts_query import DEFAULT_RANKING, Ranking, Term
from lineage.index.fts_rows import parse_turn_range
from lineage.index.postgres.fts_rows import ROW_COUNT_TERM, WORD_COUNT_TERM
from lineage.index.postgres.tokenizer import Tokenizer, is_single_word
from lineage.index.text_search import (
    HIT_COLUMNS,
    KIND_WEIGHT,
    NO_LIMIT,
    ORIGIN_COLUMNS,
    SELECT_ALL,
    SELECT_RANKED,
    Hit,
    RankedRow,
    build_entry_hit,
    build_preview,
    build_session_hit,
)  # fmt: skip
from lineage.index.vocabulary import MAX_COMPARED_WORDS

_PHRASE = re.compile(r'"[^"]*"(?: \*)?')
_MIN_IDF = 1e-6  # of FTS5, for words in half of all rows

_LENGTH_NORM = "1.2 * (0.25 + 0.75 * words / %(mean)s::float8)"
_SELECT_MATCHES = """
    select id, -({score}) * {kind} as rank from (
        select id, words, {often} from (
            select id, words, terms, rank() over (order by ({presence}) / (1 + {norm}) desc) as place
            from search where terms @@ %(words)s::tsquery and {where}
        ) near where place <= %(looked_at)s offset 0
    ) counted
"""
_PRESENCE = "%(idf{0})s::float8 * (terms @@ %(phrase{0})s::tsquery)::integer"
_FREQUENCY = (
    "case when terms @@ %(phrase{0})s::tsquery"
    " then %(heaviest)s::float8 * ts_rank_cd(%(weights)s::real[], terms, %(phrase{0})s::tsquery)"
    " else 0 end as often{0}"
)
_SCORE = "%(idf{0})s::float8 * often{0} * 2.2 / (often{0} + {1})"
_CANDIDATES_PER_ROW = 3  # rows that are scored for each row wanted: those with the rarest words
_SELECT_ARTIFACTS = f"""
    select s.id, s.title, s.sentence, s.body, s.turns, {HIT_COLUMNS}
    from search s join artifacts a on a.id = s.id / {MAX_PASSAGES} where s.id > 0 and s.id = any(%(ids)s::bigint[])
"""
_SELECT_ENTRIES = f"""
    select x.id, x.title, x.sentence, x.body, o.session_id, nullif({SESSION_TOKEN_SQL}, ''), o.agent_id, o.project,
           o.project_key,
           {", ".join(f"e.{name}" for name in books.COLUMNS)}
    from search x join book_entries e on e.id = -x.id
    left join lateral (
        select * from artifacts where session_token = {SESSION_TOKEN_SQL} order by source_path limit 1
    ) o on true
    where x.id < 0 and x.id = any(%(ids)s::bigint[])
"""
_COUNT = "(select count(*) from (select 1 from search where terms @@ %s::tsquery limit {most}) matches)"
_SUM = "(select coalesce(sum(rows), 0) from vocabulary where term = %s)"
_SELECT_WORDS = f"""
    select term from vocabulary
    where term >= %s and term < %s and length(term) between %s and %s and term !~ '[0-9]'
    group by term having sum(rows) > 0 order by term limit {MAX_COMPARED_WORDS}
"""
_SELECT_TEXTS = """
    select id, title || ' ' || sentence || ' ' || body from search where id = any(%(ids)s::bigint[])
"""
_UNLIMITED = 1 << 40


def _compute_idf(rows: int, count: int) -> float:
    """Return the weight of a phrase in `count` of the rows, as FTS5 computes it."""
    return max(math.log((rows - count + 0.5) / (count + 0.5)), _MIN_IDF) if rows >= count else _MIN_IDF


def to_postgres_sql(condition: str) -> str:
    """Return a condition of `index.filter_sql` in the server's SQL.

    >>> to_postgres_sql("a.kind in (select value from json_each(:kinds)) and b like '%x'")
    "a.kind in (select value from unnest(%(kinds)s::text[]) as each(value)) and b like '%%x'"
    """
    condition = condition.replace("%", "%%")
    condition = re.sub(r"json_each\(:(\w+)\)", r"unnest(%(\1)s::text[]) as each(value)", condition)
    return re.sub(r"(?<![:\w]):([a-z_]+)", r"%(\1)s", condition)


class PostgresTextSearch:
    """Implement `index.text_search.TextSearchEngine` on one schema."""

    def __init__(self, database: Postgres, tokenizer: Tokenizer) -> None:
        self.database = database
        self.tokenizer = tokenizer

    def count_rows(self, terms: Sequence[Term], limit: int) -> list[Term]:
        counts = self._count_queries(self.tokenizer.build_queries([term.expression for term in terms]), limit)
        return [replace(term, rows=count) for term, count in zip(terms, counts, strict=True)]

    def find_ubiquitous(self, terms: Sequence[Term]) -> set[Term]:
        queries = self.tokenizer.build_queries([term.expression for term in terms])
        (rows,) = self._count_queries([ROW_COUNT_TERM], 0)
        counts = self._count_queries(queries, rows // 2 + 1)
        return {term for term, count in zip(terms, counts, strict=True) if 2 * count > rows}

    def find_words(self, start: str, stop: str, min_length: int, max_length: int) -> Iterable[str]:
        return [row[0] for row in self.database.execute(_SELECT_WORDS, (start, stop, min_length, max_length))]

    def build_match_statement(
        self, expression: str, limit: int, where: str = "true", ranking: Ranking = DEFAULT_RANKING
    ) -> tuple[str, dict[str, Any]]:
        """Return the statement that selects number and rank of matching rows, and its values. Smaller ranks are better.

        Beyond `limit` rows only those with the rarest words are scored.
        """
        phrases = Counter(_PHRASE.findall(expression))  # a repeated phrase counts as often, as in FTS5
        full, *each = self.tokenizer.build_queries([expression, *phrases])
        rows, words, *counts = self._count_queries([ROW_COUNT_TERM, WORD_COUNT_TERM, *each], ranking.common + 1)
        heaviest = max(ranking.weights)
        title, sentence, body = (weight / heaviest for weight in ranking.weights)
        values = {
            "words": full,
            "mean": max(words, 1) / max(rows, 1),
            "looked_at": _CANDIDATES_PER_ROW * limit,
            # the server takes weights up to 1, of the classes D, C, B, A
            "heaviest": heaviest,
            "weights": [0.1, body, sentence, title],
            "tools": ranking.tools,
        }
        known = [(phrase, count, n) for phrase, count, n in zip(each, counts, phrases.values(), strict=True) if count]
        for place, (phrase, count, repeats) in enumerate(known):
            values |= {f"phrase{place}": phrase, f"idf{place}": _compute_idf(rows, count) * repeats}
        score, often, presence = (
            [part.format(place, _LENGTH_NORM) for place in range(len(known))]
            for part in (_SCORE, _FREQUENCY, _PRESENCE)
        )
        statement = _SELECT_MATCHES.format(
            score=" + ".join(score) or "0",
            often=", ".join(often) or "0 as never",
            presence=" + ".join(presence) or "0",
            norm=_LENGTH_NORM,
            kind=to_postgres_sql(KIND_WEIGHT.format("id", ":tools")),
            where=where,
        )
        return statement, values

    def rank_rows(
        self, query: Query, agent_id: str | None, ranking: Ranking, expression: str, limit: int, choosing: str = ""
    ) -> list[RankedRow]:
        limit = limit if limit != NO_LIMIT else _UNLIMITED
        matches, match_values = SELECT_ALL, dict[str, Any]()
        if expression:
            where = "terms @@ %(choosing)s::tsquery" if choosing else "true"
            matches, match_values = self.build_match_statement(expression, limit, where, ranking)
            if choosing:
                (match_values["choosing"],) = self.tokenizer.build_queries([choosing])
        statement = SELECT_RANKED.format(
            found="{found}",
            passages=MAX_PASSAGES,
            artifacts=filter_sql.build_artifact_condition(query.filters),
            entries=filter_sql.build_entry_condition(query.filters),
        )
        # `matches` is in the server's SQL already.
        statement = to_postgres_sql(statement).replace("{found}", matches)
        values = {
            **filter_sql.build_values(query.filters, agent_id),
            "kinds": list(query.filters.kinds),
            "project_keys": list(query.filters.project_keys),
            "most": limit,
            **match_values,
        }
        return [RankedRow(*row[:-1]) for row in self.database.execute(statement, values)]

    def load_texts(self, numbers: Sequence[int]) -> Mapping[int, str]:
        return dict(self.database.execute(_SELECT_TEXTS, {"ids": list(numbers)}))

    def load_hits(
        self, expressions: Sequence[str], rows: Sequence[RankedRow], *, is_first_rare: bool = False
    ) -> list[Hit]:
        if not rows:
            return []
        values = {"ids": [row.number for row in rows]}
        loaded = [*self.database.execute(_SELECT_ARTIFACTS, values), *self.database.execute(_SELECT_ENTRIES, values)]
        by_number = {columns[0]: columns for columns in loaded}
        # A row may be deleted between the two statements.
        return [self._build_hit(expressions, row, by_number[row.number]) for row in rows if row.number in by_number]

    def _build_hit(self, expressions: Sequence[str], row: RankedRow, columns: Sequence[Any]) -> Hit:
        _, title, sentence, body, *rest = columns
        snippet, is_body = "", True
        if not expressions:
            snippet = build_preview(remove_separators(body))
        for expression in expressions:
            snippet, is_body = self.tokenizer.build_snippet(expression, title, sentence, body)
            if is_body:
                break
        if row.number < 0:
            session, values = tuple(rest[:ORIGIN_COLUMNS]), rest[ORIGIN_COLUMNS:]
            return build_entry_hit(books.decode_entry(values), session, row.score, snippet)
        turns, *columns = rest
        return build_session_hit(columns, row, snippet, parse_turn_range(turns if is_body else ""))

    def _count_queries(self, queries: Sequence[str], limit: int) -> list[int]:
        """Return the number of rows of each query, from one statement. Phrases are counted to `limit`."""
        if not queries:
            return []
        parts, values = [], []
        for query in queries:
            if query in (ROW_COUNT_TERM, WORD_COUNT_TERM):
                parts.append(_SUM)
                values.append(query)
            elif is_single_word(query):
                parts.append(_SUM)
                values.append(query.strip("'"))
            else:
                parts.append(_COUNT.format(most=limit))
                values.append(query)
        return [int(count) for count in self.database.execute(f"select {', '.join(parts)}", values)[0]]
