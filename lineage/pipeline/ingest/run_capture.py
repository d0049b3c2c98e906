"""The way into a capture: every surface and the worker start one here."""

from lineage.core.capture.request import COMPACTION, Request
from lineage.errors import EngineMissing
from lineage.pipeline.capture.compaction import capture_compaction
from lineage.pipeline.capture.result import CaptureResult
from lineage.pipeline.capture.session import build_job
from lineage.pipeline.capture.session_end import capture_session
from lineage.pipeline.maintenance.finish_pending import NO_SENTENCE, finish_pending
from lineage.workspace.workspace import Workspace

_WITHOUT_ENGINE = "run `pip install google-re2`, then `lineage recover`"


def run_capture(ws: Workspace, request: Request) -> CaptureResult:
    """Run a flow after other sessions' unfinished jobs. EngineMissing is raised once the request is in the spool."""
    try:
        finish_pending(ws, except_token=request.token)
        return capture_compaction(ws, request) if request.flow == COMPACTION else capture_session(ws, request)
    except EngineMissing as error:
        ws.documents.spool.put(build_job(request, NO_SENTENCE))
        raise EngineMissing(f"{error.message}; the session waits in the spool", hint=_WITHOUT_ENGINE) from error
