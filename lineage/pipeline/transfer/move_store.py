"""A memory moves: every file of one store into another, read back and compared.

The target says from where it is being filled until it is full: whoever was cut off goes on, and nobody else's files are
ever taken for copies. Nothing is deleted at the source.
"""

import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from lineage.core.base.progress import Progress
from lineage.errors import WorkspaceError
from lineage.pipeline.transfer.file_kinds import classify_file, is_immutable, is_memory_md, sort_for_copying
from lineage.store import ConflictError, ExistsError, MissingError, Store, read_or_none, update

_MARK = ".lineage/migration.json"
_THREADS = 8
_MAX_ROUNDS = 10


@dataclass(slots=True)
class MoveResult:
    """What became of a move. `written` files were, `there` ones lay in the target already; `bytes` counts both.
    `dropped` files were copied by a run before this one, and have gone from the source since."""

    files: int = 0
    bytes: int = 0
    written: int = 0
    there: int = 0
    dropped: int = 0


def move_store(source: Store, target: Store, origin: str, progress: Progress | None = None) -> MoveResult:
    """Copies everything of `source`, whose name is `origin`, until a listing shows nothing new. What was cut off is
    gone on with; to be ended by `settled`.

    Raises BusyError where somebody is at it, WorkspaceError where the target holds anything else or gives back other
    bytes than it got, ConflictError where the source does not stop changing.
    """
    result = MoveResult()
    with ExitStack() as held:
        held.enter_context(target.lock("migration", wait=False))
        _claim_target(target, origin)
        seen: dict[str, str] | None = None
        for _ in range(_MAX_ROUNDS):
            there = {entry.key: entry.stamp for entry in source.list("") if not is_memory_md(entry.key)}
            if there == seen:
                result.files = len(there)
                return result
            fresh = [key for key in sort_for_copying(there) if (seen or {}).get(key) != there[key]]
            _copy_files(source, target, fresh, result, progress)
            result.dropped += _delete_stale_copies(target, there)
            seen = there
    raise ConflictError(f"{origin} keeps changing", hint="let its agents rest, then run the command again")


def finish_move(target: Store) -> None:
    """Ends a move: from now on the target is a memory like any other."""
    target.delete(_MARK)


def _claim_target(target: Store, origin: str) -> None:
    """Marks an empty target as one that is being filled from `origin`, or finds that mark."""
    mark = json.dumps({"from": origin}).encode()
    blob = read_or_none(target, _MARK)
    if blob is None and not any(True for _ in target.list("")):
        target.create(_MARK, mark)
    elif blob is None or blob.data != mark:
        raise WorkspaceError(
            "the target isn't empty, and no move from there was begun",
            hint="name an empty one; `lineage mirror` keeps two memories in step",
        )


def _copy_files(source: Store, target: Store, keys: list[str], result: MoveResult, progress: Progress | None) -> None:
    """Copies files, sort by sort: those of one sort at once."""
    done = 0
    with ThreadPoolExecutor(_THREADS) as pool:
        for _, group in groupby(keys, classify_file):
            for size, is_new in pool.map(partial(_copy_file, source, target), list(group)):
                done += 1
                result.bytes += size
                result.written += is_new
                result.there += not is_new
                if progress:
                    progress(done, len(keys))


def _copy_file(source: Store, target: Store, key: str) -> tuple[int, bool]:
    """Copies one file and compares what lies there now with it: its size, and whether it was written. What has gone
    meanwhile has no size; the next listing tells."""
    blob = read_or_none(source, key)
    if blob is None:
        return 0, False
    try:
        target.create(key, blob.data, frozen=is_immutable(key))
    except ExistsError:
        if not update(target, key, lambda _: blob.data):
            return len(blob.data), False
    _verify_copy(target, key, blob.data)
    return len(blob.data), True


def _verify_copy(target: Store, key: str, data: bytes) -> None:
    try:
        kept = target.read(key).data
    except MissingError:
        kept = None
    if kept != data:
        raise WorkspaceError(f"{key}: the target gives back other bytes than it got", hint="run `lineage store check`")


def _delete_stale_copies(target: Store, there: Iterable[str]) -> int:
    """Deletes copies of what has gone from the source."""
    known = set(there)
    gone = [entry.key for entry in target.list("") if entry.key not in known and not is_memory_md(entry.key)]
    for key in gone:
        target.delete(key)
    return len(gone)
