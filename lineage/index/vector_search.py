"""Semantic search: the rows that get vectors, and the results of the nearest vectors.

What people and agents say gets vectors, and so do summaries and entries; what tools were given and gave is found by its
words alone. Rows that search shows to nobody get none: private and trial sessions and their entries, pending and
forgotten entries. A query's filters and phrases apply as in full-text search.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any, Protocol

from lineage.core.search.index_sql import MAX_OF_KIND, MAX_PASSAGES
from lineage.core.search.query import Filters, Query
from lineage.core.search.segmentation import remove_separators
from lineage.core.search.words import join_or, quote
from lineage.full_text import read_rows
from lineage.index import filter_sql
from lineage.index.base import Index
from lineage.index.fts_rows import parse_turn_range
from lineage.index.schema import VERSION
from lineage.index.text_search import Hit, RankedRow, SqliteTextSearch
from lineage.index.vectors import EmbeddableRow, Neighbor, PassageRow, VectorSource

_HASH_BYTES = 16
PUBLIC_VALUES = filter_sql.build_values(Filters(), None)
_SELECT_ARTIFACTS = f"""
    select a.source_path, a.source_sha256 from artifacts a
    where a.source_kind != 'manifest' and {filter_sql.build_artifact_condition(Filters())}
"""
_SELECT_ONE_ARTIFACT = f"{_SELECT_ARTIFACTS} and a.source_path = :path"
_SELECT_ARTIFACTS_OF_SESSIONS = f"""
    select a.session_token, a.source_path, a.source_sha256 from artifacts a
    where a.session_token in (select value from json_each(:tokens)) and a.source_kind != 'manifest'
      and {filter_sql.build_artifact_condition(Filters())}
"""
_SELECT_VISIBLE_ENTRIES = f"""
    select e.path, e.place, s.title, s.sentence, s.body from book_entries e join search s on s.rowid = -e.id
    where e.shelf != 'pending' and e.hidden = 0 and {filter_sql.build_entry_condition(Filters())}
"""
_SELECT_ENTRIES, _SELECT_ENTRIES_OF_FILE = (
    f"{_SELECT_VISIBLE_ENTRIES} order by 1, 2",
    f"{_SELECT_VISIBLE_ENTRIES} and e.path = :path order by 1, 2",
)
_SELECT_PASSAGES = f"""
    select a.source_path, s.rowid % {MAX_PASSAGES}, s.title, s.sentence, s.body from artifacts a
    join search s on s.rowid between a.id * {MAX_PASSAGES} and a.id * {MAX_PASSAGES} + {MAX_OF_KIND - 1}
    where a.source_path = :path order by s.rowid
"""
_SELECT_PASSAGE_ROWS = f"""
    select s.rowid, a.source_path, a.source_kind, s.turns, s.body
    from search s join artifacts a on a.id = s.rowid / {MAX_PASSAGES} where s.rowid in ({{}})
"""
# The lengths of the rows are a small table: their texts would be read from the disk, or once for each artifact.
_COUNT_EMBEDDABLE = f"""
    select (select count(*) from search_docsize s join artifacts a on a.id = s.id / {MAX_PASSAGES}
            where s.id > 0 and s.id % {MAX_PASSAGES} < {MAX_OF_KIND} and a.source_kind != 'manifest'
              and {filter_sql.build_artifact_condition(Filters())})
         + (select count(*) from book_entries e
            where e.shelf != 'pending' and e.hidden = 0 and {filter_sql.build_entry_condition(Filters())})
"""
_SELECT_ROW_IDS = f"""
    with near as (
        select key, json_extract(value, '$[0]') as path, json_extract(value, '$[1]') as place from json_each(:near))
    select near.key, coalesce(a.id * {MAX_PASSAGES} + near.place, -e.id) from near
    left join artifacts a on a.source_path = near.path
    left join book_entries e on a.id is null and e.path = near.path and e.place = near.place
"""
_ROWS_AT_ONCE = 400
_SELECT_NEIGHBORS = """
    select json_extract(value, '$[0]') as id, json_extract(value, '$[1]') as likeness from json_each(:near)
    where {words}
"""
_MATCHES_PHRASE = "exists (select 1 from search where search match :{0} and rowid = json_extract(value, '$[0]'))"
_SELECT_FILTERED = """
    with near as materialized ({near})
    select near.id, near.likeness as score, a.membership_ts as at, a.source_path as path, a.session_token as result
    from near join artifacts a on a.id = near.id / {passages} where near.id > 0 and {artifacts}
    union all
    select near.id, near.likeness, e.at, e.path, cast(near.id as text)
    from near join book_entries e on e.id = -near.id where near.id < 0 and {entries}
    order by score desc, at desc, path
