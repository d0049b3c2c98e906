"""Sessions by reference, their files as documents and as rows of the index, and the state of the workspace."""

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lineage.core.base import hook_protocol, naming
from lineage.core.base.book_paths import session_scope
from lineage.core.base.plural import pluralize
from lineage.core.base.short_ids import shorten_names
from lineage.core.capture.ledger import find_parent
from lineage.core.format import transcript
from lineage.core.format.documents import Artifact, Manifest, serialize_document, serialize_or_stream
from lineage.core.format.manifest import list_artifact_paths
from lineage.core.format.turns import Turn
from lineage.documents import Documents, HookEvent
from lineage.documents.artifacts import LoadedDocument, load_stored_document
from lineage.errors import AmbiguousError, FormatError, NotFoundError
from lineage.index import ArtifactRow, SessionRow, TurnTexts, build_row, build_row_from_hash
from lineage.index.books import parse_owner_token
from lineage.store import MissingError, Store, compute_sha256, iter_chunks, read_or_none
from lineage.workspace.workspace import Workspace, describe_stale, tolerate_outage

MAX_CANDIDATES = 50
MAX_SUB_AGENTS = 10_000
SHOWN_CANDIDATES = 5


def load_document(ws: Workspace, path: str) -> Artifact | Manifest | None:
    """Return the artifact or manifest at a path, None if there is none. Raise FormatError if it is damaged."""
    stored = load_stored_document(ws.documents.store, path)
    return _check_document(path, stored) if stored else None


def load_readable_document(ws: Workspace, path: str) -> Artifact | Manifest | None:
    """Return the artifact or manifest at a path, None if there is none or it is damaged."""
    with contextlib.suppress(FormatError):
        return load_document(ws, path)
    return None


def load_row(store: Store, path: str) -> tuple[ArtifactRow, Artifact | Manifest] | None:
    """Return the row of the file at a path, and its document. Raise FormatError if it is damaged."""
    stored = load_stored_document(store, path)
    if stored is None:
        return None
    document = _check_document(path, stored)
    return build_row_from_hash(document, stored.sha256, stored.stamp), document


def load_row_of_written(ws: Workspace, artifact: Artifact, turn_texts: TurnTexts | None = None) -> ArtifactRow | None:
    """Return the row of a just written artifact, parsed only if changed; None if gone. Raise FormatError."""
    store = ws.documents.store
    if isinstance(artifact.body, str):
        blob = read_or_none(store, artifact.path)
        if blob is None:
            return None
        if blob.data == serialize_document(artifact):
            return build_row(artifact, blob.data, blob.stamp, turn_texts)
    else:  # a streamed body does not fit into memory: compare hashes
        try:
            with store.open(artifact.path) as stream:
                sha256, stamp = compute_sha256(stream.chunks), stream.stamp
        except MissingError:
            return None
        if sha256 == compute_sha256(iter_chunks(serialize_or_stream(artifact))):
            return build_row_from_hash(artifact, sha256, stamp)
    loaded = load_row(store, artifact.path)
    return loaded[0] if loaded else None


def find_parent_stem(ws: Workspace, document: Artifact | Manifest) -> str | None:
    """Return the stem of the parent's manifest of a sub-agent, None without a readable one."""
    with contextlib.suppress(FormatError):
        token = find_parent(document)
        stem = ws.documents.claims.get_stem(token) if token else None
        return stem if stem and ws.documents.manifests.get(stem) else None
    return None


def _check_document(path: str, stored: LoadedDocument) -> Artifact | Manifest:
    if not isinstance(stored.document, Artifact | Manifest):
        raise FormatError(f"{path}: holds a {stored.document.kind}")
    return stored.document


@dataclass(frozen=True, slots=True)
class SessionText:
    """The text of a session's file, or of some of its turns. With a summary come the sub-agents, newest first."""

    session: SessionRow
    kind: str
    path: str
    text: str
    turns: Sequence[Turn] = ()
    sub_agents: Sequence[SessionRow] = ()


