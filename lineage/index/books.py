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

from lineage.core.base import naming
from lineage.core.base.book_paths import PENDING, BookRef
from lineage.core.books.book import Book, find_superseded, parse_book
from lineage.core.books.entry import Entry
from lineage.core.format.body import replace_surrogates
from lineage.index import fts_rows

SESSION_SCOPE_PREFIX = "session/"
AGENT_SCOPE_PREFIX = "agent/"

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


class BookFile(NamedTuple):
    """A book's file as it was read: `stamp` is what the store lists for it."""

    ref: BookRef
    data: bytes
    stamp: str


class BookFiles(NamedTuple):
    """The files of a book. What the sessions in `removed` said has no row."""

    scope: str
    kind: str
    files: tuple[BookFile, ...]
    removed_tokens: frozenset[str]


class ParsedBookFile(NamedTuple):
    """What a file says, by itself."""

    path: str
    stamp: str
    sha256: str
    forgotten: tuple[str, ...]
    rows: tuple[EntryRow, ...]
    removed_entries: tuple[EntryRow, ...] = ()
    problems: tuple[str, ...] = ()


class BookRows(NamedTuple):
    """A book's rows. `files` are (path, sha256); `buried` is what removed sessions said, which has no row; `problems`
    is (path, what can't be made out)."""

    files: tuple[tuple[str, str], ...]
    rows: tuple[EntryRow, ...]
    removed_entries: tuple[EntryRow, ...]
    problems: tuple[tuple[str, str], ...]


COLUMNS = tuple("entry_id" if name == "id" else name for name in EntryRow._fields)
_FLAGS = ("pinned", "standing", "hidden")
_LISTS = ("tags", "supersedes")
_TYPES = dict.fromkeys(("place", "done", *_FLAGS), "integer")
_NULLABLE = {"tool", "origin", "done"}
_COLUMN_DEFINITIONS = ", ".join(
    f"{name} {_TYPES.get(name, 'text')}{'' if name in _NULLABLE else ' not null'}" for name in COLUMNS
)

TABLES = (
    "create table if not exists books (path text primary key, scope text not null, kind text not null,"
    " stamp text not null, sha256 text not null, forgotten text not null) without rowid",
    "create index if not exists books_scope on books (scope, kind)",
    f"create table if not exists book_entries (id integer primary key, {_COLUMN_DEFINITIONS})",
    "create index if not exists book_entries_scope on book_entries (scope, kind)",
    "create index if not exists book_entries_owner on book_entries (owner)",
    "create index if not exists book_entries_origin on book_entries (origin_token)",
)

_COLUMN_LIST = ", ".join(COLUMNS)
_INSERT = f"insert into book_entries ({_COLUMN_LIST}) values ({', '.join('?' * len(COLUMNS))})"
_SELECT_FILES = "select path, stamp, sha256, forgotten from books where scope = ? and kind = ?"
_SELECT_ENTRIES = f"select id, {_COLUMN_LIST} from book_entries where scope = ? and kind = ? order by path, place"
_OF_SESSIONS = "owner in (select value from json_each(?1)) or origin_token in (select value from json_each(?1))"


def build_book_rows(book: BookFiles) -> BookRows:
    """The rows that a book's files make."""
    files = _resolve_states([_parse_file(shelf, book.removed_tokens) for shelf in _sort_by_age(book)])
    return BookRows(
        files=tuple((file.path, file.sha256) for file in files),
        rows=tuple(row for file in files for row in file.rows),
        removed_entries=tuple(row for file in files for row in file.removed_entries),
        problems=tuple((file.path, problem) for file in files for problem in file.problems),
    )


def sync_book(connection: sqlite3.Connection, book: BookFiles) -> None:
    """Makes the rows of a book those that its files make; a row that stays as it is isn't touched."""
    numbers = {decode_entry(row[1:]): row[0] for row in connection.execute(_SELECT_ENTRIES, (book.scope, book.kind))}
    files = parse_changed_files(book, numbers, connection.execute(_SELECT_FILES, (book.scope, book.kind)))
    wanted = dict.fromkeys(row for file in files for row in file.rows)
    _delete_entries(connection, [number for row, number in numbers.items() if row not in wanted])
    for row in wanted:
        if row not in numbers:
            _insert_entry(connection, row)
    connection.execute("delete from books where scope = ? and kind = ?", (book.scope, book.kind))
    for file in files:
        connection.execute("insert into books values (?, ?, ?, ?, ?, ?)", encode_file(book, file))


