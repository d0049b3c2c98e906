"""Who does the work of many processes on other machines: a cluster that is there already, named on the command line."""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

from lineage.app.extras import need
from lineage.errors import InvalidInput, WorkspaceError

_DASK = "dask"
_CONNECT_SECONDS = 10


@contextmanager
def executor_at(name: str) -> Iterator[Executor]:
    """The executor that `dask:HOST:PORT` names, a Dask scheduler; its workers have lineage installed, and reach the
    workspace and what is given to them as this machine does.

    Raises InvalidInput for any other name, ExtraMissing where Dask isn't installed, WorkspaceError where no scheduler
    answers.
    """
    kind, _, address = name.partition(":")
    if kind != _DASK or not address:
        raise InvalidInput(f"not an executor: {name[:60]!r}", hint="give the address of a scheduler: `dask:HOST:PORT`")
    need(_DASK, "distributed")
    from distributed import Client

    connect: Callable[..., Any] = Client
    try:
        client = connect(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise WorkspaceError(
            f"no Dask scheduler answers at {address}", hint="start one with `dask scheduler`"
        ) from error
    with client:
        executor: Executor = client.get_executor()
        yield executor