def resolve_session(ws: Workspace, reference: str) -> SessionRow:
    """Return the session with this id, key, token or prefix, or the scope of its books, `session/` and any of these.

    Raise NotFoundError for none and for several.
    """
    texts = filter(None, (reference, parse_owner_token(reference)))
    found = (match_reference(ws.index.list_sessions(None, reference=one, limit=MAX_CANDIDATES), one) for one in texts)
    matches = next(filter(None, found), [])
    if not matches:
        raise _build_unknown_error(ws, reference)
    if len(matches) > 1:
        agents = len({row.agent_id for row in matches}) > 1
        names = ", ".join(row.session_id + f" ({row.agent_id})" * agents for row in matches[:SHOWN_CANDIDATES])
        more = " …" if len(matches) > SHOWN_CANDIDATES else ""
        raise AmbiguousError(f"{reference!r} is ambiguous: {names}{more}")
    return matches[0]


def _build_unknown_error(ws: Workspace, reference: str) -> NotFoundError:
    """Return the error about a session that isn't there: that it was removed, by its token or the whole of its id."""
    reference = parse_owner_token(reference) or reference
    tokens = [reference] if naming.TOKEN.fullmatch(reference) else []
    tokens += [naming.derive_session_token(naming.DEFAULT_AGENT, reference)] if reference else []
    if any(map(ws.documents.tombstones.has, tokens)):
        hint = "`lineage list` shows the sessions that are there; a removed one never comes back"
        return NotFoundError(f"session {reference!r} was removed", hint=hint)
    removed = len(ws.documents.tombstones.list_tokens())
    more = f"; of {pluralize(removed, 'removed session')} only a whole id is known" if removed else ""
    return NotFoundError(f"no session {reference!r}", hint=f"{NotFoundError.default_hint}{more}")


def shorten_ids(ws: Workspace, tokens: Iterable[str]) -> dict[str, str]:
    """Return by token what a person may call each session: every command that takes a session takes it."""
    return shorten_names(ws.index.list_session_names(), tokens)


def name_session_scopes(ws: Workspace, scopes: Iterable[str], *, is_short: bool) -> dict[str, str]:
    """Return which session each scope of a known session is: by its whole id, or the beginning that means it."""
    tokens = list(filter(None, map(parse_owner_token, scopes)))
    if not tokens:
        return {}
    known = {one.token: one.session_id for one in ws.index.list_session_names()}
    names = shorten_ids(ws, [one for one in tokens if one in known]) if is_short else known
    return {session_scope(token): f"session {names[token]}" for token in tokens if token in names}


def match_reference(rows: list[SessionRow], reference: str) -> list[SessionRow]:
    """Return the best matches among the candidates of a reference: its token, else exact ids and keys, else all."""
    exact = [row for row in rows if reference in (row.session_id, row.session_key, row.session_token)]
    return [row for row in exact if row.session_token == reference] or exact or rows


def show_file(ws: Workspace, reference: str, kind: str) -> SessionText:
    """Return the newest file of a kind of a session, and count the access."""
    session = resolve_session(ws, reference)
    shown = load_newest_file(ws, session, kind)
    if shown is None:
        hint = f"run `lineage show {reference}`"
        raise build_absent_error(ws, session, kind, f"session {session.session_id} has no {kind}", hint)
    ws.telemetry.count_access(session.session_token, ws.now)
    if kind != naming.SUMMARY or not session.sub_agents:
        return shown
    return replace(shown, sub_agents=ws.index.list_sessions(None, parent=session.session_token, limit=MAX_CANDIDATES))


def load_newest_file(ws: Workspace, session: SessionRow, kind: str) -> SessionText | None:
    """Return the newest file of a kind of a session, None without one. Raise FormatError if it is damaged."""
    path = find_newest_path(ws, session, kind)
    document = load_document(ws, path) if path else None
    return SessionText(session, kind, document.path, str(document.body)) if document else None


def build_absent_error(ws: Workspace, session: SessionRow, kind: str, what: str, hint: str | None) -> NotFoundError:
    """Return the error about a missing file of a kind: that it is gone if the manifest names it, else `what`."""
    manifest = load_readable_document(ws, session.manifest_path)
    paths = list_artifact_paths(manifest) if isinstance(manifest, Manifest) else []
    lost = [path for path in paths if path.endswith(f"--{kind}.md") and not ws.documents.artifacts.exists(path)]
    if not lost:
        return NotFoundError(what, hint=hint)
    return NotFoundError(f"{what}: {lost[0]} is gone", hint="run `lineage verify`: it says how the file comes back")


def find_newest_path(ws: Workspace, session: SessionRow, kind: str) -> str | None:
    """Return the path of the newest file of a kind of a session, None without one."""
    if kind == naming.MANIFEST:
        return session.manifest_path  # not the last one: a retired manifest is younger
    files = reversed(ws.index.list_session_files(session.session_token))
    return next((path for path, of_kind in files if of_kind == kind), None)


