"""`lineage mirror`: a folder kept in step with a workspace. See pipeline/mirroring/."""

import queue
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from lineage.app import STATE, open_house, workspace_root
from lineage.app.places import is_bucket, shown
from lineage.errors import InvalidInput, LineageError
from lineage.pipeline.mirroring.journal import Journal
from lineage.pipeline.mirroring.mirror import Mirrored, mirrored
from lineage.pipeline.mirroring.sides import Sides
from lineage.store import BusyError, LocalStore

_NAME = 16


@contextmanager
def mirror_of(root: Path, folder: str) -> Iterator[Callable[[bool], Mirrored]]:
    """The one mirror of the workspace at `root` in a folder, held until the block ends: each call is a round, in houses
    of its own; its parameter confirms that what looks lost is meant to be gone.

    Raises BusyError where the folder is being mirrored, InvalidInput where it can't be, WorkspaceError where there is
    no workspace.
    """
    here = workspace_root(folder)
    _check_folder(here, root)
    open_house(root).close()
    with ExitStack() as held:
        try:
            held.enter_context(LocalStore(here).mutex("mirror", wait=False))
        except BusyError as error:
            raise BusyError(f"{here} is being mirrored already", hint="one mirror is enough: end the other") from error
        yield lambda confirmed: _round(root, here, confirmed=confirmed)


def _round(root: Path, here: Path, *, confirmed: bool) -> Mirrored:
    journal = here / STATE / "mirror" / f"{sha256(shown(root).encode()).hexdigest()[:_NAME]}.db"
    with (
        closing(open_house(here, create=True, asks_model=False)) as one,
        closing(open_house(root, asks_model=False)) as other,
        closing(Journal(journal)) as book,
    ):
        return mirrored(Sides(one, other), book, confirmed=confirmed)


def _check_folder(here: Path, root: Path) -> None:
    if is_bucket(here):
        raise InvalidInput(f"{shown(here)} is no folder", hint="name a folder; `lineage migrate-store` copies buckets")
    if here == root or here in root.parents or root in here.parents:
        raise InvalidInput(f"{here} and {shown(root)} lie in each other", hint="name a folder of its own")


class Rounds:
    """When to look: at once and every so many seconds, until `end` is called, be it in a signal handler."""

    def __init__(self, every: float) -> None:
        self._every, self._ended = every, False
        self._bell: queue.SimpleQueue[None] = queue.SimpleQueue()  # its put is safe in a signal handler

    def __iter__(self) -> Iterator[None]:
        while not self._ended:
            yield
            with suppress(queue.Empty):
                self._bell.get(timeout=self._every)

    def end(self) -> None:
        self._ended = True
        self._bell.put(None)


def run(
    mirror: Callable[[bool], Mirrored],
    rounds: Rounds,
    on_round: Callable[[Mirrored], object],
    on_error: Callable[[LineageError], object],
) -> None:
    """Rounds until the end; no failure of the world ends a mirror. An error is told when it is new."""
    told = ""
    for _ in rounds:
        try:
            on_round(mirror(False))
            told = ""
        except LineageError as error:
            if error.message != told:
                on_error(error)
            told = error.message
