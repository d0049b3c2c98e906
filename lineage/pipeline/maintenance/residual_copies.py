"""The copies of a session's text that its removal can't reach."""

from lineage.harness.registry import HARNESSES
from lineage.workspace.workspace import Workspace


def list_residual_copies(
    ws: Workspace, harness: str | None, session_id: str | None, *, has_sub_agents: bool
) -> list[str]:
    """Return the places outside of lineage that hold a session's text."""
    spec = HARNESSES.get(harness or "")
    where = f": {spec.transcript.format(session=session_id)}" if spec and spec.transcript else ""
    where += f" and {session_id}/subagents/" * (bool(where) and has_sub_agents)
    copies = [
        f"the transcript that {harness or 'the harness'} keeps itself{where}",
        *ws.documents.store.residual_copies(),
        *ws.index.residual_copies(),
        "exports and bundles of it that were written outside of the workspace",
    ]
    # the embedding service of today's configuration; an earlier one is not known any more
    host = ws.embedding.embedder.host if ws.embedding else ""
    return [*copies, f"what {host} kept of the redacted passages that it embedded"] if host else copies
