"""`lineage admin mirror`: a folder kept in step with a workspace, round by round. See pipeline/transfer/mirror/."""

import queue
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from lineage.app.locations import STATE_FOLDER, format_location, is_bucket, resolve_workspace_root
from lineage.app.workspace import open_workspace
from lineage.errors import InvalidInput, LineageError
from lineage.pipeline.transfer.mirror.apply import MirrorPair
from lineage.pipeline.transfer.mirror.journal import MirrorJournal
from lineage.pipeline.transfer.mirror.run import MirrorResult, run_mirror
from lineage.store import BusyError, LocalStore

_NAME_LENGTH = 16


@contextmanager
def open_mirror(root: Path, folder: str) -> Iterator[Callable[[bool], MirrorResult]]:
    """Hold the right to mirror the workspace in a folder, and yield the function that runs a round.

    Its parameter confirms the deletion of seemingly lost entries. Raises BusyError for a folder that is
    being mirrored, InvalidInput for an unsuitable one, WorkspaceError for a missing workspace.
    """
    target = resolve_workspace_root(folder)
    _check_folder(target, root)
    open_workspace(root).close()
    with ExitStack() as lock:
        try:
            lock.enter_context(LocalStore(target).lock("mirror", wait=False))
        except BusyError as error:
            raise BusyError(
                f"{target} is being mirrored already", hint="one mirror is enough: end the other"
            ) from error
        # workspaces are opened anew for each round: the time is read once per use case
        yield lambda confirmed: _run_round(root, target, confirmed=confirmed)


def _run_round(root: Path, folder: Path, *, confirmed: bool) -> MirrorResult:
    # the journal lies with the folder, one for each workspace that it mirrors
    name = sha256(format_location(root).encode()).hexdigest()[:_NAME_LENGTH]
    with (
        closing(open_workspace(folder, create=True, use_model=False)) as one,
        closing(open_workspace(root, use_model=False)) as other,
        closing(MirrorJournal(folder / STATE_FOLDER / "mirror" / f"{name}.db")) as journal,
    ):
        return run_mirror(MirrorPair(one, other), journal, confirmed=confirmed)


def _check_folder(folder: Path, root: Path) -> None:
    if is_bucket(folder):
        raise InvalidInput(
            f"{format_location(folder)} is no folder", hint="name a folder; `lineage admin move` copies buckets"
        )
    if folder == root or folder in root.parents or root in folder.parents:
        raise InvalidInput(f"{folder} and {format_location(root)} lie in each other", hint="name a folder of its own")


class RoundTimer:
    """An iterator that yields at once and then every `every` seconds, until `stop` is called."""

    def __init__(self, every: float) -> None:
        self._every, self._is_stopped = every, False
        # unlike a threading.Event it may be set in a signal handler
        self._wakeups: queue.SimpleQueue[None] = queue.SimpleQueue()

    def __iter__(self) -> Iterator[None]:
        while not self._is_stopped:
            yield
            with suppress(queue.Empty):
                self._wakeups.get(timeout=self._every)

    def stop(self) -> None:
        """End the iteration. Safe in a signal handler."""
        self._is_stopped = True
        self._wakeups.put(None)


def run_rounds(
    mirror: Callable[[bool], MirrorResult],
    rounds: RoundTimer,
    on_round: Callable[[MirrorResult], object],
    on_error: Callable[[LineageError], object],
) -> None:
    """Run rounds until the timer stops; an error ends none. The same error in a row is reported once."""
    last_message = ""
    for _ in rounds:
        try:
            on_round(mirror(False))
            last_message = ""
        except LineageError as error:
            # a mirror runs for days: a network that is down must not fill the log
            if error.message != last_message:
                on_error(error)
            last_message = error.message
