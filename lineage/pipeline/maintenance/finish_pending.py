"""What the spool says is unfinished is finished before anything else is done. (spec: partial-failure states)

The spool is empty as a rule: what finishes a removal, an import or an archive is imported where there is one.
"""

from lineage.core.capture.request import COMPACTION, Request, parse_request
from lineage.core.format.job import ARCHIVAL, IMPORT, REMOVAL, RESANITIZE, Job
from lineage.errors import EngineMissing, FormatError, LineageError
from lineage.pipeline.capture import session as sessions
from lineage.pipeline.capture.result import CaptureResult
from lineage.pipeline.capture.session_end import capture_session
from lineage.store import BusyError
from lineage.workspace.stale_index import find_outage
from lineage.workspace.workspace import Workspace

NO_SENTENCE = ("", "")
"""The sentence of a job that nobody has looked into yet."""

_WITHOUT_ENGINE = "run `pip install google-re2`, then `lineage recover`"


class FinishPendingResult:
    """What was finished: artifacts by path; `waiting` are jobs whose source cannot be read, with the reason."""

    def __init__(self) -> None:
        self.finished: list[str] = []
        self.removals: list[str] = []
        self.resanitized: list[str] = []
        self.waiting: list[tuple[str, str]] = []


def run_capture(ws: Workspace, request: Request) -> CaptureResult:
    """One of the spec's two flows as commands run it: first what others left unfinished, then what is asked.

    Where the redaction engine is missing nothing is captured and nothing is lost: what was asked waits in the spool.
    """
    try:
        finish_pending(ws, except_token=request.token)
        return _run_flow(ws, request)
    except EngineMissing as error:
        ws.documents.spool.put(sessions.build_job(request, NO_SENTENCE))
        raise EngineMissing(f"{error.message}; the session waits in the spool", hint=_WITHOUT_ENGINE) from error


def finish_pending(
    ws: Workspace, done: FinishPendingResult | None = None, *, wait: bool = False, except_token: str | None = None
) -> FinishPendingResult:
    """Finishes what the spool says is unfinished: cheap where it is empty. Sessions that somebody works on right now
    are left to them, unless `wait` says otherwise; so is the session whose token is `spare`. While the index is away,
    all of it waits."""
    done = done or FinishPendingResult()
    pending = ws.documents.spool.list_pending()
    unreachable = find_outage(ws) if pending else None
    if unreachable:
        done.waiting += [(job.name, unreachable) for job in pending]
        return done
    for job in pending:
        if job.token == except_token and job.flow not in (REMOVAL, RESANITIZE, IMPORT):
            continue
        try:
            with sessions.session_lock(ws, job.token, wait=wait):
                _finish_job(ws, job, done)
            _replay(ws, job, done)
        except BusyError:
            continue
        except FormatError as error:
            done.waiting.append((job.name, error.message))
    return done


def _finish_job(ws: Workspace, job: Job, done: FinishPendingResult) -> None:
    """What a job has written already is completed from the files."""
    if job.flow == REMOVAL:
        from lineage.pipeline.maintenance.remove import finish_removal  # noqa: PLC0415

        finish_removal(ws, job)
        done.removals.append(job.token)
        return
    if job.flow == IMPORT:
        from lineage.pipeline.maintenance.import_journal import finish_import  # noqa: PLC0415

        done.finished += finish_import(ws, job)
        return
    if job.flow == ARCHIVAL:
        from lineage.pipeline.maintenance.archive import finish_archive  # noqa: PLC0415

        finish_archive(ws, job)
        return
    if ws.documents.tombstones.has(job.token):
        ws.documents.spool.clear(job)
        return
    if job.flow == RESANITIZE:
        from lineage.pipeline.maintenance.resanitize import finish_resanitize  # noqa: PLC0415

        finish_resanitize(ws, job)
        done.resanitized.append(job.token)
        return
    session = sessions.load_session(ws, job.token)
    done.finished += [artifact.path for artifact in sessions.finish_interrupted(ws, session)]


def _replay(ws: Workspace, job: Job, done: FinishPendingResult) -> None:
    """A job that had written nothing yet is run again from its payload. Where its source is gone, it waits."""
    if job.name not in {known.name for known in ws.documents.spool.list_pending(job.token)}:
        return
    try:
        asked = parse_request(job.flow, job.payload, agent_id=None, now=job.captured_at)
        outcome = _run_flow(ws, asked)
    except LineageError as error:
        done.waiting.append((job.name, error.message))
        return
    done.finished += [path for path in (outcome.transcript_path, outcome.compaction_path) if path]


def _run_flow(ws: Workspace, request: Request) -> CaptureResult:
    if request.flow == COMPACTION:
        from lineage.pipeline.capture.compaction import capture_compaction  # noqa: PLC0415

        return capture_compaction(ws, request)
    return capture_session(ws, request)