"""


@dataclass(frozen=True, slots=True)
class EmbeddingText:
    """A text to embed, at a place in a file."""

    place: int
    text: str

    @property
    def hash(self) -> bytes:
        """Return the hash of the text."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).digest()[:_HASH_BYTES]


def load_source_versions(index: Index) -> dict[str, str]:
    """Return the version of each file with texts to embed."""
    with index.open_vector_search() as engine:
        artifacts = {path: _artifact_version(sha256) for path, sha256 in engine.read_artifact_hashes()}
        books = groupby(engine.read_entries(), key=lambda row: row.path)
        return artifacts | {path: _book_version(rows) for path, rows in books}


def load_hit_sources(index: Index, hits: Sequence[Hit], *, by_passage: bool) -> dict[str, list[VectorSource]]:
    """Return the files that the vectors of each hit come from, by its path: all of its session's, or its passage's."""
    tokens = {hit.session_token for hit in hits if hit.entry is None and hit.session_token}
    with index.open_vector_search() as engine:
        of_sessions: dict[str, list[VectorSource]] = {}
        for token, path, sha256 in engine.read_session_hashes(sorted(tokens)) if tokens else ():
            of_sessions.setdefault(token, []).append(VectorSource(path, _artifact_version(sha256)))
        of_books = {
            path: [VectorSource(path, _book_version(engine.read_entries(path)))]
            for path in sorted({hit.path for hit in hits if hit.entry is not None})
        }
    found = {hit.path: of_sessions.get(hit.session_token or "", []) for hit in hits if hit.entry is None}
    if by_passage:
        found = {path: [source for source in sources if source.path == path] for path, sources in found.items()}
    return found | of_books


def count_embeddable(index: Index) -> int:
    """Return the number of texts that get vectors."""
    with index.open_vector_search() as engine:
        return engine.count_embeddable()


def is_current(index: Index, source: VectorSource) -> bool:
    """Return whether a file exists, may be shown, and has this version."""
    with index.open_vector_search() as engine:
        for _, sha256 in engine.read_artifact_hashes(source.path):
            return source.version == _artifact_version(sha256)
        return source.version == _book_version(engine.read_entries(source.path))


def load_embedding_texts(index: Index, path: str) -> list[EmbeddingText]:
    """Return the texts to embed of a file, in order."""
    with index.open_vector_search() as engine:
        if next(iter(engine.read_artifact_hashes(path)), None) is None:
            return list(map(_build_embedding_text, engine.read_entries(path)))
        return [text for row in engine.read_passages(path) if (text := _build_embedding_text(row)).text]


def build_hits(
    index: Index,
    query: Query,
    agent_id: str | None,
    neighbors: Sequence[Neighbor],
    limit: int,
    *,
    by_passage: bool = False,
) -> list[Hit]:
    """Return the nearest unchanged passages, nearest first: the best of each session, or every passage."""
    with index.open_vector_search() as engine:
        unchanged = [
            (number, 1 - neighbors[place].distance)
            for place, number, row in engine.find_rows(neighbors)
            if _build_embedding_text(row).hash == neighbors[place].hash
        ]
        groups: dict[str, list[RankedRow]] = {}
        for ranked in engine.filter_rows(query, agent_id, unchanged):
            groups.setdefault(str(ranked.number) if by_passage else ranked.key, []).append(ranked)
        results = (rows[0]._replace(others=tuple(row.number for row in rows[1:])) for rows in groups.values())
        return engine.load_hits((), list(islice(results, limit)))


class EmbeddableTexts(Protocol):
    """The texts to embed, read by statements that both engines run."""

    def read_artifact_hashes(self, path: str | None = None) -> Iterable[tuple[str, str]]:
        """Return path and hash of all visible artifacts, or of one."""
        return self._read(_SELECT_ONE_ARTIFACT if path else _SELECT_ARTIFACTS, path)

    def read_session_hashes(self, tokens: Sequence[str]) -> Iterable[tuple[str, str, str]]:
        """Return token, path and hash of the visible artifacts of these sessions."""
        return self._read(_SELECT_ARTIFACTS_OF_SESSIONS, None, tokens)

    def read_entries(self, path: str | None = None) -> Iterable[EmbeddableRow]:
        """Return the visible entries of all books' files, or of one."""
        return (EmbeddableRow(*row) for row in self._read(_SELECT_ENTRIES_OF_FILE if path else _SELECT_ENTRIES, path))

    def read_passages(self, path: str) -> Iterable[EmbeddableRow]:
        """Return the passages of an artifact."""
        return (EmbeddableRow(*row) for row in self._read(_SELECT_PASSAGES, path))

    def read_passage_rows(self, numbers: Iterable[int]) -> Iterable[PassageRow]:
        """Return the passages of these numbers; those of entries are none."""
        statement = _SELECT_PASSAGE_ROWS.format(", ".join(map(str, numbers)) or "null")
        for number, path, kind, turns, body in self._read(statement, None):
            yield PassageRow(number, path, kind, parse_turn_range(turns), remove_separators(body))

    def count_embeddable(self) -> int:
        """Return the number of visible passages of speech, and of visible entries."""
        return int(next(iter(self._read(_COUNT_EMBEDDABLE, None)))[0])

    def _read(self, statement: str, path: str | None, tokens: Sequence[str] = ()) -> Iterable[Any]:
        """Return the rows of a statement in SQLite's words."""


