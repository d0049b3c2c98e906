"""What is asked of a memory whose store is away waits in this machine's spool."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lineage.app import now
from lineage.app.places import canon_at
from lineage.core.request import request
from lineage.pipeline.capture.session import job_of
from lineage.pipeline.upkeep.resuming import UNSENTENCED


def keep(root: Path, flow: str, payload: Mapping[str, Any]) -> None:
    """Puts a flow's job into the spool, unless the flow, or one that was asked for the same before, did so itself.

    Raises InvalidInput for a payload that is none.
    """
    spool, job = canon_at(root).spool, job_of(request(flow, payload, agent_id=None, now=now()), UNSENTENCED)
    if all((known.flow, known.payload) != (flow, job.payload) for known in spool.pending(job.token)):
        spool.put(job)
