"""Books in the index: a row for each entry, its text in the full-text table that holds the artifacts' too.

There an entry has its row's number below zero, so that ranks compare whatever they rank. What waits for confirmation
has a row and no text: nothing finds it. (format: Books)
"""

import hashlib
import json
import re
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from lineage.core import naming
from lineage.core.body import cleaned
from lineage.core.book import Book, parsed_book, superseded
from lineage.core.book_paths import PENDING, BookRef
from lineage.core.entry import Entry
from lineage.index import texts

SESSION = "session/"
AGENT = "agent/"

_NEWEST, _OLDEST = "~", ""  # than any year
_TIME_AS_TITLE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")


class EntryRow(NamedTuple):
    """An entry as the index has it. `text` is what it says, `title` its heading; `shelf` is "" while the book is in
    use, else the year of an archive, or `pending`, and `place` the entry's in that file; `at` is "" for what the human
    wrote without a marker.

    `standing` is False for what another entry took the place of, and for what waits. `hidden` is what nothing finds: it
    was forgotten on another shelf, or lies on a newer one too. `owner` is the token of the session whose book it is,
    `origin_token` that of the session that `origin` names; "" where there is none.
    """

    path: str
    id: str
    scope: str
    kind: str
    shelf: str
    place: int
    at: str
    trust: str
    source: str
    tool: str | None
    origin: str | None
    tags: tuple[str, ...]
    supersedes: tuple[str, ...]
    done: bool | None
    pinned: bool
    standing: bool
    hidden: bool
    owner: str
    origin_token: str
    title: str
    text: str


class Shelf(NamedTuple):
    """A book's file as it was read: `stamp` is what the store lists for it."""

    ref: BookRef
    data: bytes
    stamp: str


class Shelves(NamedTuple):
    """The files of a book. What the sessions in `removed` said has no row."""

    scope: str
    kind: str
    files: tuple[Shelf, ...]
    removed: frozenset[str]


class File(NamedTuple):
    """What a file says, by itself."""

    path: str
    stamp: str
    sha256: str
    forgotten: tuple[str, ...]
    rows: tuple[EntryRow, ...]
    buried: tuple[EntryRow, ...] = ()
    problems: tuple[str, ...] = ()


class Shelved(NamedTuple):
    """A book's rows. `files` are (path, sha256); `buried` is what removed sessions said, which has no row; `problems`
    is (path, what can't be made out)."""

    files: tuple[tuple[str, str], ...]
    rows: tuple[EntryRow, ...]
    buried: tuple[EntryRow, ...]
    problems: tuple[tuple[str, str], ...]


COLUMNS = tuple("entry_id" if name == "id" else name for name in EntryRow._fields)
_FLAGS = ("pinned", "standing", "hidden")
_LISTS = ("tags", "supersedes")
_TYPES = dict.fromkeys(("place", "done", *_FLAGS), "integer")
_MAY_BE_NULL = {"tool", "origin", "done"}
_DECLARED = ", ".join(
    f"{name} {_TYPES.get(name, 'text')}{'' if name in _MAY_BE_NULL else ' not null'}" for name in COLUMNS
)

TABLES = (
    "create table if not exists books (path text primary key, scope text not null, kind text not null,"
    " stamp text not null, sha256 text not null, forgotten text not null) without rowid",
    "create index if not exists books_scope on books (scope, kind)",
    f"create table if not exists book_entries (id integer primary key, {_DECLARED})",
    "create index if not exists book_entries_scope on book_entries (scope, kind)",
    "create index if not exists book_entries_owner on book_entries (owner)",
    "create index if not exists book_entries_origin on book_entries (origin_token)",
)

_LISTED = ", ".join(COLUMNS)
_INSERT = f"insert into book_entries ({_LISTED}) values ({', '.join('?' * len(COLUMNS))})"
_FILES = "select path, stamp, sha256, forgotten from books where scope = ? and kind = ?"
_ROWS = f"select id, {_LISTED} from book_entries where scope = ? and kind = ? order by path, place"
_NAMING = "owner in (select value from json_each(?1)) or origin_token in (select value from json_each(?1))"


