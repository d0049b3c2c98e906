"""The move of a workspace: every file of one store is copied into another, read back and compared.

A mark in the target names the source until the move ends: an interrupted move continues, and no other files are taken
for copies. Nothing is deleted at the source.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from lineage.core.base.progress import Progress
from lineage.errors import WorkspaceError
from lineage.pipeline.transfer.file_kinds import classify_file, is_immutable, is_memory_md, sort_for_copying
from lineage.store import ConflictError, ExistsError, Store, read_or_none, update

_MARK = ".lineage/migration.json"
_THREADS = 8
_MAX_ROUNDS = 10  # agents may write on while a store is copied


@dataclass(slots=True)
class MoveResult:
    """The result of a move.

    `there` counts files found in the target, `bytes` those and the `written` ones. `dropped` counts deleted copies of
    files that have left the source.
    """

    files: int = 0
    bytes: int = 0
    written: int = 0
    there: int = 0
    dropped: int = 0


def move_store(source: Store, target: Store, origin: str, progress: Progress | None = None) -> MoveResult:
    """Copy every file of `source`, named `origin`, until a listing shows no change. `finish_move` ends the move.

    Raises BusyError during another move, WorkspaceError if the target has foreign files or returns other bytes than
    written, ConflictError if the source does not stop changing.
    """
    result = MoveResult()
    with target.lock("migration", wait=False):
        _claim_target(target, origin)
        copied: dict[str, str] | None = None
        for _ in range(_MAX_ROUNDS):
            stamps = {entry.key: entry.stamp for entry in source.list("") if not is_memory_md(entry.key)}
            if stamps == copied:
                result.files = len(stamps)
                return result
            changed = [key for key in sort_for_copying(stamps) if (copied or {}).get(key) != stamps[key]]
            _copy_files(source, target, changed, result, progress)
            # the copies of files that have left the source
            for entry in list(target.list("")):
                if entry.key not in stamps and not is_memory_md(entry.key):
                    target.delete(entry.key)
                    result.dropped += 1
            copied = stamps
    raise ConflictError(f"{origin} keeps changing", hint="let its agents rest, then run the command again")


def finish_move(target: Store) -> None:
    """End a move: remove the mark from the target."""
    target.delete(_MARK)


def _claim_target(target: Store, origin: str) -> None:
    """Mark an empty target as filled from `origin`, or find that mark."""
    mark = json.dumps({"from": origin}).encode()
    blob = read_or_none(target, _MARK)
    if blob is None and target.is_empty(""):
        target.create(_MARK, mark)
    elif blob is None or blob.data != mark:
        hint = "name an empty one; `lineage admin mirror` keeps two memories in step"
        raise WorkspaceError("the target isn't empty, and no move from there was begun", hint=hint)


def _copy_files(source: Store, target: Store, keys: list[str], result: MoveResult, progress: Progress | None) -> None:
    """Copy files, one kind after another; those of a kind concurrently."""
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
    """Copy one file and read it back. Return its size, 0 for a file deleted meanwhile, and whether it was written."""
    blob = read_or_none(source, key)
    if blob is None:
        return 0, False
    try:
        target.create(key, blob.data, frozen=is_immutable(key))
    except ExistsError:  # a copy of an earlier run or round: the source decides
        if not update(target, key, lambda _: blob.data):
            return len(blob.data), False
    copy = read_or_none(target, key)
    if copy is None or copy.data != blob.data:
        problem = f"{key}: the target gives back other bytes than it got"
        raise WorkspaceError(problem, hint="run `lineage admin store-check`")
    return len(blob.data), True
