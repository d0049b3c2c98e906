"""The index's tables, their version, and how an empty database gets them."""

import sqlite3

from lineage.database.sqlite import as_database
from lineage.index import books, fts_rows, ledger, tool_runs, vocabulary
from lineage.index.rows import COLUMNS

VERSION = 26

_NOT_NULL = {"source_path", "source_sha256", "source_kind"}
_INTEGERS = ("private", "partial", "visible")
_INDEXES = (
    ("artifacts", "artifacts_agent_id_membership_ts", ("agent_id", "membership_ts")),
    ("artifacts", "artifacts_session_token", ("session_token",)),
    ("artifacts", "artifacts_project_key_project", ("project_key", "project")),
    ("artifacts", "artifacts_session_id", ("session_id",)),
    ("artifacts", "artifacts_parent_token", ("parent_token",)),
    ("artifacts", "artifacts_stem_source_kind", ("stem", "source_kind")),  # a new session recalls summaries by stem
    ("artifacts", "artifacts_source_path_stamp", ("source_path", "stamp")),  # a reindex compares these alone
    *ledger.INDEXES,
    *books.INDEXES,
)
UNSHOWN = "on artifacts (session_token) where visible = 0"
"""What an index covers for the count of unshown sessions: each search asks for it."""


def read_version(connection: sqlite3.Connection) -> int:
    """Return the schema's version, 0 for an empty database."""
    return int(connection.execute("pragma application_id").fetchone()[0])


def is_complete(connection: sqlite3.Connection) -> bool:
    """Return whether a reindex ever ran to its end."""
    return bool(connection.execute("pragma user_version").fetchone()[0])


def mark_complete(connection: sqlite3.Connection) -> None:
    """Record that a reindex ran to its end."""
    connection.execute("pragma user_version = 1")


def create_tables(connection: sqlite3.Connection) -> None:
    """Create the tables of an empty database in one transaction. Several processes may do so at once."""
    database = as_database(connection)
    artifact_types: dict[str, type] = {name: int if name in _INTEGERS else str for name in COLUMNS}
    with connection:
        # The write lock first: the next process then finds the tables.
        connection.execute("begin immediate")
        artifacts = database.create_table(
            "artifacts", {"id": int, **artifact_types}, pk="id", not_null=_NOT_NULL, if_not_exists=True
        )
        artifacts.create_index(["source_path"], "artifacts_source_path", unique=True, if_not_exists=True)
        database.create_table(
            "book_entries", {"id": int, **books.COLUMN_TYPES}, pk="id", not_null=books.NOT_NULL, if_not_exists=True
        )
        # sqlite_utils has no words for `without rowid`, for triggers and for a full-text table of its own rows.
        for statement in (*fts_rows.TABLES, *vocabulary.TABLES, *ledger.TABLES, *books.TABLES, *tool_runs.TABLES):
            database.execute(statement)
        for table, name, columns in _INDEXES:
            database.table(table).create_index(columns, name, if_not_exists=True)
        database.execute(f"create index if not exists artifacts_unshown {UNSHOWN}")
        database.execute("insert into search (search, rank) values ('hashsize', ?)", (fts_rows.HASH_SIZE_BYTES,))
        # Last: a database without a version counts as empty.
        database.execute(f"pragma application_id = {VERSION}")