def show_turns(ws: Workspace, reference: str, first: int, last: int) -> SessionText:
    """Return the turns `first` to `last` of a session, across its captures, and count the access."""
    session = resolve_session(ws, reference)
    turns: list[Turn] = []
    for path, kind in ws.index.list_session_files(session.session_token):
        document = load_document(ws, path) if kind == naming.TRANSCRIPT else None
        if isinstance(document, Artifact):
            turns += transcript.parse_turns(document.body)
    numbers = [turn.number for turn in turns]
    turns = [turn for turn in turns if first <= turn.number <= last]
    if not turns:
        shown = f"`lineage show {session.session_id} --turns {min(numbers)}-{max(numbers)}`" if numbers else ""
        hint = f"all it has: {shown}" if shown else None
        what = f"session {session.session_id} has no turns {first}-{last}"
        raise build_absent_error(ws, session, naming.TRANSCRIPT, what, hint)
    ws.telemetry.count_access(session.session_token, ws.now)
    text = transcript.render_turns("", turns).lstrip("\n")
    return SessionText(session, naming.TRANSCRIPT, session.manifest_path, text, turns)


def _format_event(event: HookEvent) -> dict[str, Any]:
    fields = {"harness": event.harness, "agent_id": event.agent, "at": event.at}
    return {**fields, "attempts": event.attempts, "until": event.not_before or None, "why": event.why}


def read_local_status(documents: Documents) -> dict[str, Any]:
    """Return the part of `read_status` that lies on this machine and needs no store of the workspace."""
    spool, hook_queue = documents.spool, documents.hook_queue
    log = read_or_none(hook_queue.store, hook_protocol.HOOK_LOG)  # a hook never reports a failure to its harness
    lines = log.data.decode("utf-8", errors="replace").splitlines() if log else []

    def is_recall(line: str) -> bool:
        return line.partition(" ")[2].startswith(hook_protocol.RECALL_MARK)

    return {
        "behind": describe_stale(documents),
        "unfinished": [
            {"flow": job.flow, "session_token": job.token, "captured_at": job.captured_at}
            for job in spool.list_pending()
        ],
        "damaged_jobs": [*spool.list_damaged(), *hook_queue.list_damaged(), *documents.checkpoints.list_damaged()],
        "signals": [_format_event(event) for event in hook_queue.list_pending()],
        "given_up": [_format_event(event) for event in hook_queue.dead_letters()],
        "hook_failures": [line for line in lines if not is_recall(line)],
        "recall_failures": [line for line in lines if is_recall(line)],
    }


def describe_unshown(ws: Workspace) -> str:
    """Return how many sessions are kept and not shown, and the remedy; "" for none, or while the index is away."""
    count = 0
    with tolerate_outage(ws):
        count = ws.index.count_unshown_sessions()
    are = "is in a temporary folder, or a test" if count == 1 else "are in temporary folders, or tests"
    return f"of all sessions {count} {are}: kept, not shown in search and memory → lineage list" if count else ""


def describe_hidden(ws: Workspace, token: str) -> str:
    """Return that a captured session is kept and not shown, and the remedy; "" for any other."""
    rows: list[SessionRow] = []
    with tolerate_outage(ws):
        rows = ws.index.list_sessions(None, reference=token, limit=1)
    if not any(row.is_trial for row in rows):
        return ""
    return f"in a temporary folder, or a test: kept, not shown in search and memory → lineage show {token}"


def read_status(ws: Workspace) -> dict[str, Any]:
    """Return the values of `lineage status`: counts, unfinished flows, counters, the last render."""
    return {
        "sanitizer": ws.rules.version,
        "rules": len(ws.rules.rules),
        "allowed": ws.rules.allowed.describe(),
        "artifacts": ws.index.count_by_kind(),
        "agents": ws.index.list_agents(),
        "unshown": describe_unshown(ws),
        "tombstones": len(ws.documents.tombstones.list_tokens()),
        **read_local_status(ws.documents),
        "counters": ws.telemetry.read_counters(),
        "not_learned": ws.telemetry.read_drop_counts(),
        "recall": ws.telemetry.read_recall_counts(),
        "recall_off": [kind for kind in ("prompt", "action") if not getattr(ws.settings.recall, kind)],
        "telemetry_was_damaged": ws.telemetry.was_damaged,
        "marks": dict(ws.telemetry.read_marks()),
    }