def parse_changed_files(
    book: BookFiles, indexed_rows: Iterable[EntryRow], indexed_files: Iterable[tuple[str, str, str, str]]
) -> list[ParsedBookFile]:
    """What a book's files say now. `known` are the rows that the index has of it, `indexed_files` its (path, stamp,
    sha256, forgotten): a file that is as it was isn't parsed again, for archives grow for ever."""
    rows: dict[str, list[EntryRow]] = {}
    for row in indexed_rows:
        if row.origin_token not in book.removed_tokens:
            rows.setdefault(row.path, []).append(row)
    before = {
        path: ParsedBookFile(path, stamp, sha256, tuple(json.loads(forgotten)), tuple(rows.get(path, ())))
        for path, stamp, sha256, forgotten in indexed_files
    }
    return _resolve_states(
        [
            file._replace(stamp=shelf.stamp)
            if (file := before.get(shelf.ref.path)) and file.sha256 == _sha256(shelf.data)
            else _parse_file(shelf, book.removed_tokens)
            for shelf in _sort_by_age(book)
        ]
    )


def encode_file(book: BookFiles, file: ParsedBookFile) -> tuple[str, ...]:
    """The row of a book's file."""
    return file.path, book.scope, book.kind, file.stamp, file.sha256, json.dumps(file.forgotten)


def _sort_by_age(book: BookFiles) -> list[BookFile]:
    """What is in use, then archives, newest first, then what waits; none of a removed session's."""
    if parse_owner_token(book.scope) in book.removed_tokens:
        return []
    ages = {"": _NEWEST, PENDING: _OLDEST}
    return sorted(book.files, key=lambda shelf: ages.get(shelf.ref.shelf, shelf.ref.shelf), reverse=True)


def _parse_file(book_file: BookFile, removed_tokens: frozenset[str]) -> ParsedBookFile:
    ref, book = book_file.ref, parse_book(book_file.data, book_file.ref.scope, book_file.ref.kind)
    rows = [_build_row(ref, place, entry) for place, entry in enumerate((*book.handwritten_entries, *book.entries))]
    return ParsedBookFile(
        path=ref.path,
        stamp=book_file.stamp,
        sha256=_sha256(book_file.data),
        forgotten=tuple(sorted(book.forgotten_ids)),
        rows=tuple(row for row in rows if row.origin_token not in removed_tokens),
        removed_entries=tuple(row for row in rows if row.origin_token in removed_tokens),
        problems=() if _is_handwritten_note(book) else book.problems,
    )


def _is_handwritten_note(book: Book) -> bool:
    """Whether a file has neither properties nor markers: a note of the human's, with which nothing is wrong."""
    text = "".join(part.raw for part in book.parts)
    return not book.head and len(book.problems) == 1 and not text.lstrip("\ufeff").startswith("---")


def _resolve_states(files: Sequence[ParsedBookFile]) -> list[ParsedBookFile]:
    """What one shelf says bears on all: which entries are forgotten, which have given way to another, and which of two
    copies is found, as after a move that was cut off: that in use, else that of the newest archive."""
    forgotten = frozenset(identifier for file in files for identifier in file.forgotten)
    gone = find_superseded(_build_entry(row) for file in reversed(files) for row in file.rows if row.shelf != PENDING)
    seen: set[tuple[str, str]] = set()

    def settled(row: EntryRow) -> EntryRow:
        standing = row.shelf != PENDING and row.id not in gone
        hidden = row.id in forgotten or (row.id, row.text) in seen
        seen.add((row.id, row.text))
        is_so = (row.standing, row.hidden) == (standing, hidden)
        return row if is_so else row._replace(standing=standing, hidden=hidden)

    return [file._replace(rows=tuple(map(settled, file.rows))) for file in files]


