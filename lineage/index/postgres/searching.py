"""Search in PostgreSQL: FTS5's matches and ranks, out of vectors and the counts of words.

`ts_rank_cd` of one phrase adds up the weights of the places where it stands: that is what BM25 takes for the phrase's
frequency. With the count of each phrase and the mean length the ranks are FTS5's own. (index/searching.py)
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from lineage.core.passages import MOST
from lineage.core.query import Query
from lineage.core.segmentation import joined
from lineage.index import books, filtering
from lineage.index.filtering import SPEAKER
from lineage.index.postgres.texts import LENGTHS, ROWS
from lineage.index.postgres.words import Words, is_word, word_of
from lineage.index.query import RANKING, Ranking, Term
from lineage.index.searching import EVERY, Hit, Ranked, entry_hit
from lineage.index.terms import MOST_LOOKED_AT
from lineage.index.texts import turns_of
from lineage.store.postgres import Postgres

_PHRASE = re.compile(r'"[^"]*"(?: \*)?')
_RARELY = 1e-6

_NORM = "1.2 * (0.25 + 0.75 * words / %(mean)s::float8)"
_FOUND = """
    select id, -({score}) as rank from (
        select id, words, {often} from (
            select id, words, terms, rank() over (order by ({presence}) / (1 + {norm}) desc) as place
            from search where terms @@ %(words)s::tsquery and {where}
        ) near where place <= %(looked_at)s offset 0
    ) counted
"""
_PRESENCE = "%(idf{0})s::float8 * (terms @@ %(phrase{0})s::tsquery)::integer"
_OFTEN = (
    "case when terms @@ %(phrase{0})s::tsquery"
    " then %(heaviest)s::float8 * ts_rank_cd(%(weights)s::real[], terms, %(phrase{0})s::tsquery)"
    " else 0 end as often{0}"
)
_SCORE = "%(idf{0})s::float8 * often{0} * 2.2 / (often{0} + {1})"
_LOOKED_AT = 3  # times as many rows as are wanted are counted, those with the rarest words; the others have fewer
_LISTED = f"""
    select id * {MOST} as id, 0.0::double precision as rank from artifacts where source_kind <> 'manifest'
    union all select -id, 0.0 from book_entries where shelf <> 'pending' and hidden = 0
"""
_RANKED = """
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
_ARTIFACTS = f"""
    select s.id, s.title, s.sentence, s.body, s.turns, a.session_id, a.session_token, a.agent_id, a.source_kind,
           a.source_path, a.project, a.membership_ts, a.memory_sentence
    from search s join artifacts a on a.id = s.id / {MOST} where s.id > 0 and s.id = any(%(ids)s::bigint[])
"""
_ENTRIES = f"""
    select x.id, x.title, x.sentence, x.body, o.session_id, nullif({SPEAKER}, ''), o.agent_id, o.project,
           {", ".join(f"e.{name}" for name in books.COLUMNS)}
    from search x join book_entries e on e.id = -x.id
    left join lateral (select * from artifacts where session_token = {SPEAKER} order by source_path limit 1) o on true
    where x.id < 0 and x.id = any(%(ids)s::bigint[])
"""
_COUNT = "(select count(*) from (select 1 from search where terms @@ %s::tsquery limit {most}) matches)"
_SUM = "(select coalesce(sum(rows), 0) from vocabulary where term = %s)"
_KNOWN = f"""
    select term from vocabulary
    where term >= %s and term < %s and length(term) between %s and %s and term !~ '[0-9]'
    group by term having sum(rows) > 0 order by term limit {MOST_LOOKED_AT}
"""
_BEGINNING = 160
_EVERY_ROW = 1 << 40


def _idf(rows: int, count: int) -> float:
    """What a phrase in so many of the rows weighs, as FTS5 has it."""
    return max(math.log((rows - count + 0.5) / (count + 0.5)), _RARELY) if rows >= count else _RARELY


def _weights(ranking: Ranking) -> dict[str, Any]:
    """What a word weighs by its column, in parts of the heaviest: the server takes weights up to 1."""
    title, sentence, body = ranking.weights
    heaviest = max(ranking.weights)
    return {"heaviest": heaviest, "weights": [0.1, body / heaviest, sentence / heaviest, title / heaviest]}


def dialect(condition: str) -> str:
    """A condition of `index.filtering` as the server takes it.

    >>> dialect("a.kind in (select value from json_each(:kinds)) and b like '%x'")
    "a.kind in (select value from unnest(%(kinds)s::text[]) as each(value)) and b like '%%x'"
    """
    condition = condition.replace("%", "%%")
    condition = re.sub(r"json_each\(:(\w+)\)", r"unnest(%(\1)s::text[]) as each(value)", condition)
    return re.sub(r"(?<![:\w]):([a-z_]+)", r"%(\1)s", condition)


