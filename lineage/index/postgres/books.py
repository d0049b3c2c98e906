"""Books in PostgreSQL: a row for each entry, its text beside that of the artifacts. (index/books.py)."""

from collections.abc import Sequence

from lineage.core.base.book_paths import session_scope
from lineage.database.postgres import Postgres
from lineage.index import books
from lineage.index.postgres import fts_rows
from lineage.index.postgres.text_search import to_postgres_sql
from lineage.index.postgres.tokenizer import Tokenizer

_COLUMN_LIST = ", ".join(books.COLUMNS)
_SELECT_ENTRIES, _SELECT_FILES = to_postgres_sql(books.SELECT_ENTRIES), to_postgres_sql(books.SELECT_FILES)
_INSERT = f"insert into book_entries ({_COLUMN_LIST}) values ({', '.join(['%s'] * len(books.COLUMNS))}) returning id"
_OF_SESSIONS = "(owner = any(%(tokens)s::text[]) or origin_token = any(%(tokens)s::text[]))"


def sync_book(database: Postgres, tokenizer: Tokenizer, book: books.BookFiles, *, merge_counts: bool) -> None:
    """Update the rows of a book to its files. Unchanged rows are not written."""
    place = {"scope": book.scope, "kind": book.kind}
    numbers = {books.decode_entry(row[1:]): row[0] for row in database.execute(_SELECT_ENTRIES, place)}
    files = books.parse_changed_files(book, numbers, database.execute(_SELECT_FILES, place))
    rows = dict.fromkeys(row for file in files for row in file.rows)
    deleted = [number for row, number in numbers.items() if row not in rows]
    _delete_entries(database, deleted, merge_counts=merge_counts)
    inserted = [(_insert_entry(database, row), row) for row in rows if row not in numbers]
    texts = (text for number, row in inserted for text in books.build_fts_rows(number, row))
    fts_rows.insert_rows(database, tokenizer, texts, merge_counts=merge_counts)
    database.execute("delete from books where scope = %(scope)s and kind = %(kind)s", place)
    for file in files:
        database.execute("insert into books values (%s, %s, %s, %s, %s, %s)", books.encode_file(book, file))


def delete_session(database: Postgres, token: str, *, merge_counts: bool) -> int:
    """Delete the entries from a session, in its own books and in others. Return their number."""
    rows = database.execute(f"select id from book_entries where {_OF_SESSIONS}", {"tokens": [token]})
    _delete_entries(database, [row[0] for row in rows], merge_counts=merge_counts)
    database.execute("delete from books where scope = %s", (session_scope(token),))
    return len(rows)


def _insert_entry(database: Postgres, row: books.EntryRow) -> int:
    # psycopg would send booleans, which integer columns don't take
    values = [int(value) if isinstance(value, bool) else value for value in books.encode_entry(row)]
    return int(database.execute(_INSERT, values)[0][0])


def _delete_entries(database: Postgres, numbers: Sequence[int], *, merge_counts: bool) -> None:
    fts_rows.delete_entries(database, numbers, merge_counts=merge_counts)
    database.execute("delete from book_entries where id = any(%s::bigint[])", (numbers,))