def _build_row(ref: BookRef, place: int, entry: Entry) -> EntryRow:
    return EntryRow(
        path=ref.path,
        id=entry.id,
        scope=ref.scope,
        kind=ref.kind,
        shelf=ref.shelf,
        place=place,
        at=entry.at,
        trust=entry.trust,
        source=replace_surrogates(entry.source),
        tool=replace_surrogates(entry.tool) if entry.tool is not None else None,
        origin=replace_surrogates(entry.origin) if entry.origin is not None else None,
        tags=tuple(map(replace_surrogates, entry.tags)),
        supersedes=tuple(map(replace_surrogates, entry.supersedes)),
        done=entry.done,
        pinned=entry.pinned,
        standing=True,
        hidden=False,
        owner=parse_owner_token(ref.scope),
        origin_token=next(iter(naming.find_tokens(entry.origin or "")), ""),
        title=replace_surrogates(entry.title),
        text=replace_surrogates(entry.body),
    )


def _build_entry(row: EntryRow) -> Entry:
    """As much of an entry as says what it supersedes."""
    return Entry(id=row.id, at=row.at, source=row.source, text="", tool=row.tool, supersedes=row.supersedes)


def parse_owner_token(scope: str) -> str:
    """The token of the session whose own scope it is, "" for any other."""
    return scope.removeprefix(SESSION_SCOPE_PREFIX) if scope.startswith(SESSION_SCOPE_PREFIX) else ""


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def delete_session(connection: sqlite3.Connection, token: str) -> int:
    """Drops the rows of what a session said, in its own books and in others; how many."""
    asked = (json.dumps([token]),)
    numbers = [row[0] for row in connection.execute(f"select id from book_entries where {_OF_SESSIONS}", asked)]
    _delete_entries(connection, numbers)
    connection.execute("delete from books where scope = ?", (SESSION_SCOPE_PREFIX + token,))
    return len(numbers)


def find_books_of_sessions(connection: sqlite3.Connection, tokens: Collection[str]) -> Iterator[tuple[str, str]]:
    """(scope, kind) of the books with a row of what one of these sessions said."""
    sql = f"select distinct scope, kind from book_entries where {_OF_SESSIONS} order by scope, kind"
    yield from connection.execute(sql, (json.dumps(sorted(tokens)),))


def load_entries(connection: sqlite3.Connection, scope: str, kind: str) -> Iterator[EntryRow]:
    return (decode_entry(values[1:]) for values in connection.execute(_SELECT_ENTRIES, (scope, kind)))


def _insert_entry(connection: sqlite3.Connection, row: EntryRow) -> None:
    number = connection.execute(_INSERT, encode_entry(row)).lastrowid
    if number is not None:
        fts_rows.insert_rows(connection, build_fts_rows(number, row))


def build_fts_rows(number: int, row: EntryRow) -> list[fts_rows.FtsRow]:
    """What an entry is found by: nothing of one that waits, or is hidden."""
    if row.shelf == PENDING or row.hidden:
        return []
    title = "" if _TIME_AS_TITLE.fullmatch(row.title) or row.text.startswith(row.title) else row.title
    return [fts_rows.build_entry_fts_row(number, title, " ".join(row.tags), row.text)]


def _delete_entries(connection: sqlite3.Connection, numbers: Iterable[int]) -> None:
    gone = list(numbers)
    fts_rows.delete_entries(connection, gone)
    connection.executemany("delete from book_entries where id = ?", ((number,) for number in gone))


def encode_entry(row: EntryRow) -> list[object]:
    """The row for a database, its values in the order of `COLUMNS`."""
    values = row._asdict()
    lists = {name: json.dumps(values[name], ensure_ascii=False) for name in _LISTS}
    return list({**values, **lists}.values())


def decode_entry(values: Sequence[Any]) -> EntryRow:
    """The row that a database gives back, its values in the order of `COLUMNS`."""
    named = dict(zip(EntryRow._fields, values, strict=True))
    for name in _LISTS:
        named[name] = tuple(json.loads(named[name]))
    for name in _FLAGS:
        named[name] = bool(named[name])
    return EntryRow(**{**named, "done": None if named["done"] is None else bool(named["done"])})
