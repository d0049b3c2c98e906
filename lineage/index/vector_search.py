"""What of the index has vectors, and the results that vectors lead to.

What search may show to nobody has none: private and trial sessions, what they said, what waits for confirmation, what
was forgotten. The filters of a query and its phrases hold here as in the full text.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from lineage.core.search.passages import MAX_PASSAGES
from lineage.core.search.query import Filters, Query
from lineage.core.search.segmentation import remove_separators
from lineage.index import filter_sql
from lineage.index.fts_query import join_or, quote
from lineage.index.schema import VERSION
from lineage.index.text_search import Hit, RankedRow, SqliteTextSearch
from lineage.index.vectors import EmbeddableRow

if TYPE_CHECKING:
    from lineage.index.base import Index
    from lineage.index.vectors import Neighbor, VectorSource

_HASH_BYTES = 16
PUBLIC_VALUES = filter_sql.build_values(Filters(), None)
SELECT_ARTIFACTS = f"""
    select a.source_path, a.source_sha256 from artifacts a
    where a.source_kind != 'manifest' and {filter_sql.build_artifact_condition(Filters())}
"""
SELECT_ONE_ARTIFACT = f"{SELECT_ARTIFACTS} and a.source_path = :path"
_SELECT_VISIBLE_ENTRIES = f"""
    select e.path, e.place, s.title, s.sentence, s.body from book_entries e join search s on s.rowid = -e.id
    where e.shelf != 'pending' and e.hidden = 0 and {filter_sql.build_entry_condition(Filters())}
"""
SELECT_ENTRIES, SELECT_ENTRIES_OF_FILE = (
    f"{_SELECT_VISIBLE_ENTRIES} order by 1, 2",
    f"{_SELECT_VISIBLE_ENTRIES} and e.path = :path order by 1, 2",
)
SELECT_PASSAGES = f"""
    select a.source_path, s.rowid % {MAX_PASSAGES}, s.title, s.sentence, s.body from artifacts a
    join search s on s.rowid between a.id * {MAX_PASSAGES} and a.id * {MAX_PASSAGES} + {MAX_PASSAGES - 1}
    where a.source_path = :path order by s.rowid
"""
_SELECT_ROW_IDS = f"""
    with near as (
        select key, json_extract(value, '$[0]') as path, json_extract(value, '$[1]') as place from json_each(:near))
    select near.key, coalesce(a.id * {MAX_PASSAGES} + near.place, -e.id) from near
    left join artifacts a on a.source_path = near.path
    left join book_entries e on a.id is null and e.path = near.path and e.place = near.place
"""
_SELECT_TEXT = "select title, sentence, body from search where rowid = ?"
_SELECT_NEIGHBORS = """
    select json_extract(value, '$[0]') as id, json_extract(value, '$[1]') as likeness from json_each(:near)
    where {words}
"""
_MATCHES_PHRASE = "exists (select 1 from search where search match :{0} and rowid = json_extract(value, '$[0]'))"
SELECT_FILTERED = """
    with near as materialized ({near})
    select near.id, near.likeness as score, a.membership_ts as at, a.source_path as path, a.session_token as result
    from near join artifacts a on a.id = near.id / {passages} where near.id > 0 and {artifacts}
    union all
    select near.id, near.likeness, e.at, e.path, {own}
    from near join book_entries e on e.id = -near.id where near.id < 0 and {entries}
    order by score desc, at desc, path
