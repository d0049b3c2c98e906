"""The index's tables and how a database comes to have them."""

import sqlite3

VERSION = 5

_NOT_NULL = {"source_path", "source_sha256", "source_kind"}
_INDEXES = (
    ["agent_id", "membership_ts"],
    ["session_token"],
    ["session_id"],
    ["stem", "source_kind"],  # what a new session recalls is the summary of a capture
    ["source_path", "stamp"],  # what a reindex compares is read without the rows
)


def read_version(connection: sqlite3.Connection) -> int:
    """The schema's version, 0 for an empty database."""
    return int(connection.execute("pragma application_id").fetchone()[0])


def is_complete(connection: sqlite3.Connection) -> bool:
    """Whether a reindex has ever run to its end: a rebuild that was cut off is resumed."""
    return bool(connection.execute("pragma user_version").fetchone()[0])


def mark_complete(connection: sqlite3.Connection) -> None:
    connection.execute("pragma user_version = 1")


def create_tables(connection: sqlite3.Connection) -> None:
    """Makes the tables of an empty database, in one transaction: several processes may begin at once."""
    from sqlite_utils import Database  # noqa: PLC0415  (nine times the cost of a start: only where tables are made)

    from lineage.index import books, fts_rows, ledger, vocabulary  # noqa: PLC0415
    from lineage.index.rows import COLUMNS  # noqa: PLC0415

    types: dict[str, type] = {"id": int, **{name: _column_type(name) for name in COLUMNS}}
    table = Database(connection).create_table_sql("artifacts", types, pk="id", not_null=_NOT_NULL, if_not_exists=True)
    with connection:
        connection.execute("begin immediate")
        connection.execute(table)
        connection.execute("create unique index if not exists artifacts_source_path on artifacts (source_path)")
        for columns in _INDEXES:
            name = f"artifacts_{'_'.join(columns)}"
            connection.execute(f"create index if not exists {name} on artifacts ({', '.join(columns)})")
        for statement in (*fts_rows.TABLES, *vocabulary.TABLES, *ledger.TABLES, *books.TABLES):
            connection.execute(statement)
        connection.execute("insert into search (search, rank) values ('hashsize', ?)", (fts_rows.HASH_SIZE_BYTES,))
        connection.execute(f"pragma application_id = {VERSION}")


def _column_type(column: str) -> type:
    return int if column in ("private", "visible") else str
