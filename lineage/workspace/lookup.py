"""Looking things up: sessions, one session's text, the state of the workspace."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lineage.core.base import hook_protocol, naming
from lineage.core.format import transcript
from lineage.core.format.documents import Artifact
from lineage.core.format.turns import Turn
from lineage.documents import Documents, HookEvent
from lineage.errors import NotFoundError
from lineage.index import SessionRow
from lineage.store import read_or_none
from lineage.workspace.load import load_document
from lineage.workspace.stale_index import describe_stale
from lineage.workspace.workspace import Workspace

_SHOWN_CANDIDATES = 5


@dataclass(frozen=True, slots=True)
class SessionText:
    """A file of a session, or some of its turns."""

    session: SessionRow
    path: str
    text: str
    turns: Sequence[Turn] = ()


def resolve_session(ws: Workspace, reference: str) -> SessionRow:
    """The session that an id, key, token or a prefix of one names. Raises NotFoundError for none and for many."""
    found = ws.index.list_sessions(None, reference=reference, limit=50) if reference else []
    exact = [row for row in found if reference in (row.session_id, row.session_key, row.session_token)]
    matches = [row for row in exact if row.session_token == reference] or exact or found
    if not matches:
        raise NotFoundError(f"no session {reference!r}")
    if len(matches) > 1:
        names = ", ".join(f"{row.session_id} ({row.agent_id})" for row in matches[:_SHOWN_CANDIDATES])
        more = " …" if len(matches) > _SHOWN_CANDIDATES else ""
        raise NotFoundError(f"{reference!r} is ambiguous: {names}{more}", hint="give more of the id, or the token")
    return matches[0]


def show_file(ws: Workspace, reference: str, kind: str) -> SessionText:
    """The newest file of a kind of a session; its access is counted."""
    session = resolve_session(ws, reference)
    paths = [path for path, of_kind in ws.index.list_session_files(session.session_token) if of_kind == kind]
    if kind == naming.MANIFEST:
        paths = [session.manifest_path]  # a retired one, if there is any, is younger
    document = load_document(ws, paths[-1]) if paths else None
    if document is None:
        raise NotFoundError(f"session {session.session_id} has no {kind}", hint=f"run `lineage show {reference}`")
    ws.telemetry.count_access(session.session_token, ws.now)
    return SessionText(session, document.path, str(document.body))


def show_turns(ws: Workspace, reference: str, first: int, last: int) -> SessionText:
    """The turns `first` to `last` of a session, across its captures."""
    session = resolve_session(ws, reference)
    turns: list[Turn] = []
    for path, kind in ws.index.list_session_files(session.session_token):
        document = load_document(ws, path) if kind == naming.TRANSCRIPT else None
        if isinstance(document, Artifact):
            turns += [turn for turn in transcript.parse_turns(document.body) if first <= turn.number <= last]
    if not turns:
        raise NotFoundError(f"session {session.session_id} has no turns {first}-{last}")
    ws.telemetry.count_access(session.session_token, ws.now)
    text = transcript.render_turns("", turns).lstrip("\n")
    return SessionText(session, session.manifest_path, text, turns)


def read_hook_failures(canon: Documents) -> list[str]:
    """What the doorbell could not do, oldest first: a hook never tells its harness."""
    blob = read_or_none(canon.hook_queue.store, hook_protocol.HOOK_LOG)
    return blob.data.decode("utf-8", errors="replace").splitlines() if blob else []


def _format_event(event: HookEvent) -> dict[str, Any]:
    return {
        "harness": event.harness,
        "agent_id": event.agent,
        "at": event.at,
        "attempts": event.attempts,
        "why": event.why,
    }


def read_local_status(canon: Documents) -> dict[str, Any]:
    """What of `status` lies on this machine alone, and can be told while the workspace's store is away."""
    spool = canon.spool
    return {
        "behind": describe_stale(canon),
        "unfinished": [
            {"flow": job.flow, "session_token": job.token, "captured_at": job.captured_at}
            for job in spool.list_pending()
        ],
        "damaged_jobs": [*spool.list_damaged(), *canon.hook_queue.list_damaged(), *canon.checkpoints.list_damaged()],
        "signals": [_format_event(rung) for rung in canon.hook_queue.list_pending()],
        "given_up": [_format_event(rung) for rung in canon.hook_queue.dead_letters()],
        "hook_failures": read_hook_failures(canon),
    }


def read_status(ws: Workspace) -> dict[str, Any]:
    """What `lineage status` shows: counts, unfinished flows, counters, the last render."""
    return {
        "sanitizer": ws.rules.version,
        "rules": len(ws.rules.rules),
        "artifacts": ws.index.count_by_kind(),
        "agents": ws.index.list_agents(),
        "tombstones": len(ws.documents.tombstones.list_tokens()),
        **read_local_status(ws.documents),
        "counters": ws.telemetry.read_counters(),
        "not_learned": ws.telemetry.read_drop_counts(),
        "telemetry_was_damaged": ws.telemetry.was_damaged,
        "marks": dict(ws.telemetry.read_marks()),
    }
