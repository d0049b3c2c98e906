"""What of the index has vectors, and the results that vectors lead to.

What search may show to nobody has none: private and trial sessions, what they said, what waits for confirmation, what
was forgotten. The filters of a query and its phrases hold here as in the full text.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from lineage.core.passages import MOST
from lineage.core.query import Filters, Query
from lineage.core.segmentation import joined
from lineage.index import filtering
from lineage.index.query import any_of, quoted
from lineage.index.schema import VERSION
from lineage.index.searching import Hit, Ranked, hit_of
from lineage.index.sqlite import Index
from lineage.index.vectors import Near, Source

_HASH_BYTES = 16
_ANYBODY = filtering.values(Filters(), None)
_ARTIFACTS = f"from artifacts a where a.source_kind != 'manifest' and {filtering.of_artifacts(Filters())}"
_ENTRY_TEXTS = f"""
    select e.path, e.place, s.title, s.sentence, s.body from book_entries e join search s on s.rowid = -e.id
    where e.shelf != 'pending' and e.hidden = 0 and {filtering.of_entries(Filters())}
"""
_PASSAGES = f"""
    select s.rowid % {MOST}, s.title, s.sentence, s.body
    from search s where s.rowid between :id * {MOST} and :id * {MOST} + {MOST - 1} order by s.rowid
"""
_NUMBERS = f"""
    with near as (
        select key, json_extract(value, '$[0]') as path, json_extract(value, '$[1]') as place from json_each(:near))
    select near.key, coalesce(a.id * {MOST} + near.place, -e.id) from near
    left join artifacts a on a.source_path = near.path
    left join book_entries e on a.id is null and e.path = near.path and e.place = near.place
"""
_NEAR = """
    with near as materialized (
        select json_extract(value, '$[0]') as id, json_extract(value, '$[1]') as likeness from json_each(:near)
        where {words})
    select near.id, near.likeness as score, a.membership_ts as at, a.source_path as path, a.session_token as result
    from near join artifacts a on a.id = near.id / {passages} where near.id > 0 and {artifacts}
    union all
    select near.id, near.likeness, e.at, e.path, near.id
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


def sources(index: Index) -> dict[str, str]:
    """The version of each file that has something to embed."""
    with index.reading() as connection:
        found = connection.execute(f"select a.source_path, a.source_sha256 {_ARTIFACTS}", _ANYBODY)
        artifacts = {path: _artifact(sha256) for path, sha256 in found}
        rows = connection.execute(f"{_ENTRY_TEXTS} order by 1, 2", _ANYBODY)
        books = groupby(rows, key=lambda row: str(row[0]))
        return artifacts | {path: _book(_text(*row[1:]) for row in group) for path, group in books}


def is_current(index: Index, source: Source) -> bool:
    """Whether a file is there, may be shown, and says what it said."""
    with index.reading() as connection:
        found = _number(connection, source.path)
        return source.version == (_artifact(found[1]) if found else _book(_entries(connection, source.path)))


def texts_of(index: Index, path: str) -> list[Text]:
    """What is to be embedded of a file now, in order."""
    with index.reading() as connection:
        found = _number(connection, path)
        if found is None:
            return _entries(connection, path)
        rows = connection.execute(_PASSAGES, {"id": found[0]})
        return [text for row in rows if (text := _text(*row)).text]


def hits(
    index: Index,
    query: Query,
    agent_id: str | None,
    near: Sequence[Near],
    limit: int,
    *,
    by_passage: bool = False,
) -> list[Hit]:
    """The results that passages near to a query make, the likest first: each session's best, or every passage. A
    passage that says something else by now makes none."""
    sql = _NEAR.format(
        words=_holding(query),
        passages=MOST,
        artifacts=filtering.of_artifacts(query.filters),
        entries=filtering.of_entries(query.filters),
    )
    values = {
        **filtering.values(query.filters, agent_id),
        "phrases": " AND ".join(map(quoted, query.phrases)),
        "without": any_of(map(quoted, query.without)) if query.without else "",
    }
    with index.reading() as connection:
        values["near"] = json.dumps(list(_numbered(connection, near)))
        rows = [Ranked(*row) for row in connection.execute(sql, values)]
        first: dict[str | int, Ranked] = {}
        for row in rows:
            first.setdefault(row.number if by_passage else row.key, row)
        return [hit_of(connection, "", row) for row in list(first.values())[:limit]]


def _holding(query: Query) -> str:
    """SQL: whether a row holds the phrases of a query, and nothing that must not be there."""
    asked = "exists (select 1 from search where search match :{0} and rowid = json_extract(value, '$[0]'))"
    phrases = [asked.format("phrases")] * bool(query.phrases)
    without = [f"not {asked.format('without')}"] * bool(query.without)
    return " and ".join(["1", *phrases, *without])


def _numbered(connection: sqlite3.Connection, near: Sequence[Near]) -> Iterator[tuple[int, float]]:
    """The rows of what is near, each with its likeness; those alone whose text is still the same."""
    asked = json.dumps([[one.path, one.place] for one in near])
    read = "select title, sentence, body from search where rowid = ?"
    for place, number in connection.execute(_NUMBERS, {"near": asked}).fetchall():
        row = connection.execute(read, (number,)).fetchone() if number is not None else None
        if row and _text(0, *row).hash == near[place].hash:
            yield number, 1 - near[place].distance


def _number(connection: sqlite3.Connection, path: str) -> tuple[int, str] | None:
    """An artifact's number and hash, where search may show it to anybody."""
    asked = {**_ANYBODY, "path": path}
    found: tuple[int, str] | None = connection.execute(
        f"select a.id, a.source_sha256 {_ARTIFACTS} and a.source_path = :path", asked
    ).fetchone()
    return found


def _entries(connection: sqlite3.Connection, path: str) -> list[Text]:
    rows = connection.execute(f"{_ENTRY_TEXTS} and e.path = :path order by 2", {**_ANYBODY, "path": path})
    return [_text(*row[1:]) for row in rows]


def _text(place: int, title: str, sentence: str, body: str) -> Text:
    """A row of the full text as it is embedded: its title, its sentence or tags, and what it says."""
    return Text(place, joined("\n".join(part for part in (title, sentence, body) if part.strip())))


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
