"""The sweep of the harnesses' histories: sessions that no hook told of, from before the installation or an approval."""

from collections.abc import Callable
from pathlib import Path

from lineage.core.base.naming import Identity
from lineage.core.base.times import shift_time
from lineage.errors import TranscriptError
from lineage.harness.sqlite import DATABASE_SUFFIXES
from lineage.pipeline.capture.session import CAPTURED
from lineage.pipeline.ingest.checkpoints import offer_checkpoints
from lineage.pipeline.ingest.history_import import capture_groups
from lineage.pipeline.ingest.import_sources import ImportRequest, SessionSources, survey_history
from lineage.pipeline.ingest.worker import OpenSession, SweepResult
from lineage.pipeline.ingest.worker_pool import open_worker_pool
from lineage.workspace.workspace import Workspace


def sweep_histories(
    ws: Workspace,
    open_workspace: Callable[[], Workspace],
    import_request: ImportRequest,
    done: SweepResult,
    *,
    idle_minutes: int,
) -> None:
    """Import the sessions of the histories that nobody captured, and add them to a sweep's result.

    Files as they were at their last import are not read. What was written to in the last `idle_minutes`, an open
    session of `done` and the sub-agents of both wait; a session that another agent captured stays with that agent.
    """
    with open_worker_pool(import_request.jobs) as pool:
        survey = survey_history(ws, import_request, pool, lambda *_: None)
        groups = _leave_out_open(ws, import_request.agent_id, survey.groups, done, idle_minutes)
        results = capture_groups(ws, open_workspace, import_request, pool, groups)
    captured = [result.token for result in results if result.status == CAPTURED]
    done.captured += captured
    done.failed += [(path, reason) for _, path, reason in survey.problems]
    done.failed += [problem for result in results for problem in result.problems]
    if captured:
        offer_checkpoints(ws)


def _leave_out_open(
    ws: Workspace, agent_id: str, groups: tuple[SessionSources, ...], done: SweepResult, idle_minutes: int
) -> list[SessionSources]:
    """Return the groups that are over and no other agent's. Add the open ones to the result."""
    others = {*ws.index.list_agents()} - {agent_id}
    waiting, left_out = {session.session_id for session in done.waiting}, set[str]()
    for group in groups:
        until, session_id = _find_end(group, idle_minutes), group.identity.session_id
        if until > ws.now and session_id not in waiting:
            done.waiting.append(OpenSession(group.sources[0].harness, session_id, until))
        tokens = (Identity.in_lane(one, session_id, group.lane).token for one in others)
        if until > ws.now or session_id in waiting or any(map(ws.documents.claims.has, tokens)):
            left_out.add(group.token)
    return [group for group in groups if left_out.isdisjoint({group.token, *group.parents})]


def _find_end(group: SessionSources, idle_minutes: int) -> str:
    """Return the time since which a session's files have to be quiet, "" if nobody waits for that."""
    times = []
    for source in group.sources if idle_minutes else ():
        # a database's own time is that of its last session
        is_database = Path(source.path).suffix in DATABASE_SUFFIXES
        try:
            written = group.ended_at if is_database and group.ended_at else source.read_mtime()
            times.append(shift_time(written, milliseconds=60_000 * idle_minutes))
        except TranscriptError:  # deleted just now
            continue
    return max(times, default="")