def shelved(book: Shelves) -> Shelved:
    """The rows that a book's files make."""
    files = _settled([_parsed(shelf, book.removed) for shelf in _in_order(book)])
    return Shelved(
        files=tuple((file.path, file.sha256) for file in files),
        rows=tuple(row for file in files for row in file.rows),
        buried=tuple(row for file in files for row in file.buried),
        problems=tuple((file.path, problem) for file in files for problem in file.problems),
    )


def keep_up(connection: sqlite3.Connection, book: Shelves) -> None:
    """Makes the rows of a book those that its files make; a row that stays as it is isn't touched."""
    numbers = {entry_row(row[1:]): row[0] for row in connection.execute(_ROWS, (book.scope, book.kind))}
    files = brought_up(book, numbers, connection.execute(_FILES, (book.scope, book.kind)))
    wanted = dict.fromkeys(row for file in files for row in file.rows)
    _drop(connection, [number for row, number in numbers.items() if row not in wanted])
    for row in wanted:
        if row not in numbers:
            _add(connection, row)
    connection.execute("delete from books where scope = ? and kind = ?", (book.scope, book.kind))
    for file in files:
        connection.execute("insert into books values (?, ?, ?, ?, ?, ?)", file_values(book, file))


def brought_up(
    book: Shelves, known: Iterable[EntryRow], known_files: Iterable[tuple[str, str, str, str]]
) -> list[File]:
    """What a book's files say now. `known` are the rows that the index has of it, `known_files` its (path, stamp,
    sha256, forgotten): a file that is as it was isn't parsed again, for archives grow for ever."""
    rows: dict[str, list[EntryRow]] = {}
    for row in known:
        if row.origin_token not in book.removed:
            rows.setdefault(row.path, []).append(row)
    before = {
        path: File(path, stamp, sha256, tuple(json.loads(forgotten)), tuple(rows.get(path, ())))
        for path, stamp, sha256, forgotten in known_files
    }
    return _settled(
        [
            file._replace(stamp=shelf.stamp)
            if (file := before.get(shelf.ref.path)) and file.sha256 == _sha256(shelf.data)
            else _parsed(shelf, book.removed)
            for shelf in _in_order(book)
        ]
    )


def file_values(book: Shelves, file: File) -> tuple[str, ...]:
    """The row of a book's file."""
    return file.path, book.scope, book.kind, file.stamp, file.sha256, json.dumps(file.forgotten)


def _in_order(book: Shelves) -> list[Shelf]:
    """What is in use, then archives, newest first, then what waits; none of a removed session's."""
    if owner_of(book.scope) in book.removed:
        return []
    ages = {"": _NEWEST, PENDING: _OLDEST}
    return sorted(book.files, key=lambda shelf: ages.get(shelf.ref.shelf, shelf.ref.shelf), reverse=True)


def _parsed(shelf: Shelf, removed: frozenset[str]) -> File:
    ref, book = shelf.ref, parsed_book(shelf.data, shelf.ref.scope, shelf.ref.kind)
    rows = [_row(ref, place, entry) for place, entry in enumerate((*book.hand, *book.entries))]
    return File(
        path=ref.path,
        stamp=shelf.stamp,
        sha256=_sha256(shelf.data),
        forgotten=tuple(sorted(book.forgotten)),
        rows=tuple(row for row in rows if row.origin_token not in removed),
        buried=tuple(row for row in rows if row.origin_token in removed),
        problems=() if _is_all_by_hand(book) else book.problems,
    )


def _is_all_by_hand(book: Book) -> bool:
    """Whether a file has neither properties nor markers: a note of the human's, with which nothing is wrong."""
    text = "".join(part.raw for part in book.parts)
    return not book.head and len(book.problems) == 1 and not text.lstrip("\ufeff").startswith("---")


def _settled(files: Sequence[File]) -> list[File]:
    """What one shelf says bears on all: which entries are forgotten, which have given way to another, and which of two
    copies is found, as after a move that was cut off: that in use, else that of the newest archive."""
    forgotten = frozenset(identifier for file in files for identifier in file.forgotten)
    gone = superseded(_entry(row) for file in reversed(files) for row in file.rows if row.shelf != PENDING)
    seen: set[tuple[str, str]] = set()

    def settled(row: EntryRow) -> EntryRow:
        standing = row.shelf != PENDING and row.id not in gone
        hidden = row.id in forgotten or (row.id, row.text) in seen
        seen.add((row.id, row.text))
        is_so = (row.standing, row.hidden) == (standing, hidden)
        return row if is_so else row._replace(standing=standing, hidden=hidden)

    return [file._replace(rows=tuple(map(settled, file.rows))) for file in files]


