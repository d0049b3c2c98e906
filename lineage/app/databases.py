"""The databases of a workspace, index and telemetry: files beside it, or schemas on a PostgreSQL server.

A workspace in a bucket has one schema for all machines, named after its address. A folder has a schema of its own,
named by a random id beside the folder: machines that sync a folder must not share rows of files that only one of them
has yet.
"""

import contextlib
import hashlib
import os
from pathlib import Path

from lineage.app.locations import STATE_FOLDER, load_machine_settings, require_extra
from lineage.core.base.address import folder_to_address
from lineage.errors import FormatError
from lineage.index import Index, SqliteIndex
from lineage.store import ExistsError, Store, read_or_none
from lineage.telemetry import Telemetry

INDEX_FILE, TELEMETRY_FILE = "index.db", "runtime.db"
INDEX_VARIABLE = "LINEAGE_INDEX"
_INDEX_ID_KEY = "index-id"
_INDEX_ID_LENGTH = 20


def read_index_address() -> str:
    """Return LINEAGE_INDEX, else `index` of the machine's configuration; "" for files beside the workspace."""
    address = os.environ.get(INDEX_VARIABLE)
    return load_machine_settings(os.environ).index if address is None else address


def describe_index() -> str | None:
    """Return the server's address without its password; None for files beside the workspace."""
    address = read_index_address()
    if not address:
        return None
    from lineage.database.postgres import strip_credentials  # needs psycopg, an optional extra

    return strip_credentials(address)


def open_databases(root: Path, private: Store, index_root: Path | None = None) -> tuple[Index, Telemetry]:
    """Return index and telemetry of a workspace; no server is asked yet.

    `private` is the store of this machine's files; the index's own file may lie below an `index_root`. Raises
    InvalidInput for a malformed address, ExtraMissing without psycopg.
    """
    address = read_index_address()
    if not address:
        index = SqliteIndex((index_root or root) / STATE_FOLDER / INDEX_FILE)
        return index, Telemetry(root / STATE_FOLDER / TELEMETRY_FILE)
    require_extra("postgres", "psycopg")
    from lineage.database.postgres import strip_credentials
    from lineage.index.postgres import PostgresIndex
    from lineage.telemetry.postgres import PostgresTelemetry

    strip_credentials(address)  # fails early for a malformed address
    schema = derive_schema(root, private)
    return PostgresIndex(address, schema), PostgresTelemetry(address, f"{schema}_runtime")


def derive_schema(root: Path, private: Store) -> str:
    """Return the name of the workspace's schema."""
    address = folder_to_address(root.name)
    if address:
        return f"lineage_{hashlib.sha256(address.encode()).hexdigest()[:_INDEX_ID_LENGTH]}"
    return f"lineage_{_load_index_id(private)}"


def _load_index_id(private: Store) -> str:
    blob = read_or_none(private, _INDEX_ID_KEY)
    if blob is None:
        with contextlib.suppress(ExistsError):  # of two processes the first one names it, both then read that name
            private.create(_INDEX_ID_KEY, os.urandom(_INDEX_ID_LENGTH // 2).hex().encode())
        blob = private.read(_INDEX_ID_KEY)
    name = blob.data.decode("ascii", "replace").strip()
    if len(name) != _INDEX_ID_LENGTH or not name.isalnum() or not name.isascii():
        hint = f"delete {STATE_FOLDER}/{_INDEX_ID_KEY}, then run `lineage reindex`"
        raise FormatError(f"{STATE_FOLDER}/{_INDEX_ID_KEY} is damaged", hint=hint)
    return name
