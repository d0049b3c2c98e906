"""Books in the index: a row for each entry, its text in the full-text table beside that of the artifacts.

There an entry has the negative of its row's number, so that ranks compare across tables. An entry that waits for
confirmation has a row and no text: nothing finds it. (format: Books)
"""

import hashlib
import json
import re
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from lineage.core.base import naming
from lineage.core.base.book_paths import PENDING, BookRef
from lineage.core.books.book import find_superseded, parse_book
from lineage.core.books.entry import Entry
from lineage.core.books.sightings import find_last_mention
from lineage.core.format.body import replace_surrogates
from lineage.core.search.segmentation import segment
from lineage.index import fts_rows

SESSION_SCOPE_PREFIX = "session/"

_NEWEST, _OLDEST = "~", ""  # sort after and before any year
_TIME_AS_TITLE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")


class EntryRow(NamedTuple):  # its order is that of the columns, and thousands are compared by hash
    """An entry as a row: `text` is its body, `title` its heading.

    `shelf` is "" in the current file of the book, else the year of an archive or `pending`; `place` counts the file's
    entries. `at` and `mentioned_at`, when it was said or changed last, are "" for handwritten text without a marker.
    `standing` is False for superseded and pending entries;
    nothing finds a `hidden` one, be it forgotten or a copy of an entry on a newer shelf. `owner` is the token of the
    session with this scope, `origin_token` that of the session in `origin`; "" for none.
    """

    path: str
    id: str
    scope: str
    kind: str
    shelf: str
    place: int
    at: str
    mentioned_at: str
    trust: str
    source: str
    tool: str | None
    origin: str | None
    tags: tuple[str, ...]
    supersedes: tuple[str, ...]
    about: tuple[str, ...]
    done: bool | None
    pinned: bool
    standing: bool
    hidden: bool
    owner: str
    origin_token: str
    title: str
    text: str

    def as_json(self) -> dict[str, Any]:
        """Return the entry as a search shows it."""
        place = {"id": self.id, "scope": self.scope, "book": self.kind, "shelf": self.shelf}
        origin = {"trust": self.trust, "source": self.source, "from": self.origin, "tags": list(self.tags)}
        return {**place, **origin, "about": list(self.about), "standing": self.standing, "done": self.done}


class SupersededStatement(NamedTuple):
    """What a session stated that holds no longer; the time, id and text of the entry that took its place."""

    token: str
    text: str
    at: str
    successor: str
    current: str


class ListedEntry(NamedTuple):
    """An entry as a list needs it: values of its row, `tags` as JSON."""

    path: str
    id: str
    scope: str
    kind: str
    shelf: str
    mentioned_at: str
    trust: str
    source: str
    tags: str
    done: int | None
    pinned: int
    standing: int
    text: str


@dataclass(frozen=True, slots=True)
class BookFile:
    """A file of a book: its content and the stamp that the store lists for it."""

    ref: BookRef
    data: bytes
    stamp: str


@dataclass(frozen=True, slots=True)
class BookFiles:
    """The files of a book. Entries from the sessions in `removed_tokens` get no row."""

    scope: str
    kind: str
    files: tuple[BookFile, ...]
    removed_tokens: frozenset[str]