def _row(ref: BookRef, place: int, entry: Entry) -> EntryRow:
    return EntryRow(
        path=ref.path,
        id=entry.id,
        scope=ref.scope,
        kind=ref.kind,
        shelf=ref.shelf,
        place=place,
        at=entry.at,
        trust=entry.trust,
        source=cleaned(entry.source),
        tool=cleaned(entry.tool) if entry.tool is not None else None,
        origin=cleaned(entry.origin) if entry.origin is not None else None,
        tags=tuple(map(cleaned, entry.tags)),
        supersedes=tuple(map(cleaned, entry.supersedes)),
        done=entry.done,
        pinned=entry.pinned,
        standing=True,
        hidden=False,
        owner=owner_of(ref.scope),
        origin_token=next(iter(naming.tokens_in(entry.origin or "")), ""),
        title=cleaned(entry.title),
        text=cleaned(entry.body),
    )


def _entry(row: EntryRow) -> Entry:
    """As much of an entry as says what it supersedes."""
    return Entry(id=row.id, at=row.at, source=row.source, text="", tool=row.tool, supersedes=row.supersedes)


def owner_of(scope: str) -> str:
    """The token of the session whose own scope it is, "" for any other."""
    return scope.removeprefix(SESSION) if scope.startswith(SESSION) else ""


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def forget(connection: sqlite3.Connection, token: str) -> int:
    """Drops the rows of what a session said, in its own books and in others; how many."""
    asked = (json.dumps([token]),)
    numbers = [row[0] for row in connection.execute(f"select id from book_entries where {_NAMING}", asked)]
    _drop(connection, numbers)
    connection.execute("delete from books where scope = ?", (SESSION + token,))
    return len(numbers)


def naming_any(connection: sqlite3.Connection, tokens: Collection[str]) -> Iterator[tuple[str, str]]:
    """(scope, kind) of the books with a row of what one of these sessions said."""
    sql = f"select distinct scope, kind from book_entries where {_NAMING} order by scope, kind"
    yield from connection.execute(sql, (json.dumps(sorted(tokens)),))


def rows_of(connection: sqlite3.Connection, scope: str, kind: str) -> Iterator[EntryRow]:
    return (entry_row(values[1:]) for values in connection.execute(_ROWS, (scope, kind)))


def _add(connection: sqlite3.Connection, row: EntryRow) -> None:
    number = connection.execute(_INSERT, entry_values(row)).lastrowid
    if number is not None:
        texts.write(connection, texts_of(number, row))


def texts_of(number: int, row: EntryRow) -> list[texts.Text]:
    """What an entry is found by: nothing of one that waits, or is hidden."""
    if row.shelf == PENDING or row.hidden:
        return []
    title = "" if _TIME_AS_TITLE.fullmatch(row.title) or row.text.startswith(row.title) else row.title
    return [texts.entry_text(number, title, " ".join(row.tags), row.text)]


def _drop(connection: sqlite3.Connection, numbers: Iterable[int]) -> None:
    gone = list(numbers)
    texts.drop_entries(connection, gone)
    connection.executemany("delete from book_entries where id = ?", ((number,) for number in gone))


def entry_values(row: EntryRow) -> list[object]:
    """The row for a database, its values in the order of `COLUMNS`."""
    values = row._asdict()
    lists = {name: json.dumps(values[name], ensure_ascii=False) for name in _LISTS}
    return list({**values, **lists}.values())


def entry_row(values: Sequence[Any]) -> EntryRow:
    """The row that a database gives back, its values in the order of `COLUMNS`."""
    named = dict(zip(EntryRow._fields, values, strict=True))
    for name in _LISTS:
        named[name] = tuple(json.loads(named[name]))
    for name in _FLAGS:
        named[name] = bool(named[name])
    return EntryRow(**{**named, "done": None if named["done"] is None else bool(named["done"])})
