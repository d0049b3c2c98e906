"""Books in PostgreSQL: a row for each entry, its text beside that of the artifacts. (index/books.py)"""

from collections.abc import Collection, Iterable

from lineage.core.privacy import session_scope
from lineage.index.books import COLUMNS, EntryRow, Shelves, brought_up, entry_row, entry_values, file_values, texts_of
from lineage.index.postgres import texts
from lineage.index.postgres.words import Words
from lineage.store.postgres import Postgres

_LISTED = ", ".join(COLUMNS)
_ROWS = f"select id, {_LISTED} from book_entries where scope = %s and kind = %s order by path, place"
_FILES = "select path, stamp, sha256, forgotten from books where scope = %s and kind = %s"
_INSERT = f"insert into book_entries ({_LISTED}) values ({', '.join(['%s'] * len(COLUMNS))}) returning id"
_NAMING = "(owner = any(%(tokens)s::text[]) or origin_token = any(%(tokens)s::text[]))"


def keep_up(database: Postgres, words: Words, book: Shelves, *, merges: bool) -> None:
    """Makes the rows of a book those that its files make; a row that stays as it is isn't touched."""
    numbers = {entry_row(row[1:]): row[0] for row in database.rows(_ROWS, (book.scope, book.kind))}
    files = brought_up(book, numbers, database.rows(_FILES, (book.scope, book.kind)))
    wanted = dict.fromkeys(row for file in files for row in file.rows)
    _drop(database, [number for row, number in numbers.items() if row not in wanted], merges=merges)
    made = [(_added(database, row), row) for row in wanted if row not in numbers]
    found = (text for number, row in made for text in texts_of(number, row))
    texts.write(database, words, found, merges=merges)
    database.rows("delete from books where scope = %s and kind = %s", (book.scope, book.kind))
    for file in files:
        database.rows("insert into books values (%s, %s, %s, %s, %s, %s)", file_values(book, file))


def forget(database: Postgres, token: str, *, merges: bool) -> int:
    """Drops the rows of what a session said, in its own books and in others; how many."""
    numbers = [row[0] for row in database.rows(f"select id from book_entries where {_NAMING}", {"tokens": [token]})]
    _drop(database, numbers, merges=merges)
    database.rows("delete from books where scope = %s", (session_scope(token),))
    return len(numbers)


def naming_any(database: Postgres, tokens: Collection[str]) -> list[tuple[str, str]]:
    """(scope, kind) of the books with a row of what one of these sessions said."""
    statement = f"select distinct scope, kind from book_entries where {_NAMING} order by scope, kind"
    return database.rows(statement, {"tokens": sorted(tokens)})


def rows_of(database: Postgres, scope: str, kind: str) -> list[EntryRow]:
    return [entry_row(values[1:]) for values in database.rows(_ROWS, (scope, kind))]


def _added(database: Postgres, row: EntryRow) -> int:
    values = [int(value) if isinstance(value, bool) else value for value in entry_values(row)]
    return int(database.rows(_INSERT, values)[0][0])


def _drop(database: Postgres, numbers: Iterable[int], *, merges: bool) -> None:
    gone = list(numbers)
    texts.drop_entries(database, gone, merges=merges)
    database.rows("delete from book_entries where id = any(%s::bigint[])", (gone,))
