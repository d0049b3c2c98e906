"""Sessions by reference, the text of a session, and the state of the workspace."""

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

MAX_CANDIDATES = 50
SHOWN_CANDIDATES = 5


@dataclass(frozen=True, slots=True)
class SessionText:
    """The text of a session's file, or of some of its turns."""

    session: SessionRow
    path: str
    text: str
    turns: Sequence[Turn] = ()


def resolve_session(ws: Workspace, reference: str) -> SessionRow:
    """Return the session with this id, key, token or prefix. Raise NotFoundError for none and for several."""
    rows = ws.index.list_sessions(None, reference=reference, limit=MAX_CANDIDATES) if reference else []
    matches = match_reference(rows, reference)
    if not matches:
        raise NotFoundError(f"no session {reference!r}")
    if len(matches) > 1:
        names = ", ".join(f"{row.session_id} ({row.agent_id})" for row in matches[:SHOWN_CANDIDATES])
        more = " …" if len(matches) > SHOWN_CANDIDATES else ""
        raise NotFoundError(f"{reference!r} is ambiguous: {names}{more}", hint="give more of the id, or the token")
    return matches[0]


def match_reference(rows: list[SessionRow], reference: str) -> list[SessionRow]:
    """Return the best matches among the candidates of a reference: its token, else exact ids and keys, else all."""
    exact = [row for row in rows if reference in (row.session_id, row.session_key, row.session_token)]
    return [row for row in exact if row.session_token == reference] or exact or rows


def show_file(ws: Workspace, reference: str, kind: str) -> SessionText:
    """Return the newest file of a kind of a session, and count the access."""
    session = resolve_session(ws, reference)
    paths = [path for path, of_kind in ws.index.list_session_files(session.session_token) if of_kind == kind]
    if kind == naming.MANIFEST:
        paths = [session.manifest_path]  # not the last one: a retired manifest is younger
    document = load_document(ws, paths[-1]) if paths else None
    if document is None:
        raise NotFoundError(f"session {session.session_id} has no {kind}", hint=f"run `lineage show {reference}`")
    ws.telemetry.count_access(session.session_token, ws.now)
    return SessionText(session, document.path, str(document.body))


def show_turns(ws: Workspace, reference: str, first: int, last: int) -> SessionText:
    """Return the turns `first` to `last` of a session, across its captures, and count the access."""
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


def read_hook_failures(documents: Documents) -> list[str]:
    """Return the failures of hooks, oldest first: a hook never reports them to its harness."""
    blob = read_or_none(documents.hook_queue.store, hook_protocol.HOOK_LOG)
    return blob.data.decode("utf-8", errors="replace").splitlines() if blob else []


def _format_event(event: HookEvent) -> dict[str, Any]:
    fields = {"harness": event.harness, "agent_id": event.agent, "at": event.at}
    return {**fields, "attempts": event.attempts, "why": event.why}


def read_local_status(documents: Documents) -> dict[str, Any]:
    """Return the part of `read_status` that lies on this machine and needs no store of the workspace."""
    spool, hook_queue = documents.spool, documents.hook_queue
    return {
        "behind": describe_stale(documents),
        "unfinished": [
            {"flow": job.flow, "session_token": job.token, "captured_at": job.captured_at}
            for job in spool.list_pending()
        ],
        "damaged_jobs": [*spool.list_damaged(), *hook_queue.list_damaged(), *documents.checkpoints.list_damaged()],
        "signals": [_format_event(event) for event in hook_queue.list_pending()],
        "given_up": [_format_event(event) for event in hook_queue.dead_letters()],
        "hook_failures": read_hook_failures(documents),
    }


def read_status(ws: Workspace) -> dict[str, Any]:
    """Return the values of `lineage status`: counts, unfinished flows, counters, the last render."""
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
