"""The engines that a test run needs: started when first asked for, one of each, ended with the run."""

import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from functools import cache
from pathlib import Path
from uuid import uuid4

from lineage.store.objects import Bucket
from tests.support import servers
from tests.support.servers_postgres import PostgresServer, pgvector_server, postgres_server

_STARTERS: dict[str, Callable[[Path], AbstractContextManager[servers.Server]]] = {
    "seaweedfs": servers.seaweedfs,
    "azurite": servers.azurite,
    "google": servers.google,
}
_running = ExitStack()


@cache
def object_store(kind: str = "seaweedfs") -> servers.Server:
    """The server of a kind. Skips the test where it is not installed."""
    with ExitStack() as begun:
        folder = Path(begun.enter_context(tempfile.TemporaryDirectory(prefix="lineage-servers-")))
        server = begun.enter_context(_STARTERS[kind](folder / kind))
        _running.push(begun.pop_all())
    return server


def fresh_bucket(kind: str = "seaweedfs", locks: Path | None = None) -> Bucket:
    """A store under a prefix that nobody used before."""
    server = object_store(kind)
    return Bucket(f"{server.url}/{uuid4().hex}", server.settings(), locks)


@cache
def postgres() -> PostgresServer:
    """The PostgreSQL server of this run. Skips the test where it is not installed."""
    return _running.enter_context(postgres_server())


@cache
def pgvector() -> PostgresServer:
    """One that has pgvector at hand. Skips the test where it is not installed."""
    return _running.enter_context(pgvector_server())


def use_bucket() -> None:
    """From now on workspaces lie in buckets, those in memory too. To be called before any test is imported."""
    from lineage import store
    from lineage.app import places
    from tests.support.shadowing import Shadowed

    places.store_at = Shadowed  # type: ignore[assignment]
    store.MemoryStore = fresh_bucket  # type: ignore[assignment,misc]


def end() -> None:
    """Ends every engine that was started."""
    _running.close()
    object_store.cache_clear()
    postgres.cache_clear()
    pgvector.cache_clear()