@dataclass(frozen=True, slots=True)
class ParsedBookFile:
    """The content of one file of a book."""

    path: str
    stamp: str
    sha256: str
    forgotten: tuple[str, ...]
    rows: tuple[EntryRow, ...]
    removed_entries: tuple[EntryRow, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BookRows:
    """A book's rows; `files` are (path, sha256), `problems` (path, message), `removed_entries` have no rows."""

    files: tuple[tuple[str, str], ...]
    rows: tuple[EntryRow, ...]
    removed_entries: tuple[EntryRow, ...]
    problems: tuple[tuple[str, str], ...]


COLUMNS = tuple("entry_id" if name == "id" else name for name in EntryRow._fields)
_FLAGS = ("pinned", "standing", "hidden")
_LISTS = ("tags", "supersedes", "about")
COLUMN_TYPES: dict[str, type] = {name: int if name in ("place", "done", *_FLAGS) else str for name in COLUMNS}
NOT_NULL = frozenset(COLUMNS) - {"tool", "origin", "done"}

TABLES = (
    "create table if not exists books (path text primary key, scope text not null, kind text not null,"
    " stamp text not null, sha256 text not null, forgotten text not null) without rowid",
)
INDEXES = (
    ("books", "books_scope", ("scope", "kind")),
    ("book_entries", "book_entries_scope", ("scope", "kind")),
    ("book_entries", "book_entries_entry_id", ("entry_id",)),
    ("book_entries", "book_entries_owner", ("owner",)),
    ("book_entries", "book_entries_origin", ("origin_token",)),
    ("book_entries", "book_entries_about", ("about",)),  # a hook looks for what is bound to an action
)

_COLUMN_LIST = ", ".join(COLUMNS)
_INSERT = f"insert into book_entries ({_COLUMN_LIST}) values ({', '.join('?' * len(COLUMNS))})"
SELECT_FILES = "select path, stamp, sha256, forgotten from books where scope = :scope and kind = :kind"
SELECT_ENTRIES = (
    f"select id, {_COLUMN_LIST} from book_entries where scope = :scope and kind = :kind order by path, place"
)
SELECT_LISTED = (
    f"select {', '.join('entry_id' if name == 'id' else name for name in ListedEntry._fields)} from book_entries"
    f" where shelf in ('', '{PENDING}') and hidden = 0 order by pinned desc, mentioned_at desc, path, place"
)
SELECT_BOOKS_OF_ENTRY = "select distinct scope, kind from book_entries where entry_id = :id order by scope, kind"
_TOKENS = "(select value from json_each(:tokens))"
_OF_SESSIONS = f"owner in {_TOKENS} or origin_token in {_TOKENS}"
SELECT_SUPERSEDED = f"""
    select o.origin_token, o.text, n.at, n.entry_id, n.text from book_entries o
    join book_entries n on n.scope = o.scope and n.kind = o.kind and n.supersedes like '%"' || o.entry_id || '"%'
    where o.origin_token in {_TOKENS} and o.standing = 0 and o.hidden = 0 and n.hidden = 0
      and o.shelf != '{PENDING}' and n.shelf != '{PENDING}'
    order by o.origin_token, o.entry_id, n.at desc, n.entry_id
"""
SELECT_BOOKS_OF_SESSIONS = f"select distinct scope, kind from book_entries where {_OF_SESSIONS} order by scope, kind"


def build_book_rows(book: BookFiles) -> BookRows:
    """Return the rows of a book's files."""
    files = _resolve_states([_parse_file(file, book.removed_tokens) for file in _sort_by_age(book)])
    return BookRows(
        files=tuple((file.path, file.sha256) for file in files),
        rows=tuple(row for file in files for row in file.rows),
        removed_entries=tuple(row for file in files for row in file.removed_entries),
        problems=tuple((file.path, problem) for file in files for problem in file.problems),
    )


def sync_book(connection: sqlite3.Connection, book: BookFiles) -> None:
    """Update the rows of a book to its files. Unchanged rows are not written."""
    place = {"scope": book.scope, "kind": book.kind}
    numbers = {decode_entry(row[1:]): row[0] for row in connection.execute(SELECT_ENTRIES, place)}
    files = parse_changed_files(book, numbers, connection.execute(SELECT_FILES, place))
    # Two equal lines of a file make one row.
    rows = dict.fromkeys(row for file in files for row in file.rows)
    _delete_entries(connection, [number for row, number in numbers.items() if row not in rows])
    for row in rows:
        if row not in numbers:
            number = connection.execute(_INSERT, encode_entry(row)).lastrowid or 0
            fts_rows.insert_rows(connection, build_fts_rows(number, row))
    connection.execute("delete from books where scope = :scope and kind = :kind", place)
    connection.executemany("insert into books values (?, ?, ?, ?, ?, ?)", (encode_file(book, file) for file in files))


def parse_changed_files(
    book: BookFiles, indexed_rows: Iterable[EntryRow], indexed_files: Iterable[tuple[str, str, str, str]]
) -> list[ParsedBookFile]:
    """Return the content of a book's files, parsing the changed ones only.

    `indexed_rows` are the rows of the book in the index, `indexed_files` its (path, stamp, sha256, forgotten).
    """
    rows: dict[str, list[EntryRow]] = {}
    for row in indexed_rows:
        if row.origin_token not in book.removed_tokens:
            rows.setdefault(row.path, []).append(row)
    indexed = {
        path: ParsedBookFile(path, stamp, sha256, tuple(json.loads(forgotten)), tuple(rows.get(path, ())))
        for path, stamp, sha256, forgotten in indexed_files
    }
    return _resolve_states(
        [
            # Archives grow for ever: what did not change isn't parsed again.
            replace(before, stamp=file.stamp)
            if (before := indexed.get(file.ref.path)) and before.sha256 == _sha256(file.data)
            else _parse_file(file, book.removed_tokens)
            for file in _sort_by_age(book)
        ]
    )


def encode_file(book: BookFiles, file: ParsedBookFile) -> tuple[str, ...]:
    """Return the row of a book's file."""
    return file.path, book.scope, book.kind, file.stamp, file.sha256, json.dumps(file.forgotten)


def _sort_by_age(book: BookFiles) -> list[BookFile]:
    """Return the current file, the archives, newest first, and the pending file; none for a removed session's book."""
    if parse_owner_token(book.scope) in book.removed_tokens:
        return []
    ages = {"": _NEWEST, PENDING: _OLDEST}
    return sorted(book.files, key=lambda file: ages.get(file.ref.shelf, file.ref.shelf), reverse=True)


def _parse_file(file: BookFile, removed_tokens: frozenset[str]) -> ParsedBookFile:
    ref, book = file.ref, parse_book(file.data, file.ref.scope, file.ref.kind)
    rows = [_build_row(ref, place, entry) for place, entry in enumerate((*book.handwritten_entries, *book.entries))]
    return ParsedBookFile(
        path=ref.path,
        stamp=file.stamp,
        sha256=_sha256(file.data),
        forgotten=tuple(sorted(book.forgotten_ids)),
        rows=tuple(row for row in rows if row.origin_token not in removed_tokens),
        removed_entries=tuple(row for row in rows if row.origin_token in removed_tokens),
        problems=book.problems,
    )


def _resolve_states(files: Sequence[ParsedBookFile]) -> list[ParsedBookFile]:
    """Set `standing` and `hidden` of all rows; of two copies after an interrupted move the newest shelf's is found."""
    forgotten = frozenset(identifier for file in files for identifier in file.forgotten)
    superseded = find_superseded(
        # as much of an entry as this question needs
        Entry(row.id, row.at, row.source, "", row.tool, supersedes=row.supersedes, pinned=row.pinned)
        for file in reversed(files)
        for row in file.rows
        if row.shelf != PENDING
    )
    seen: set[tuple[str, str]] = set()

    def resolve(row: EntryRow) -> EntryRow:
        standing = row.shelf != PENDING and row.id not in superseded
        hidden = row.id in forgotten or (row.id, row.text) in seen
        seen.add((row.id, row.text))
        if (row.standing, row.hidden) == (standing, hidden):
            return row
        return row._replace(standing=standing, hidden=hidden)

    return [replace(file, rows=tuple(map(resolve, file.rows))) for file in files]


def _build_row(ref: BookRef, place: int, entry: Entry) -> EntryRow:
    return EntryRow(
        path=ref.path,
        id=entry.id,
        scope=ref.scope,
        kind=ref.kind,
        shelf=ref.shelf,
        place=place,
        at=entry.at,
        mentioned_at=replace_surrogates(find_last_mention(entry)),
        trust=entry.trust,
        source=replace_surrogates(entry.source),
        tool=replace_surrogates(entry.tool) if entry.tool is not None else None,
        origin=replace_surrogates(entry.origin) if entry.origin is not None else None,
        tags=tuple(map(replace_surrogates, entry.tags)),
        supersedes=tuple(map(replace_surrogates, entry.supersedes)),
        about=tuple(map(replace_surrogates, entry.about)),
        done=entry.done,
        pinned=entry.pinned,
        standing=True,
        hidden=False,
        owner=parse_owner_token(ref.scope),
        origin_token=next(iter(naming.find_tokens(entry.origin or "")), ""),
        title=replace_surrogates(entry.title),
        text=replace_surrogates(entry.body),
    )


def parse_owner_token(scope: str) -> str:
    """Return the token of the session that owns a scope, "" for any other scope."""
    return scope.removeprefix(SESSION_SCOPE_PREFIX) if scope.startswith(SESSION_SCOPE_PREFIX) else ""


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def delete_session(connection: sqlite3.Connection, token: str) -> int:
    """Delete the entries from a session, in its own books and in others. Return their number."""
    rows = connection.execute(f"select id from book_entries where {_OF_SESSIONS}", {"tokens": json.dumps([token])})
    numbers = [row[0] for row in rows]
    _delete_entries(connection, numbers)
    connection.execute("delete from books where scope = ?", (SESSION_SCOPE_PREFIX + token,))
    return len(numbers)


def build_fts_rows(number: int, row: EntryRow) -> list[fts_rows.FtsRow]:
    """Return the searchable text of an entry; nothing for a pending or hidden one."""
    if row.shelf == PENDING or row.hidden:
        return []
    title = "" if _TIME_AS_TITLE.fullmatch(row.title) or row.text.startswith(row.title) else row.title
    return [(-number, segment(title), segment(" ".join(row.tags)), segment(row.text), "")]


def _delete_entries(connection: sqlite3.Connection, numbers: Sequence[int]) -> None:
    fts_rows.delete_entries(connection, numbers)
    connection.executemany("delete from book_entries where id = ?", ((number,) for number in numbers))


def encode_entry(row: EntryRow) -> list[object]:
    """Return the values of a row for a database, in the order of `COLUMNS`."""
    values = row._asdict()
    return list({**values, **{name: json.dumps(values[name], ensure_ascii=False) for name in _LISTS}}.values())


def decode_entry(values: Sequence[Any]) -> EntryRow:
    """Return the row of a database's values, in the order of `COLUMNS`."""
    row = dict(zip(EntryRow._fields, values, strict=True))
    row |= {name: tuple(json.loads(row[name])) for name in _LISTS}
    row |= {name: bool(row[name]) for name in _FLAGS}
    return EntryRow(**{**row, "done": None if row["done"] is None else bool(row["done"])})
