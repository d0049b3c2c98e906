"""Unfinished jobs of the spool are finished before anything else is done (spec: partial-failure states).

Every surface and the worker start a capture here, by `run_capture`.
"""

from lineage.core.capture.request import COMPACTION, Request, parse_request
from lineage.core.format.job import ARCHIVAL, BOOKS, IMPORT, REMOVAL, RESANITIZE, Job
from lineage.errors import DatabaseDamaged, DiskFull, EngineMissing, IndexUnavailable, LineageError
from lineage.pipeline.capture import session as sessions
from lineage.pipeline.capture.compaction import capture_compaction
from lineage.pipeline.capture.session import CaptureResult, build_job
from lineage.pipeline.capture.session_end import capture_session
from lineage.pipeline.maintenance.archive import finish_archive
from lineage.pipeline.maintenance.import_journal import finish_import
from lineage.pipeline.maintenance.remove import finish_removal
from lineage.pipeline.maintenance.resanitize import finish_resanitize
from lineage.pipeline.memory.book_changes import finish_book_change
from lineage.store import BusyError, LeaseLost, StoreUnavailable
from lineage.workspace.displaced_edits import merge_displaced_edits
from lineage.workspace.workspace import Workspace, find_outage

NO_SENTENCE = ("", "")
"""The sentence of a job before anybody has written one."""
_OF_THE_WORKSPACE = (DatabaseDamaged, DiskFull, EngineMissing, IndexUnavailable, LeaseLost, StoreUnavailable)
"""Failures that every job would meet, and the command itself. Any other is one job's own, and stops nothing else."""


class FinishPendingResult:
    """The jobs finished: paths of artifacts, and tokens. `waiting` are (job, reason) of jobs that still wait."""

    def __init__(self) -> None:
        self.finished: list[str] = []
        self.removals: list[str] = []
        self.resanitized: list[str] = []
        self.waiting: list[tuple[str, str]] = []


def finish_pending(
    ws: Workspace, result: FinishPendingResult | None = None, *, wait: bool = False, except_token: str | None = None
) -> FinishPendingResult:
    """Finish the jobs in the spool, and merge edits of replaced files; cheap if there are none.

    A session locked by somebody else is left to its holder, unless `wait` is True. The captures of `except_token` are
    left to the caller. During an outage of the index, every job waits.
    """
    result = result or FinishPendingResult()
    merge_displaced_edits(ws)
    pending = ws.documents.spool.list_pending()
    outage = find_outage(ws) if pending else None
    if outage:
        result.waiting += [(job.name, outage) for job in pending]
        return result
    for job in pending:
        if job.token == except_token and job.flow not in (REMOVAL, RESANITIZE, IMPORT):
            continue
        try:
            with sessions.session_lock(ws, job.token, wait=wait):
                pending += _finish_job(ws, job, result)
            _replay(ws, job, result)
        except BusyError:
            continue
        except _OF_THE_WORKSPACE:
            raise
        except LineageError as error:
            result.waiting.append((job.name, error.message))
    return result


def _finish_job(ws: Workspace, job: Job, result: FinishPendingResult) -> list[Job]:
    """Complete the steps of a job that has written something, from the files. Return the jobs that follow from it."""
    if job.flow == REMOVAL:
        result.removals.append(job.token)
        return finish_removal(ws, job)
    if job.flow == IMPORT:
        result.finished += finish_import(ws, job)
    elif job.flow == BOOKS:
        finish_book_change(ws, job)
    elif job.flow == ARCHIVAL:
        finish_archive(ws, job)
    elif ws.documents.tombstones.has(job.token):
        ws.documents.spool.clear(job)
    elif job.flow == RESANITIZE:
        finish_resanitize(ws, job)
        result.resanitized.append(job.token)
    else:
        session = sessions.load_session(ws, job.token)
        result.finished += [artifact.path for artifact in sessions.finish_interrupted(ws, session)]
    return []


def _replay(ws: Workspace, job: Job, result: FinishPendingResult) -> None:
    """Run a job from its payload if it has written nothing yet. Without its source, it waits."""
    if job.name not in {pending.name for pending in ws.documents.spool.list_pending(job.token)}:
        return
    try:
        request = parse_request(job.flow, job.payload, agent_id=None, now=job.captured_at)
        capture = capture_compaction(ws, request) if job.flow == COMPACTION else capture_session(ws, request)
        result.finished += filter(None, (capture.transcript_path, capture.compaction_path))
    except LineageError as error:
        result.waiting.append((job.name, error.message))


def run_capture(ws: Workspace, request: Request) -> CaptureResult:
    """Run a flow after other sessions' unfinished jobs. EngineMissing is raised once the request is in the spool."""
    try:
        finish_pending(ws, except_token=request.token)
        return capture_compaction(ws, request) if request.flow == COMPACTION else capture_session(ws, request)
    except EngineMissing as error:
        ws.documents.spool.put(build_job(request, NO_SENTENCE))
        raise EngineMissing(f"{error.message}; the session waits in the spool", then="lineage admin recover") from error