class SqliteVectorSearch(SqliteTextSearch, EmbeddableTexts):
    """Implement `vectors.EmbeddedTexts` on SQLite's rows."""

    def _read(self, statement: str, path: str | None, tokens: Sequence[str] = ()) -> Iterable[Any]:
        values = {**PUBLIC_VALUES, "path": path, "tokens": json.dumps(list(tokens))}
        return self.connection.execute(statement, values)

    def find_rows(self, neighbors: Sequence[Neighbor]) -> Iterator[tuple[int, int, EmbeddableRow]]:
        """Return the current rows at the places of `neighbors`."""
        near = json.dumps([[neighbor.path, neighbor.place] for neighbor in neighbors])
        found = self.connection.execute(_SELECT_ROW_IDS, {"near": near}).fetchall()
        known = [(place, number) for place, number in found if number is not None]
        for start in range(0, len(known), _ROWS_AT_ONCE):
            some = known[start : start + _ROWS_AT_ONCE]
            rows = {row.number: row for row in read_rows(self.connection, [number for _, number in some])}
            for place, number in some:
                if row := rows.get(number):
                    near_row = neighbors[place]
                    yield place, number, EmbeddableRow(near_row.path, near_row.place, row.title, row.sentence, row.body)

    def filter_rows(
        self, query: Query, agent_id: str | None, scored_rows: Sequence[tuple[int, float]]
    ) -> list[RankedRow]:
        """Return the rows that pass the query's filters and phrases, best first."""
        values = {
            **filter_sql.build_values(query.filters, agent_id),
            **build_phrase_values(query),
            "near": json.dumps(list(scored_rows)),
        }
        neighbors_sql = _SELECT_NEIGHBORS.format(words=build_phrase_condition(query, _MATCHES_PHRASE))
        sql = build_filter_statement(query.filters, neighbors_sql)
        return [RankedRow(*row) for row in self.connection.execute(sql, values)]


def build_filter_statement(filters: Filters, neighbors_sql: str) -> str:
    """Return the statement of `EmbeddedTexts.filter_rows`, given one that selects (id, likeness)."""
    return _SELECT_FILTERED.format(
        near=neighbors_sql,
        passages=MAX_PASSAGES,
        artifacts=filter_sql.build_artifact_condition(filters),
        entries=filter_sql.build_entry_condition(filters),
    )


def build_phrase_values(query: Query) -> dict[str, str]:
    """Return the expressions of required phrases and of excluded words, "" for none."""
    return {
        "phrases": " AND ".join(map(quote, query.phrases)),
        "without": join_or(map(quote, query.excluded)) if query.excluded else "",
    }


def build_phrase_condition(query: Query, match_template: str) -> str:
    """Return the condition on a row for the phrases and excluded words of a query.

    `match_template` is a condition with the name of a bound expression in its braces.
    """
    conditions = ["true"]
    if query.phrases:
        conditions.append(match_template.format("phrases"))
    if query.excluded:
        conditions.append(f"not {match_template.format('without')}")
    return " and ".join(conditions)


def _build_embedding_text(row: EmbeddableRow) -> EmbeddingText:
    parts = (part for part in (row.title, row.sentence, row.body) if part.strip())
    return EmbeddingText(row.place, remove_separators("\n".join(parts)))


def _artifact_version(sha256: str) -> str:
    # The schema's version stands for the way a text is split into passages, the word for those that get vectors.
    return f"prose-{VERSION}-{sha256}"


def _book_version(rows: Iterable[EmbeddableRow]) -> str:
    digest = hashlib.sha256()
    for text in map(_build_embedding_text, rows):
        digest.update(b"%d %s\n" % (text.place, text.hash))
    return digest.hexdigest()