class FullText:
    """Words, matches and ranks of one schema. See `index.searching.Engine`."""

    def __init__(self, database: Postgres, words: Words) -> None:
        self.database = database
        self.words = words

    def counted(self, terms: Sequence[Term], most: int) -> list[Term]:
        queries = self.words.queries([term.expression for term in terms])
        return [term._replace(rows=count) for term, count in zip(terms, self._counts(queries, most), strict=True)]

    def everywhere(self, terms: Sequence[Term]) -> set[Term]:
        queries = self.words.queries([term.expression for term in terms])
        (rows,) = self._counts([ROWS], 0)
        counts = self._counts(queries, rows // 2 + 1)
        return {term for term, count in zip(terms, counts, strict=True) if 2 * count > rows}

    def known(self, first: str, past: str, shortest: int, longest: int) -> Iterable[str]:
        return [row[0] for row in self.database.rows(_KNOWN, (first, past, shortest, longest))]

    def found(
        self, expression: str, most: int, where: str = "true", ranking: Ranking = RANKING
    ) -> tuple[str, dict[str, Any]]:
        """The statement that gives number and rank (the less the better) of rows that match, and what it is bound to.
        Of more rows than `most` it counts words in those alone that have the rarest."""
        phrases = Counter(_PHRASE.findall(expression))  # each counts as often as it stands there, as in FTS5
        whole, *each = self.words.queries([expression, *phrases])
        rows, length, *counts = self._counts([ROWS, LENGTHS, *each], ranking.common + 1)
        weighed = zip(each, counts, phrases.values(), strict=True)
        asked = [(phrase, _idf(rows, count) * times) for phrase, count, times in weighed if count]
        values = {"words": whole, "mean": max(length, 1) / max(rows, 1), "looked_at": _LOOKED_AT * most}
        values |= _weights(ranking)
        for place, (phrase, idf) in enumerate(asked):
            values |= {f"phrase{place}": phrase, f"idf{place}": idf}
        parts = [
            [part.format(place, _NORM) for place in range(len(asked))] or ["0" + last]
            for part, last in ((_SCORE, ""), (_OFTEN, " as never"), (_PRESENCE, ""))
        ]
        score, often, presence = " + ".join(parts[0]), ", ".join(parts[1]), " + ".join(parts[2])
        return _FOUND.format(score=score, often=often, presence=presence, norm=_NORM, where=where), values

    def ranked(self, query: Query, agent_id: str | None, ranking: Ranking, expression: str, most: int) -> list[Ranked]:
        wanted = most if most != EVERY else _EVERY_ROW
        found, bound = self.found(expression, wanted, ranking=ranking) if expression else (_LISTED, {})
        statement = _RANKED.format(
            found=found,
            passages=MOST,
            artifacts=dialect(filtering.of_artifacts(query.filters)),
            entries=dialect(filtering.of_entries(query.filters)),
        )
        values = {
            **filtering.values(query.filters, agent_id),
            "kinds": list(query.filters.kinds),
            "most": wanted,
            **bound,
        }
        return [Ranked(*row[:-1]) for row in self.database.rows(statement, values)]

    def shown(self, expression: str, ranked: Sequence[Ranked]) -> list[Hit]:
        asked = {"ids": [row.number for row in ranked]}
        rows = [*self.database.rows(_ARTIFACTS, asked), *self.database.rows(_ENTRIES, asked)] if ranked else []
        found = {row[0]: row for row in rows}
        return [self._hit(expression, one, found[one.number]) for one in ranked if one.number in found]

    def _hit(self, expression: str, ranked: Ranked, row: Sequence[Any]) -> Hit:
        _, title, sentence, body, *rest = row
        snippet, is_said = joined(body[:_BEGINNING]), True
        if expression:
            snippet, is_said = self.words.snippet(expression, title, sentence, body)
        if ranked.number > 0:
            turns, session_id, token, agent_id, kind, path, *shown = rest
            project, at, said = shown
            return Hit(
                session_id, token, agent_id, kind, path, ranked.score, snippet, project, at, said,
                turns_of(turns if is_said else ""),
            )  # fmt: skip
        return entry_hit(books.entry_row(rest[4:]), tuple(rest[:4]), ranked.score, snippet)

    def _counts(self, queries: Sequence[str], most: int) -> list[int]:
        """In how many rows each query is found, of phrases up to `most`, in one statement."""
        if not queries:
            return []
        counted = [(_SUM, query if query in (ROWS, LENGTHS) else word_of(query)) for query in queries]
        asked = [
            one if query in (ROWS, LENGTHS) or is_word(query) else (_COUNT.format(most=most), query)
            for one, query in zip(counted, queries, strict=True)
        ]
        statement = f"select {', '.join(part for part, _ in asked)}"
        return [int(count) for count in self.database.rows(statement, [value for _, value in asked])[0]]
