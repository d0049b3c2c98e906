"""`lineage mirror`: a folder kept in step with a workspace. See pipeline/mirroring/."""

import queue
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from lineage.app.locations import format_location, is_bucket, resolve_workspace_root
from lineage.app.machine_config import STATE_FOLDER
from lineage.app.workspace import open_workspace
from lineage.errors import InvalidInput, LineageError
from lineage.pipeline.transfer.mirror.journal import MirrorJournal
from lineage.pipeline.transfer.mirror.pair import MirrorPair
from lineage.pipeline.transfer.mirror.run import MirrorResult, run_mirror
from lineage.store import BusyError, LocalStore

_NAME_LENGTH = 16


@contextmanager
def open_mirror(root: Path, folder: str) -> Iterator[Callable[[bool], MirrorResult]]:
    """The one mirror of the workspace at `root` in a folder, held until the block ends: each call is a round, in houses
    of its own; its parameter confirms that what looks lost is meant to be gone.

    Raises BusyError where the folder is being mirrored, InvalidInput where it can't be, WorkspaceError where there is
    no workspace.
    """
    here = resolve_workspace_root(folder)
    _check_folder(here, root)
    open_workspace(root).close()
    with ExitStack() as held:
        try:
            held.enter_context(LocalStore(here).lock("mirror", wait=False))
        except BusyError as error:
            raise BusyError(f"{here} is being mirrored already", hint="one mirror is enough: end the other") from error
        yield lambda confirmed: _run_round(root, here, confirmed=confirmed)


def _run_round(root: Path, folder: Path, *, confirmed: bool) -> MirrorResult:
    journal = (
        folder / STATE_FOLDER / "mirror" / f"{sha256(format_location(root).encode()).hexdigest()[:_NAME_LENGTH]}.db"
    )
    with (
        closing(open_workspace(folder, create=True, use_model=False)) as one,
        closing(open_workspace(root, use_model=False)) as other,
        closing(MirrorJournal(journal)) as book,
    ):
        return run_mirror(MirrorPair(one, other), book, confirmed=confirmed)


def _check_folder(folder: Path, root: Path) -> None:
    if is_bucket(folder):
        raise InvalidInput(
            f"{format_location(folder)} is no folder", hint="name a folder; `lineage migrate-store` copies buckets"
        )
    if folder == root or folder in root.parents or root in folder.parents:
        raise InvalidInput(f"{folder} and {format_location(root)} lie in each other", hint="name a folder of its own")


class RoundTimer:
    """When to look: at once and every so many seconds, until `end` is called, be it in a signal handler."""

    def __init__(self, every: float) -> None:
        self._every, self._is_stopped = every, False
        self._wakeups: queue.SimpleQueue[None] = queue.SimpleQueue()  # its put is safe in a signal handler

    def __iter__(self) -> Iterator[None]:
        while not self._is_stopped:
            yield
            with suppress(queue.Empty):
                self._wakeups.get(timeout=self._every)

    def stop(self) -> None:
        self._is_stopped = True
        self._wakeups.put(None)


def run_rounds(
    mirror: Callable[[bool], MirrorResult],
    rounds: RoundTimer,
    on_round: Callable[[MirrorResult], object],
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
