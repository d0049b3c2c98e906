"""An index that is built in parts, each a database of its own, and the parts become one. (performance: Reindex)

FTS5 keeps its index in segments, each whole in itself, and a record that lists them: the segments of tables with other
rows can be laid beside its own. The record's form is SQLite's business, so it is tried first, on tables of one row;
where that fails, or a part holds something unknown, its text is indexed again.
"""

import shutil
import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from lineage.index import ledger, schema, texts
from lineage.index.rows import COLUMNS, Row

_SEGMENT_BITS = 37  # of a page's number, below those that name its segment
_MOST_SEGMENTS = 2000
_AVERAGES, _STRUCTURE = 1, 10  # the numbers of two records that belong to no segment
_COOKIE_BYTES = 4
_AUTOMERGE, _CRISISMERGE = 4, 16

_INSERT = f"insert into artifacts (id, {', '.join(COLUMNS)}) values (?{', ?' * len(COLUMNS)})"
_COPIED = ("search_content", "search_docsize")
_PAGES = f"""
    insert into main.search_data select id + (?1 << {_SEGMENT_BITS}), block from part.search_data
    where id >= 1 << {_SEGMENT_BITS}
"""
_TERMS = "insert into main.search_idx select segid + ?, term, pgno from part.search_idx"
_RECORD = "select block from {database}.search_data where id = ?"
_REPLACED = "update main.search_data set block = ? where id = ?"
_TEXTS = "insert into search (rowid, title, sentence, body, turns) select id, c0, c1, c2, c3 from part.search_content"


class _UnknownForm(Exception):
    """A record of FTS5 isn't of the form that is known here."""


class _Structure(NamedTuple):
    """Which segments there are: (number, first page, last page) of each, and how many pages were ever written."""

    cookie: bytes
    written: int
    segments: list[tuple[int, int, int]]


@dataclass(frozen=True, slots=True)
class Part:
    """See `base.Part`: a database of its own, a copy of `empty`. It is not durable."""

    path: Path
    empty: Path

    @contextmanager
    def writing(self) -> Iterator[Callable[[Sequence[tuple[int, Row]]], None]]:
        shutil.copyfile(self.empty, self.path)
        with closing(_opened(self.path)) as connection:
            connection.execute("begin")
            yield partial(_write, connection)
            connection.execute("commit")


def _write(connection: sqlite3.Connection, rows: Sequence[tuple[int, Row]]) -> None:
    connection.executemany(_INSERT, ((number, *row[: len(COLUMNS)]) for number, row in rows))
    texts.write(connection, (text for number, row in rows for text in texts.texts_of(number, row)))


def create_empty(path: Path) -> None:
    """The database that every part is a copy of. Its segments are left as they are written: merging comes later."""
    with closing(_opened(path)) as connection:
        schema.create(connection)
        _merge(connection, 0, _MOST_SEGMENTS)


class Building:
    """See `base.Building`: a whole that is made of parts, in a folder of its own. `path` is where it lies."""

    present: Collection[str] = ()

    def __init__(self, folder: Path) -> None:
        self.path = folder / "whole.db"
        self._empty = folder / "empty.db"
        self._by_segments = is_form_known(folder)
        create_empty(self._empty)

    def part(self, number: int) -> Part:
        return Part(self.path.with_name(f"part-{number}.db"), self._empty)

    def add(self, number: int) -> None:
        """Adds the rows and the text of a part, which is gone afterwards; no row's number is in two of them."""
        part = self.part(number)
        if not self.path.exists():
            part.path.rename(self.path)
            return
        with closing(_opened(self.path)) as connection:
            connection.execute("attach ? as part", (str(part.path),))
            connection.execute("begin")
            connection.execute("insert into main.artifacts select * from part.artifacts")
            _join_texts(connection, by_segments=self._by_segments)
            connection.execute("commit")
        part.path.unlink()

    def finish(self) -> None:
        """Makes what is derived from all rows together, and lets FTS5 merge segments as it does by itself."""
        with closing(_opened(self.path)) as connection:
            connection.execute("begin")
            ledger.fill(connection)
            if self._by_segments:
                _lower_segments(connection)
            _merge(connection, _AUTOMERGE, _CRISISMERGE)
            connection.execute("commit")


