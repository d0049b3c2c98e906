"""What is asked of a memory whose store is away waits in this machine's spool."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lineage.app import clock
from lineage.app.locations import open_documents
from lineage.core.capture.request import parse_request
from lineage.pipeline.capture.session import build_job
from lineage.pipeline.maintenance.finish_pending import NO_SENTENCE


def spool_request(root: Path, flow: str, payload: Mapping[str, Any]) -> None:
    """Puts a flow's job into the spool, unless the flow, or one that was asked for the same before, did so itself.

    Raises InvalidInput for a payload that is none.
    """
    spool, job = (
        open_documents(root).spool,
        build_job(parse_request(flow, payload, agent_id=None, now=clock.now()), NO_SENTENCE),
    )
    if all((known.flow, known.payload) != (flow, job.payload) for known in spool.list_pending(job.token)):
        spool.put(job)
