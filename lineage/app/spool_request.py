"""Requests that wait in this machine's spool while the workspace's store is unavailable."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lineage.app import clock
from lineage.app.locations import open_documents
from lineage.core.capture.request import parse_request
from lineage.pipeline.capture.session import build_job
from lineage.pipeline.maintenance.finish_pending import NO_SENTENCE


def spool_request(root: Path, flow: str, payload: Mapping[str, Any]) -> None:
    """Put the job of a request into the spool, unless the same one waits there. Raises InvalidInput."""
    spool = open_documents(root).spool
    job = build_job(parse_request(flow, payload, agent_id=None, now=clock.now()), NO_SENTENCE)
    # the flow itself may have written the job before the store failed
    if all((pending.flow, pending.payload) != (flow, job.payload) for pending in spool.list_pending(job.token)):
        spool.put(job)
