"""Books in PostgreSQL: a row for each entry, its text beside that of the artifacts. (index/books.py)."""

from collections.abc import Collection, Sequence

from lineage.core.base.privacy import session_scope
from lineage.database.postgres import Postgres
from lineage.index.books import (
    COLUMNS,
    BookFiles,
    EntryRow,
    build_fts_rows,
    decode_entry,
    encode_entry,
    encode_file,
    parse_changed_files,
)
from lineage.index.postgres import fts_rows
from lineage.index.postgres.tokenizer import Tokenizer

_COLUMN_LIST = ", ".join(COLUMNS)
_SELECT_ENTRIES = f"select id, {_COLUMN_LIST} from book_entries where scope = %s and kind = %s order by path, place"
_SELECT_FILES = "select path, stamp, sha256, forgotten from books where scope = %s and kind = %s"
_INSERT = f"insert into book_entries ({_COLUMN_LIST}) values ({', '.join(['%s'] * len(COLUMNS))}) returning id"
_OF_SESSIONS = "(owner = any(%(tokens)s::text[]) or origin_token = any(%(tokens)s::text[]))"


def sync_book(database: Postgres, tokenizer: Tokenizer, book: BookFiles, *, merge_counts: bool) -> None:
    """Update the rows of a book to its files. Unchanged rows are not written."""
    numbers = {decode_entry(row[1:]): row[0] for row in database.execute(_SELECT_ENTRIES, (book.scope, book.kind))}
    files = parse_changed_files(book, numbers, database.execute(_SELECT_FILES, (book.scope, book.kind)))
    rows = dict.fromkeys(row for file in files for row in file.rows)
    deleted = [number for row, number in numbers.items() if row not in rows]
    _delete_entries(database, deleted, merge_counts=merge_counts)
    inserted = [(_insert_entry(database, row), row) for row in rows if row not in numbers]
    texts = (text for number, row in inserted for text in build_fts_rows(number, row))
    fts_rows.insert_rows(database, tokenizer, texts, merge_counts=merge_counts)
    database.execute("delete from books where scope = %s and kind = %s", (book.scope, book.kind))
    for file in files:
        database.execute("insert into books values (%s, %s, %s, %s, %s, %s)", encode_file(book, file))


def delete_session(database: Postgres, token: str, *, merge_counts: bool) -> int:
    """Delete the entries from a session, in its own books and in others. Return their number."""
    rows = database.execute(f"select id from book_entries where {_OF_SESSIONS}", {"tokens": [token]})
    _delete_entries(database, [row[0] for row in rows], merge_counts=merge_counts)
    database.execute("delete from books where scope = %s", (session_scope(token),))
    return len(rows)


def find_books_of_sessions(database: Postgres, tokens: Collection[str]) -> list[tuple[str, str]]:
    """Return (scope, kind) of the books with an entry from one of these sessions."""
    statement = f"select distinct scope, kind from book_entries where {_OF_SESSIONS} order by scope, kind"
    return database.execute(statement, {"tokens": sorted(tokens)})


def load_entries(database: Postgres, scope: str, kind: str) -> list[EntryRow]:
    """Return the rows of a book."""
    return [decode_entry(values[1:]) for values in database.execute(_SELECT_ENTRIES, (scope, kind))]


def _insert_entry(database: Postgres, row: EntryRow) -> int:
    # psycopg would send booleans, which integer columns don't take
    values = [int(value) if isinstance(value, bool) else value for value in encode_entry(row)]
    return int(database.execute(_INSERT, values)[0][0])


def _delete_entries(database: Postgres, numbers: Sequence[int], *, merge_counts: bool) -> None:
    fts_rows.delete_entries(database, numbers, merge_counts=merge_counts)
    database.execute("delete from book_entries where id = any(%s::bigint[])", (numbers,))
