"""The engines that a test run needs: started when first asked for, one of each, ended with the run."""

import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from functools import cache
from pathlib import Path
from uuid import uuid4

from lineage.store.objects import BucketStore
from tests.support import servers
from tests.support.servers_postgres import PostgresServer, pgvector_server, postgres_server

_STARTERS: dict[str, Callable[[Path], AbstractContextManager[servers.Server]]] = {
    "seaweedfs": servers.seaweedfs,
    "azurite": servers.azurite,
    "google": servers.google,
}
_exit_stack = ExitStack()


@cache
def start_object_store(kind: str = "seaweedfs") -> servers.Server:
    """The server of a kind. Skips the test where it is not installed."""
    with ExitStack() as begun:
        folder = Path(begun.enter_context(tempfile.TemporaryDirectory(prefix="lineage-servers-")))
        server = begun.enter_context(_STARTERS[kind](folder / kind))
        _exit_stack.push(begun.pop_all())
    return server


def create_bucket(kind: str = "seaweedfs", locks: Path | None = None) -> BucketStore:
    """A store under a prefix that nobody used before."""
    server = start_object_store(kind)
    return BucketStore(f"{server.url}/{uuid4().hex}", server.settings(), locks)


@cache
def start_postgres() -> PostgresServer:
    """The PostgreSQL server of this run. Skips the test where it is not installed."""
    return _exit_stack.enter_context(postgres_server())


@cache
def start_pgvector() -> PostgresServer:
    """One that has pgvector at hand. Skips the test where it is not installed."""
    return _exit_stack.enter_context(pgvector_server())


def use_bucket() -> None:
    """From now on workspaces lie in buckets, those in memory too. To be called before any test is imported."""
    from lineage.app import locations
    from tests.support import memory_store
    from tests.support.bucket_mirror import MirroredStore

    locations.open_store = MirroredStore  # type: ignore[assignment]
    memory_store.MemoryStore = create_bucket  # type: ignore[assignment,misc]


def stop_all() -> None:
    """Ends every engine that was started."""
    _exit_stack.close()
    start_object_store.cache_clear()
    start_postgres.cache_clear()
    start_pgvector.cache_clear()