def is_form_known(folder: Path) -> bool:
    """Whether this SQLite keeps segments in the form that is known here: two small tables, joined, are sound."""
    paths = [folder / f"trial-{number}.db" for number in (1, 2)]
    for number, path in enumerate(paths, 1):
        with closing(_opened(path)) as connection:
            for statement in texts.TABLES:
                connection.execute(statement)
            texts.write(connection, [(number, "title", f"word{number}", "what both say", "")])
    try:
        with closing(_opened(paths[0])) as connection:
            connection.execute("attach ? as part", (str(paths[1]),))
            _join_segments(connection)
        with closing(_opened(paths[0])) as connection:
            connection.execute("insert into search (search) values ('integrity-check')")
            found = connection.execute("select rowid from search where search match 'say word2' order by rank")
            return found.fetchall() == [(2,)]
    except (_UnknownForm, sqlite3.DatabaseError):
        return False


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("pragma journal_mode = off")
    connection.execute("pragma synchronous = off")
    return connection


def _merge(connection: sqlite3.Connection, automerge: int, crisismerge: int) -> None:
    """How many segments of a level FTS5 merges step by step, and how many at once."""
    for name, value in (("automerge", automerge), ("crisismerge", crisismerge)):
        connection.execute("insert into search (search, rank) values (?, ?)", (name, value))


def _lower_segments(connection: sqlite3.Connection) -> None:
    """Puts the segments of a part that nothing was joined to where those of a joined one are."""
    with suppress(_UnknownForm):
        block = _packed(_structure(_record(connection, "main", _STRUCTURE)))
        connection.execute(_REPLACED, (block, _STRUCTURE))


def _join_texts(connection: sqlite3.Connection, *, by_segments: bool) -> None:
    """Adds the text of the attached part."""
    if by_segments:
        try:
            _join_segments(connection)
            return
        except _UnknownForm:
            pass  # nothing was written yet
    connection.execute(_TEXTS)


def _join_segments(connection: sqlite3.Connection) -> None:
    """Lays the segments of the attached part beside those that there are. Raises _UnknownForm before anything is
    written. The table itself must not have been asked for anything: it would not see what changed."""
    here, part = (_structure(_record(connection, name, _STRUCTURE)) for name in ("main", "part"))
    totals = [_varints(_record(connection, name, _AVERAGES)) for name in ("main", "part")]
    offset = max((number for number, *_ in here.segments), default=0)
    added = [(number + offset, first, last) for number, first, last in part.segments]
    if any(number >= _MOST_SEGMENTS for number, *_ in added) or len({len(total) for total in totals if total}) > 1:
        raise _UnknownForm
    joined = _Structure(here.cookie, here.written + part.written, [*here.segments, *added])
    sums = [sum(pair) for pair in zip(*filter(None, totals), strict=True)]
    for table in _COPIED:
        connection.execute(f"insert into main.{table} select * from part.{table}")
    connection.execute(_PAGES, (offset,))
    connection.execute(_TERMS, (offset,))
    for number, block in ((_STRUCTURE, _packed(joined)), (_AVERAGES, b"".join(map(_varint, sums)))):
        connection.execute(_REPLACED, (block, number))


def _record(connection: sqlite3.Connection, database: str, number: int) -> bytes:
    found = connection.execute(_RECORD.format(database=database), (number,)).fetchone()
    if not found or not isinstance(found[0], bytes):
        raise _UnknownForm
    return found[0]


def _structure(block: bytes) -> _Structure:
    """What the record of the segments says. A merge that is under way is not known here."""
    rest = iter(_varints(block[_COOKIE_BYTES:]))
    segments: list[tuple[int, int, int]] = []
    try:
        levels, count, written = next(rest), next(rest), next(rest)
        for _ in range(levels):
            merging, several = next(rest), next(rest)
            if merging:
                raise _UnknownForm
            segments += [(next(rest), next(rest), next(rest)) for _ in range(several)]
    except StopIteration as error:
        raise _UnknownForm from error
    if len(segments) != count or next(rest, None) is not None:
        raise _UnknownForm
    return _Structure(block[:_COOKIE_BYTES], written, segments)


def _packed(structure: _Structure) -> bytes:
    """All segments on the second level: on the first, so many would be merged at once by whoever writes next."""
    count = len(structure.segments)
    numbers = [2, count, structure.written, 0, 0, 0, count, *(number for one in structure.segments for number in one)]
    return structure.cookie + b"".join(map(_varint, numbers))


def _varints(block: bytes) -> list[int]:
    """SQLite's numbers of variable length: seven bits a byte, the highest first. The longest are not known here."""
    found, value, length = [], 0, 0
    for byte in block:
        value, length = value << 7 | byte & 0x7F, length + 1
        if byte < 0x80:
            found.append(value)
            value = length = 0
        elif length == 8:
            raise _UnknownForm
    if length:
        raise _UnknownForm
    return found


def _varint(value: int) -> bytes:
    groups = [value & 0x7F]
    while value := value >> 7:
        groups.append(value & 0x7F | 0x80)
    return bytes(reversed(groups))
