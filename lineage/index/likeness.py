"""What of the index has vectors, and the results that vectors lead to.

What search may show to nobody has none: private and trial sessions, what they said, what waits for confirmation, what
was forgotten. The filters of a query and its phrases hold here as in the full text.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from lineage.core.passages import MOST
from lineage.core.query import Filters, Query
from lineage.core.segmentation import joined
from lineage.index import filtering
from lineage.index.query import any_of, quoted
from lineage.index.schema import VERSION
from lineage.index.searching import Fts, Hit, Ranked
from lineage.index.vectors import Piece

if TYPE_CHECKING:
    from lineage.index.base import Index
    from lineage.index.vectors import Near, Source

_HASH_BYTES = 16
ANYBODY = filtering.values(Filters(), None)
ARTIFACTS = f"""
    select a.source_path, a.source_sha256 from artifacts a
    where a.source_kind != 'manifest' and {filtering.of_artifacts(Filters())}
"""
ONE_ARTIFACT = f"{ARTIFACTS} and a.source_path = :path"
_SHOWN_ENTRIES = f"""
    select e.path, e.place, s.title, s.sentence, s.body from book_entries e join search s on s.rowid = -e.id
    where e.shelf != 'pending' and e.hidden = 0 and {filtering.of_entries(Filters())}
"""
ENTRIES, ENTRIES_OF_ONE = f"{_SHOWN_ENTRIES} order by 1, 2", f"{_SHOWN_ENTRIES} and e.path = :path order by 1, 2"
PASSAGES = f"""
    select a.source_path, s.rowid % {MOST}, s.title, s.sentence, s.body from artifacts a
    join search s on s.rowid between a.id * {MOST} and a.id * {MOST} + {MOST - 1}
    where a.source_path = :path order by s.rowid
"""
_NUMBERS = f"""
    with near as (
        select key, json_extract(value, '$[0]') as path, json_extract(value, '$[1]') as place from json_each(:near))
    select near.key, coalesce(a.id * {MOST} + near.place, -e.id) from near
    left join artifacts a on a.source_path = near.path
    left join book_entries e on a.id is null and e.path = near.path and e.place = near.place
"""
_TEXT = "select title, sentence, body from search where rowid = ?"
_NEAR = """
    select json_extract(value, '$[0]') as id, json_extract(value, '$[1]') as likeness from json_each(:near)
    where {words}
"""
_HOLDS = "exists (select 1 from search where search match :{0} and rowid = json_extract(value, '$[0]'))"
LIKED = """
    with near as materialized ({near})
    select near.id, near.likeness as score, a.membership_ts as at, a.source_path as path, a.session_token as result
    from near join artifacts a on a.id = near.id / {passages} where near.id > 0 and {artifacts}
    union all
    select near.id, near.likeness, e.at, e.path, {own}
    from near join book_entries e on e.id = -near.id where near.id < 0 and {entries}
    order by score desc, at desc, path
