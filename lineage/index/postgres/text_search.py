"""Search in PostgreSQL: FTS5's matches and ranks, out of vectors and the counts of words.

`ts_rank_cd` of one phrase adds up the weights of the places where it stands: that is what BM25 takes for the phrase's
frequency. With the count of each phrase and the mean length the ranks are FTS5's own. (index/searching.py)
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from lineage.core.search.passages import MAX_PASSAGES
from lineage.core.search.query import Query
from lineage.core.search.segmentation import remove_separators
from lineage.database.postgres import Postgres
from lineage.index import books, filter_sql
from lineage.index.filter_sql import SESSION_TOKEN_SQL
from lineage.index.fts_query import DEFAULT_RANKING, Ranking, Term
from lineage.index.fts_rows import parse_turn_range
from lineage.index.postgres.fts_rows import ROW_COUNT_TERM, WORD_COUNT_TERM
from lineage.index.postgres.tokenizer import Tokenizer, is_single_word, unquote_word
from lineage.index.text_search import NO_LIMIT, Hit, RankedRow, build_entry_hit
from lineage.index.vocabulary import MAX_COMPARED_WORDS

_PHRASE = re.compile(r'"[^"]*"(?: \*)?')
_MIN_IDF = 1e-6

_LENGTH_NORM = "1.2 * (0.25 + 0.75 * words / %(mean)s::float8)"
_SELECT_MATCHES = """
    select id, -({score}) as rank from (
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
_CANDIDATES_PER_ROW = (
    3  # times as many rows as are wanted are counted, those with the rarest words; the others have fewer
)
_SELECT_ALL = f"""
    select id * {MAX_PASSAGES} as id, 0.0::double precision as rank from artifacts where source_kind <> 'manifest'
    union all select -id, 0.0 from book_entries where shelf <> 'pending' and hidden = 0
"""
_SELECT_RANKED = """
    with found as materialized ({found}),
         least as materialized (select rank from found order by rank limit 1 offset %(most)s)
    select found.id, -found.rank as score, a.membership_ts as at, a.source_path as path, a.session_token as key,
           lpad((found.id %% {passages})::text, 8, '0') as place
    from found join artifacts a on a.id = found.id / {passages}
    where found.id > 0 and found.rank <= coalesce((select rank from least), 9e9) and {artifacts}
    union all
    select found.id, -found.rank, e.at, e.path, found.id::text, e.entry_id
    from found join book_entries e on e.id = -found.id
    where found.id < 0 and found.rank <= coalesce((select rank from least), 9e9) and {entries}
    order by score desc, at desc, path, place
"""
_SELECT_ARTIFACTS = f"""
    select s.id, s.title, s.sentence, s.body, s.turns, a.session_id, a.session_token, a.agent_id, a.source_kind,
           a.source_path, a.project, a.membership_ts, a.memory_sentence
    from search s join artifacts a on a.id = s.id / {MAX_PASSAGES} where s.id > 0 and s.id = any(%(ids)s::bigint[])
"""
_SELECT_ENTRIES = f"""
    select x.id, x.title, x.sentence, x.body, o.session_id, nullif({SESSION_TOKEN_SQL}, ''), o.agent_id, o.project,
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
_PREVIEW_LENGTH = 160
_UNLIMITED = 1 << 40


def _compute_idf(rows: int, count: int) -> float:
    """What a phrase in so many of the rows weighs, as FTS5 has it."""
    return max(math.log((rows - count + 0.5) / (count + 0.5)), _MIN_IDF) if rows >= count else _MIN_IDF


def _build_weight_values(ranking: Ranking) -> dict[str, Any]:
    """What a word weighs by its column, in parts of the heaviest: the server takes weights up to 1."""
    title, sentence, body = ranking.weights
    heaviest = max(ranking.weights)
    return {"heaviest": heaviest, "weights": [0.1, body / heaviest, sentence / heaviest, title / heaviest]}


def to_postgres_sql(condition: str) -> str:
    """A condition of `index.filtering` as the server takes it.

    >>> to_postgres_sql("a.kind in (select value from json_each(:kinds)) and b like '%x'")
    "a.kind in (select value from unnest(%(kinds)s::text[]) as each(value)) and b like '%%x'"
    """
    condition = condition.replace("%", "%%")
    condition = re.sub(r"json_each\(:(\w+)\)", r"unnest(%(\1)s::text[]) as each(value)", condition)
    return re.sub(r"(?<![:\w]):([a-z_]+)", r"%(\1)s", condition)


class PostgresTextSearch:
    """Words, matches and ranks of one schema. See `index.searching.Engine`."""

    def __init__(self, database: Postgres, tokenizer: Tokenizer) -> None:
        self.database = database
        self.tokenizer = tokenizer

    def count_rows(self, terms: Sequence[Term], limit: int) -> list[Term]:
        queries = self.tokenizer.build_queries([term.expression for term in terms])
        return [
            term._replace(rows=count) for term, count in zip(terms, self._count_queries(queries, limit), strict=True)
        ]

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
        """The statement that gives number and rank (the less the better) of rows that match, and what it is bound to.
        Of more rows than `most` it counts words in those alone that have the rarest."""
        phrases = Counter(_PHRASE.findall(expression))  # each counts as often as it stands there, as in FTS5
        whole, *each = self.tokenizer.build_queries([expression, *phrases])
        rows, length, *counts = self._count_queries([ROW_COUNT_TERM, WORD_COUNT_TERM, *each], ranking.common + 1)
        weighed = zip(each, counts, phrases.values(), strict=True)
        asked = [(phrase, _compute_idf(rows, count) * times) for phrase, count, times in weighed if count]
        values = {"words": whole, "mean": max(length, 1) / max(rows, 1), "looked_at": _CANDIDATES_PER_ROW * limit}
        values |= _build_weight_values(ranking)
        for place, (phrase, idf) in enumerate(asked):
            values |= {f"phrase{place}": phrase, f"idf{place}": idf}
        parts = [
            [part.format(place, _LENGTH_NORM) for place in range(len(asked))] or ["0" + last]
            for part, last in ((_SCORE, ""), (_FREQUENCY, " as never"), (_PRESENCE, ""))
        ]
        score, often, presence = " + ".join(parts[0]), ", ".join(parts[1]), " + ".join(parts[2])
        return _SELECT_MATCHES.format(
            score=score, often=often, presence=presence, norm=_LENGTH_NORM, where=where
        ), values

    def rank_rows(
        self, query: Query, agent_id: str | None, ranking: Ranking, expression: str, limit: int
    ) -> list[RankedRow]:
        wanted = limit if limit != NO_LIMIT else _UNLIMITED
        found, bound = (
            self.build_match_statement(expression, wanted, ranking=ranking) if expression else (_SELECT_ALL, {})
        )
        statement = _SELECT_RANKED.format(
            found=found,
            passages=MAX_PASSAGES,
            artifacts=to_postgres_sql(filter_sql.build_artifact_condition(query.filters)),
            entries=to_postgres_sql(filter_sql.build_entry_condition(query.filters)),
        )
        values = {
            **filter_sql.build_values(query.filters, agent_id),
            "kinds": list(query.filters.kinds),
            "most": wanted,
            **bound,
        }
        return [RankedRow(*row[:-1]) for row in self.database.execute(statement, values)]

    def load_hits(self, expression: str, rows: Sequence[RankedRow]) -> list[Hit]:
        asked = {"ids": [row.number for row in rows]}
        rows = (
            [*self.database.execute(_SELECT_ARTIFACTS, asked), *self.database.execute(_SELECT_ENTRIES, asked)]
            if rows
            else []
        )
        found = {row[0]: row for row in rows}
        return [self._build_hit(expression, one, found[one.number]) for one in rows if one.number in found]

    def _build_hit(self, expression: str, ranked: RankedRow, row: Sequence[Any]) -> Hit:
        _, title, sentence, body, *rest = row
        snippet, is_said = remove_separators(body[:_PREVIEW_LENGTH]), True
        if expression:
            snippet, is_said = self.tokenizer.build_snippet(expression, title, sentence, body)
        if ranked.number > 0:
            turns, session_id, token, agent_id, kind, path, *shown = rest
            project, at, said = shown
            return Hit(
                session_id, token, agent_id, kind, path, ranked.score, snippet, project, at, said,
                parse_turn_range(turns if is_said else ""),
            )  # fmt: skip
        return build_entry_hit(books.decode_entry(rest[4:]), tuple(rest[:4]), ranked.score, snippet)

    def _count_queries(self, queries: Sequence[str], limit: int) -> list[int]:
        """In how many rows each query is found, of phrases up to `most`, in one statement."""
        if not queries:
            return []
        counted = [
            (_SUM, query if query in (ROW_COUNT_TERM, WORD_COUNT_TERM) else unquote_word(query)) for query in queries
        ]
        asked = [
            one
            if query in (ROW_COUNT_TERM, WORD_COUNT_TERM) or is_single_word(query)
            else (_COUNT.format(most=limit), query)
            for one, query in zip(counted, queries, strict=True)
        ]
        statement = f"select {', '.join(part for part, _ in asked)}"
        return [int(count) for count in self.database.execute(statement, [value for _, value in asked])[0]]