"""


class EmbeddingText(NamedTuple):
    """What is embedded of a file: the text at a place."""

    place: int
    text: str

    @property
    def hash(self) -> bytes:
        return _hash_text(self.text)


def load_source_versions(index: "Index") -> dict[str, str]:
    """The version of each file that has something to embed."""
    with index.open_vector_search() as engine:
        artifacts = {path: _artifact_version(sha256) for path, sha256 in engine.read_artifact_hashes()}
        books = groupby(engine.read_entries(), key=lambda piece: piece.path)
        return artifacts | {path: _book_version(map(_build_embedding_text, pieces)) for path, pieces in books}


def is_current(index: "Index", source: "VectorSource") -> bool:
    """Whether a file is there, may be shown, and says what it said."""
    with index.open_vector_search() as engine:
        version = next((_artifact_version(sha256) for _, sha256 in engine.read_artifact_hashes(source.path)), None)
        return source.version == (
            version or _book_version(map(_build_embedding_text, engine.read_entries(source.path)))
        )


def load_embedding_texts(index: "Index", path: str) -> list[EmbeddingText]:
    """What is to be embedded of a file now, in order."""
    with index.open_vector_search() as engine:
        if next(iter(engine.read_artifact_hashes(path)), None) is None:
            return list(map(_build_embedding_text, engine.read_entries(path)))
        return [text for piece in engine.read_passages(path) if (text := _build_embedding_text(piece)).text]


def build_hits(
    index: "Index",
    query: Query,
    agent_id: str | None,
    neighbors: "Sequence[Neighbor]",
    limit: int,
    *,
    by_passage: bool = False,
) -> list[Hit]:
    """The results that passages near to a query make, the likest first: each session's best, or every passage. A
    passage that says something else by now makes none."""
    with index.open_vector_search() as engine:
        standing = [
            (number, 1 - neighbors[place].distance)
            for place, number, piece in engine.find_rows(neighbors)
            if _build_embedding_text(piece).hash == neighbors[place].hash
        ]
        first: dict[str | int, RankedRow] = {}
        for row in engine.filter_rows(query, agent_id, standing):
            first.setdefault(row.number if by_passage else row.key, row)
        return engine.load_hits("", list(first.values())[:limit])


class SqliteVectorSearch(SqliteTextSearch):
    """See `vectors.EmbeddedTexts`: the rows of SQLite."""

    def read_artifact_hashes(self, path: str | None = None) -> Iterator[tuple[str, str]]:
        return self.connection.execute(
            SELECT_ONE_ARTIFACT if path else SELECT_ARTIFACTS, {**PUBLIC_VALUES, "path": path}
        )

    def read_entries(self, path: str | None = None) -> Iterator[EmbeddableRow]:
        rows = self.connection.execute(
            SELECT_ENTRIES_OF_FILE if path else SELECT_ENTRIES, {**PUBLIC_VALUES, "path": path}
        )
        return (EmbeddableRow(*row) for row in rows)

    def read_passages(self, path: str) -> Iterator[EmbeddableRow]:
        return (EmbeddableRow(*row) for row in self.connection.execute(SELECT_PASSAGES, {"path": path}))

    def find_rows(self, neighbors: "Sequence[Neighbor]") -> Iterator[tuple[int, int, EmbeddableRow]]:
        asked = json.dumps([[one.path, one.place] for one in neighbors])
        for place, number in self.connection.execute(_SELECT_ROW_IDS, {"near": asked}).fetchall():
            row = self.connection.execute(_SELECT_TEXT, (number,)).fetchone() if number is not None else None
            if row:
                yield place, number, EmbeddableRow(neighbors[place].path, neighbors[place].place, *row)

    def filter_rows(
        self, query: Query, agent_id: str | None, scored_rows: Sequence[tuple[int, float]]
    ) -> list[RankedRow]:
        values = {
            **filter_sql.build_values(query.filters, agent_id),
            **build_phrase_values(query),
            "near": json.dumps(list(scored_rows)),
        }
        sql = build_filter_statement(
            query.filters,
            _SELECT_NEIGHBORS.format(words=build_phrase_condition(query, _MATCHES_PHRASE)),
            entry_key_sql="near.id",
        )
        return [RankedRow(*row) for row in self.connection.execute(sql, values)]


def build_filter_statement(filters: Filters, neighbors_sql: str, entry_key_sql: str) -> str:
    """The statement of `EmbeddedTexts.liked` over one that gives (id, likeness); `own` is the key of an entry's row."""
    return SELECT_FILTERED.format(
        near=neighbors_sql,
        passages=MAX_PASSAGES,
        own=entry_key_sql,
        artifacts=filter_sql.build_artifact_condition(filters),
        entries=filter_sql.build_entry_condition(filters),
    )


def build_phrase_values(query: Query) -> dict[str, str]:
    """What has to be there and what must not, as `index.query` says it; "" for nothing."""
    return {
        "phrases": " AND ".join(map(quote, query.phrases)),
        "without": join_or(map(quote, query.excluded_words)) if query.excluded_words else "",
    }


def build_phrase_condition(query: Query, match_template: str) -> str:
    """SQL: whether a row holds the phrases of a query, and nothing that must not be there. `holds` says so of what has
    the name in its braces."""
    phrases = [match_template.format("phrases")] * bool(query.phrases)
    without = [f"not {match_template.format('without')}"] * bool(query.excluded_words)
    return " and ".join(["true", *phrases, *without])


def _build_embedding_text(row: EmbeddableRow) -> EmbeddingText:
    """A row of the full text as it is embedded: its title, its sentence or tags, and what it says."""
    said = (part for part in (row.title, row.sentence, row.body) if part.strip())
    return EmbeddingText(row.place, remove_separators("\n".join(said)))


def _artifact_version(sha256: str) -> str:
    """The version of an artifact: its hash, and how it is cut into passages."""
    return f"{VERSION}-{sha256}"


def _book_version(texts: Iterable[EmbeddingText]) -> str:
    """The version of a book's file: all its texts and their places."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(b"%d %s\n" % (text.place, text.hash))
    return digest.hexdigest()


def _hash_text(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:_HASH_BYTES]
