"""Where the rows and the runtime state of a workspace are: files beside it, or a PostgreSQL server.

A workspace in a bucket has one schema for all machines, named after its address. A folder has one of its own, whose
name lies beside it: machines that sync a folder don't share rows of files that only one of them has yet.
"""

import contextlib
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from lineage.app import STATE_FOLDER, load_machine_settings
from lineage.core.base.address import folder_to_address
from lineage.errors import FormatError
from lineage.store import ExistsError, Store, read_or_none

if TYPE_CHECKING:
    from lineage.index import Index
    from lineage.telemetry import Telemetry

INDEX_VARIABLE = "LINEAGE_INDEX"
_INDEX_ID_KEY = "index-id"
_INDEX_ID_LENGTH = 20


def read_index_address() -> str:
    """LINEAGE_INDEX, else `index` of the machine's own configuration; "" for files beside the workspace."""
    named = os.environ.get(INDEX_VARIABLE)
    machine = load_machine_settings(os.environ) if named is None else None
    return named or (machine.index if machine else "")


def describe_index() -> str | None:
    """What people call the server of the rows, no password in it; None for files beside the workspace."""
    address = read_index_address()
    if not address:
        return None
    from lineage.database.postgres import strip_credentials

    return strip_credentials(address)


def open_databases(root: Path, private: Store) -> "tuple[Index, Telemetry]":
    """The index and the runtime state of a workspace; a server is not asked yet. `private` is the store of what lies on
    this machine only. Raises InvalidInput for an address that is none, ExtraMissing where psycopg is not installed."""
    from lineage.index import SqliteIndex
    from lineage.telemetry import Telemetry

    address = read_index_address()
    if not address:
        return SqliteIndex(root / STATE_FOLDER / "index.db"), Telemetry(root / STATE_FOLDER / "runtime.db")
    from lineage.app.extras import require_extra

    require_extra("postgres", "psycopg")
    from lineage.database.postgres import strip_credentials
    from lineage.index.postgres import PostgresIndex
    from lineage.telemetry.postgres import PostgresTelemetry

    strip_credentials(address)
    schema = derive_schema(root, private)
    return PostgresIndex(address, schema), PostgresTelemetry(address, f"{schema}_runtime")


def derive_schema(root: Path, private: Store) -> str:
    """The schema of a workspace."""
    address = folder_to_address(root.name)
    if address:
        return f"lineage_{hashlib.sha256(address.encode()).hexdigest()[:_INDEX_ID_LENGTH]}"
    return f"lineage_{_load_index_id(private)}"


def _load_index_id(private: Store) -> str:
    """The name that lies beside a folder; whoever comes first gives it."""
    blob = read_or_none(private, _INDEX_ID_KEY)
    if blob is None:
        with contextlib.suppress(ExistsError):
            private.create(_INDEX_ID_KEY, os.urandom(_INDEX_ID_LENGTH // 2).hex().encode())
        blob = private.read(_INDEX_ID_KEY)
    name = blob.data.decode("ascii", "replace").strip()
    if len(name) != _INDEX_ID_LENGTH or not name.isalnum() or not name.isascii():
        raise FormatError(
            f"{STATE_FOLDER}/{_INDEX_ID_KEY} is damaged",
            hint=f"delete {STATE_FOLDER}/{_INDEX_ID_KEY}, then run `lineage reindex`",
        )
    return name
