"""Where the rows and the runtime state of a workspace are: files beside it, or a PostgreSQL server.

A workspace in a bucket has one schema for all machines, named after its address. A folder has one of its own, whose
name lies beside it: machines that sync a folder don't share rows of files that only one of them has yet.
"""

import contextlib
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from lineage.app import STATE, machine_settings
from lineage.core.address import address_of
from lineage.errors import FormatError
from lineage.store import ExistsError, Store, read_or_none

if TYPE_CHECKING:
    from lineage.index import Index
    from lineage.telemetry import Telemetry

VARIABLE = "LINEAGE_INDEX"
_NAME = "index-id"
_LENGTH = 20


def index_address() -> str:
    """LINEAGE_INDEX, else `index` of the machine's own configuration; "" for files beside the workspace."""
    named = os.environ.get(VARIABLE)
    machine = machine_settings(os.environ) if named is None else None
    return named or (machine.index if machine else "")


def index_shown() -> str | None:
    """What people call the server of the rows, no password in it; None for files beside the workspace."""
    address = index_address()
    if not address:
        return None
    from lineage.store.postgres import named

    return named(address)


def databases_of(root: Path, private: Store) -> "tuple[Index, Telemetry]":
    """The index and the runtime state of a workspace; a server is not asked yet. `private` is the store of what lies on
    this machine only. Raises InvalidInput for an address that is none, ExtraMissing where psycopg is not installed."""
    from lineage.index import SqliteIndex
    from lineage.telemetry import Telemetry

    address = index_address()
    if not address:
        return SqliteIndex(root / STATE / "index.db"), Telemetry(root / STATE / "runtime.db")
    from lineage.app.extras import need

    need("postgres", "psycopg")
    from lineage.index.postgres import PostgresIndex
    from lineage.store.postgres import named
    from lineage.telemetry.postgres import PostgresTelemetry

    named(address)
    schema = schema_of(root, private)
    return PostgresIndex(address, schema), PostgresTelemetry(address, f"{schema}_runtime")


def schema_of(root: Path, private: Store) -> str:
    """The schema of a workspace."""
    address = address_of(root.name)
    if address:
        return f"lineage_{hashlib.sha256(address.encode()).hexdigest()[:_LENGTH]}"
    return f"lineage_{_own_name(private)}"


def _own_name(private: Store) -> str:
    """The name that lies beside a folder; whoever comes first gives it."""
    blob = read_or_none(private, _NAME)
    if blob is None:
        with contextlib.suppress(ExistsError):
            private.create(_NAME, os.urandom(_LENGTH // 2).hex().encode())
        blob = private.read(_NAME)
    name = blob.data.decode("ascii", "replace").strip()
    if len(name) != _LENGTH or not name.isalnum() or not name.isascii():
        raise FormatError(f"{STATE}/{_NAME} is damaged", hint=f"delete {STATE}/{_NAME}, then run `lineage reindex`")
    return name
