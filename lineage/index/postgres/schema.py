"""The index's tables in PostgreSQL, their version, and how an empty schema gets them.

Columns compare byte by byte, as in SQLite, whatever the database's collation is. In `vocabulary` a word may have
several lines, whose sum is its count, so that writers never wait for each other; "" counts rows, " " their words.
"""

from lineage.database.postgres import Postgres, disable_statistics_sql
from lineage.errors import IndexUnavailable
from lineage.index import books, tool_runs
from lineage.index.rows import COLUMNS
from lineage.index.schema import UNSHOWN

VERSION = 17

_TEXT = 'text collate "C"'
INTEGERS = ("private", "partial", "visible")
_ARTIFACTS = ", ".join(f"{name} {'integer' if name in INTEGERS else _TEXT}" for name in COLUMNS)
_ENTRY_TYPES = {"place": "integer", "done": "integer", "pinned": "integer", "standing": "integer", "hidden": "integer"}
_ENTRIES = ", ".join(f"{name} {_ENTRY_TYPES.get(name, _TEXT)}" for name in books.COLUMNS)
_UNSAMPLED_COLUMNS = {
    "artifacts": (
        "session_id",
        "session_key",
        "project",
        "project_key",
        "memory_sentence",
        "title",
        "ask",
        "outcome",
        "checks",
        "files",
        "folders",
    ),
    "search": ("title", "sentence", "body", "terms"),
    "vocabulary": ("term",),
    "entries": ("project",),
    "book_entries": ("source", "tool", "origin", "tags", "supersedes", "about", "title", "text"),
}
"""Columns with text of sessions. The server takes no samples of them, for a removal would not reach these."""
_STATEMENTS = (
    "create table state (version integer not null, is_complete boolean not null)",
    f"insert into state values ({VERSION}, false)",
    f"create table artifacts (id bigint generated always as identity primary key, {_ARTIFACTS},"
    " unique (source_path), check (source_path is not null and source_sha256 is not null and source_kind is not null))",
    "create index on artifacts (agent_id, membership_ts)",
    "create index on artifacts (session_token)",
    "create index on artifacts (parent_token)",
    f"create index {UNSHOWN}",
    "create index on artifacts (project_key, project)",
    f"create table search (id bigint primary key, title {_TEXT}, sentence {_TEXT}, body {_TEXT}, turns {_TEXT},"
    " terms tsvector not null, words integer not null)",
    "alter table search alter column terms set storage external",  # each word of a query would unpack it again
    "alter table search set (toast_tuple_target = 8160)",
    f"create table vocabulary (term {_TEXT} not null, rows bigint not null)",
    "create index on vocabulary (term)",
    f"create table entries (stem {_TEXT} primary key, agent_id {_TEXT}, session_token {_TEXT}, membership_ts {_TEXT},"
    f" project {_TEXT}, is_compaction integer)",
    "create index on entries (agent_id, membership_ts, stem, project)",
    "create index on entries (session_token)",
    "create index on entries (project, membership_ts, stem)",
    "create index on entries (membership_ts, stem)",
    f"create table books (path {_TEXT} primary key, scope {_TEXT} not null, kind {_TEXT} not null,"
    f" stamp {_TEXT} not null, sha256 {_TEXT} not null, forgotten {_TEXT} not null)",
    "create index on books (scope, kind)",
    f"create table book_entries (id bigint generated always as identity primary key, {_ENTRIES})",
    "create index on book_entries (scope, kind)",
    "create index on book_entries (entry_id)",
    "create index on book_entries (owner)",
    "create index on book_entries (origin_token)",
    f"create table {tool_runs.TABLE} (run bigint, artifact bigint, primary key (run, artifact))",
    f"create index on {tool_runs.TABLE} (artifact)",
    f"create table waiting (ticket bigint generated always as identity primary key, agent_id {_TEXT}, token {_TEXT},"
    f" membership {_TEXT}, paths {_TEXT.replace('text', 'text[]')})",
    *(disable_statistics_sql(table, columns) for table, columns in _UNSAMPLED_COLUMNS.items()),
    "create function iif(condition boolean, one text, other text) returns text language sql immutable"
    " as 'select case when condition then one else other end'",
)
TABLES = ("artifacts", "search", "vocabulary", "entries", "books", "book_entries", "waiting", tool_runs.TABLE)


def ensure_tables(database: Postgres) -> None:
    """Create the tables of an empty schema, and those of an older version anew: a reindex fills them again.

    Raises IndexUnavailable for a newer version: upgraded machines use it.
    """
    version = None
    if database.execute("select to_regclass('state')::text")[0][0] is not None:
        version = int(database.execute("select max(version) from state")[0][0] or 0)
    if version is not None and version > VERSION:
        problem = f"{database.name} is of a newer lineage: its version is {version}, this one knows {VERSION}"
        raise IndexUnavailable(problem, hint="upgrade lineage on this machine")
    if version != VERSION:
        database.execute(f'drop schema if exists "{database.schema}" cascade')
        database.execute(f'create schema "{database.schema}"')
        for statement in _STATEMENTS:
            database.execute(statement)


def is_complete(database: Postgres) -> bool:
    """Return whether a reindex ever ran to its end."""
    return bool(database.execute("select is_complete from state")[0][0])


def mark_complete(database: Postgres) -> None:
    """Record that a reindex ran to its end. The first also merges and indexes words: a rebuild is faster without."""
    with database.transaction():
        database.lock_in_transaction("complete")
        if is_complete(database):
            return
        database.execute(
            "with counted as (delete from vocabulary returning term, rows) insert into vocabulary"
            " select term, sum(rows) from counted group by term having sum(rows) <> 0"
        )
        database.execute("create index if not exists search_terms on search using gin (terms)")
        database.execute("update state set is_complete = true")
    # Plans made for empty tables would scan full ones.
    for table in TABLES:
        database.execute(f"analyze {table}")
