"""What the tools of an import's sessions printed, known before the first of them is captured (reliability: overlap).

The newest sessions are captured first, and several at once: without this, what is quoted would depend on the order.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial

from lineage.core.base.project import build_project_key
from lineage.core.format.tool_overlap import collect_runs, iter_tool_texts
from lineage.errors import InvalidInput, TranscriptError
from lineage.index.printed_runs import PrintedRuns, PrintedSession, create_printed_runs
from lineage.pipeline.ingest.import_sources import SessionSources
from lineage.pipeline.ingest.worker_pool import WorkerPool
from lineage.projects import resolve_project
from lineage.workspace.projects import find_hashed_folder, identify
from lineage.workspace.workspace import Workspace


@contextmanager
def compare_sessions(
    ws: Workspace,
    open_workspace: Callable[[], Workspace],
    pool: WorkerPool,
    groups: Sequence[SessionSources],
    progress: Callable[[int, int], None],
) -> Iterator[Callable[[], Workspace]]:
    """Yield a function that opens a workspace, at this one's time, which knows what all these sessions' tools printed.

    So none quotes what a tool printed in an older session, whichever of them is captured first. (reliability: overlap)
    """
    if len(groups) < 2:
        yield partial(open_at, open_workspace, ws.now)
        return
    with create_printed_runs(ws.scratch) as printed:
        opened = partial(open_at, open_workspace, ws.now, printed)
        pool.map_chunks(partial(_collect_printed, opened, printed), groups, progress)
        yield opened


def _collect_printed(
    open_workspace: Callable[[], Workspace], printed: PrintedRuns, groups: Sequence[SessionSources]
) -> list[str]:
    """Note what the tools of sessions printed; return their tokens."""
    with closing(open_workspace()) as ws:
        removed = ws.documents.tombstones
        printed.add(one for group in groups if not removed.has(group.token) for one in _read_printed(ws, group))
    return [group.token for group in groups]


def _read_printed(ws: Workspace, group: SessionSources) -> Iterator[PrintedSession]:
    """Yield what the sources of a session printed. One that can't be read is named where it is captured."""
    for source in group.sources:
        with suppress(TranscriptError, InvalidInput):
            capture = source.read()
            folder = resolve_project(capture.project) or find_hashed_folder(ws, capture.project_hash)
            owner = build_project_key(*identify(ws, folder)) or group.token
            runs = collect_runs(iter_tool_texts(capture.turns))
            yield PrintedSession(owner, group.token, capture.ended_at or source.read_mtime(), runs)


def open_at(open_workspace: Callable[[], Workspace], now: str, printed: PrintedRuns | None = None) -> Workspace:
    """Open a workspace at a given time, in any process, that knows what the tools of an import printed."""
    return replace(open_workspace(), now=now, printed=printed)