"""


class Text(NamedTuple):
    """What is embedded of a file: the text at a place."""

    place: int
    text: str

    @property
    def hash(self) -> bytes:
        return _hash(self.text)


def sources(index: "Index") -> dict[str, str]:
    """The version of each file that has something to embed."""
    with index.reading() as engine:
        artifacts = {path: _artifact(sha256) for path, sha256 in engine.artifacts()}
        books = groupby(engine.entries(), key=lambda piece: piece.path)
        return artifacts | {path: _book(map(_text, pieces)) for path, pieces in books}


def is_current(index: "Index", source: "Source") -> bool:
    """Whether a file is there, may be shown, and says what it said."""
    with index.reading() as engine:
        version = next((_artifact(sha256) for _, sha256 in engine.artifacts(source.path)), None)
        return source.version == (version or _book(map(_text, engine.entries(source.path))))


def texts_of(index: "Index", path: str) -> list[Text]:
    """What is to be embedded of a file now, in order."""
    with index.reading() as engine:
        if next(iter(engine.artifacts(path)), None) is None:
            return list(map(_text, engine.entries(path)))
        return [text for piece in engine.passages(path) if (text := _text(piece)).text]


def hits(
    index: "Index",
    query: Query,
    agent_id: str | None,
    near: "Sequence[Near]",
    limit: int,
    *,
    by_passage: bool = False,
) -> list[Hit]:
    """The results that passages near to a query make, the likest first: each session's best, or every passage. A
    passage that says something else by now makes none."""
    with index.reading() as engine:
        standing = [
            (number, 1 - near[place].distance)
            for place, number, piece in engine.standing(near)
            if _text(piece).hash == near[place].hash
        ]
        first: dict[str | int, Ranked] = {}
        for row in engine.liked(query, agent_id, standing):
            first.setdefault(row.number if by_passage else row.key, row)
        return engine.shown("", list(first.values())[:limit])


class Texts(Fts):
    """See `vectors.EmbeddedTexts`: the rows of SQLite."""

    def artifacts(self, path: str | None = None) -> Iterator[tuple[str, str]]:
        return self.connection.execute(ONE_ARTIFACT if path else ARTIFACTS, {**ANYBODY, "path": path})

    def entries(self, path: str | None = None) -> Iterator[Piece]:
        rows = self.connection.execute(ENTRIES_OF_ONE if path else ENTRIES, {**ANYBODY, "path": path})
        return (Piece(*row) for row in rows)

    def passages(self, path: str) -> Iterator[Piece]:
        return (Piece(*row) for row in self.connection.execute(PASSAGES, {"path": path}))

    def standing(self, near: "Sequence[Near]") -> Iterator[tuple[int, int, Piece]]:
        asked = json.dumps([[one.path, one.place] for one in near])
        for place, number in self.connection.execute(_NUMBERS, {"near": asked}).fetchall():
            row = self.connection.execute(_TEXT, (number,)).fetchone() if number is not None else None
            if row:
                yield place, number, Piece(near[place].path, near[place].place, *row)

    def liked(self, query: Query, agent_id: str | None, near: Sequence[tuple[int, float]]) -> list[Ranked]:
        values = {**filtering.values(query.filters, agent_id), **asked_for(query), "near": json.dumps(list(near))}
        sql = liked(query.filters, _NEAR.format(words=holding(query, _HOLDS)), own="near.id")
        return [Ranked(*row) for row in self.connection.execute(sql, values)]


def liked(filters: Filters, near: str, own: str) -> str:
    """The statement of `EmbeddedTexts.liked` over one that gives (id, likeness); `own` is the key of an entry's row."""
    return LIKED.format(
        near=near,
        passages=MOST,
        own=own,
        artifacts=filtering.of_artifacts(filters),
        entries=filtering.of_entries(filters),
    )


def asked_for(query: Query) -> dict[str, str]:
    """What has to be there and what must not, as `index.query` says it; "" for nothing."""
    return {
        "phrases": " AND ".join(map(quoted, query.phrases)),
        "without": any_of(map(quoted, query.without)) if query.without else "",
    }


def holding(query: Query, holds: str) -> str:
    """SQL: whether a row holds the phrases of a query, and nothing that must not be there. `holds` says so of what has
    the name in its braces."""
    phrases = [holds.format("phrases")] * bool(query.phrases)
    without = [f"not {holds.format('without')}"] * bool(query.without)
    return " and ".join(["true", *phrases, *without])


def _text(piece: Piece) -> Text:
    """A row of the full text as it is embedded: its title, its sentence or tags, and what it says."""
    said = (part for part in (piece.title, piece.sentence, piece.body) if part.strip())
    return Text(piece.place, joined("\n".join(said)))


def _artifact(sha256: str) -> str:
    """The version of an artifact: its hash, and how it is cut into passages."""
    return f"{VERSION}-{sha256}"


def _book(texts: Iterable[Text]) -> str:
    """The version of a book's file: all its texts and their places."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(b"%d %s\n" % (text.place, text.hash))
    return digest.hexdigest()


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:_HASH_BYTES]
