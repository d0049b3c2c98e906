"""What is remembered on request: `lineage remember`, and `lineage book add` (format: Books).

The same policy as for what is found in transcripts decides. What a person types at a terminal is the user's; what is
called from inside a harness is an agent's, whatever it says, and waits where it would be global.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from lineage.core.base import naming
from lineage.core.base.book_paths import CURATED, KINDS, PENDING, BookRef
from lineage.core.base.identity import DEFAULT_AGENT, Identity, validate_agent_id
from lineage.core.base.links import to_one_line, wikilink
from lineage.core.base.privacy import GLOBAL
from lineage.core.books.entry import Entry, compute_entry_id, format_entry_body
from lineage.core.format.turns import ASSISTANT, USER
from lineage.core.sanitizer import Sanitizer
from lineage.errors import InvalidInput
from lineage.extraction.admission_policy import (
    ALLOWED_KINDS,
    FINDING,
    HARNESS,
    NOTE,
    TERMINAL,
    Admission,
    CandidateContext,
    Rejection,
    admit,
)
from lineage.extraction.candidates import Candidate
from lineage.extraction.normalize import normalize_text
from lineage.harness.detect_caller import Caller
from lineage.pipeline.memory.books import SUPERSEDED, find_entry, read_contents, validate_book
from lineage.pipeline.memory.entry_writer import write_entries
from lineage.workspace.project_folders import resolve_project_folder
from lineage.workspace.publish import publish_or_mark_stale
from lineage.workspace.workspace import Workspace

REMEMBERED = "remembered"
PENDING_STATUS = "pending"
KNOWN = "known"
FORGOTTEN = "forgotten"
DROPPED = "dropped"

DAILY = "daily"
_SESSION = "session/"
_STANDARD_KINDS = frozenset({*KINDS, CURATED, DAILY})
_NO_KIND = "kind"
_HINTS = {
    "kind": "from inside a harness: one of " + ", ".join((*KINDS, DAILY)),
    "length": "give at least a few words; a note or handoff has up to 4,000 characters, anything else 500",
    "not plain text": "give one line of words; `--kind note` takes several lines",
    "self-reference": "memory is about the user and the work, not about the assistant",
    "permission": "a memory grants nothing; what is meant so is written into AGENT_MEMORY.md by hand",
    "no data attached": "findings belong to a session with data; `--kind fact` or `--kind lesson` may be meant",
    "private session": "nothing of a private session leaves it: give `--scope session/TOKEN` of that session",
    "tool output": "what a tool has said stays in its session",
    "removed session": "a removed session does not come back",
    "too many wait": "look at what waits first: lineage book list --pending",
    PENDING: "it waits: `lineage book confirm` puts it in force",
    SUPERSEDED: "another entry took its place: say it in other words, with `--supersedes` and that one's id",
    "no session": "name where it belongs, for example `--scope project/NAME`",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Memo:
    """What is to be remembered, as it was asked for. `kind` `daily` is the daily note of today (UTC); `scope` None is
    where the kind belongs; `project` is a name or a path; `supersedes` are ids or prefixes of them."""

    text: str
    scope: str | None = None
    kind: str = NOTE
    agent_id: str = DEFAULT_AGENT
    project: str | None = None
    tags: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberResult:
    """What became of a memo. `id` and `path` are those of the entry, also of one that was there already; `hint` says
    what can be done where nothing was written; `harness` is the one that it was called from."""

    status: str
    scope: str
    kind: str
    id: str | None = None
    path: str | None = None
    text: str = ""
    trust: str | None = None
    harness: str | None = None
    reason: str | None = None
    hint: str | None = None
    redactions: Mapping[str, int] = field(default_factory=dict)


class _CallerSession(NamedTuple):
    """A session that the caller runs in, and the file that entries of it name: its manifest, or the claim that it will
    have with its first capture. What is remembered in a session goes with it when it is removed."""

    token: str
    path: str
    private: bool


def remember(ws: Workspace, memo: Memo, caller: Caller | None = None) -> RememberResult:
    """Writes a memo into the book where it belongs, then index and MEMORY.md.

    Raises InvalidInput for an empty text and for names that there can't be, NotFoundError for an entry that is to be
    superseded and isn't there, RemovedError for a session that was removed.
    """
    sanitizer = ws.build_sanitizer()
    memo = _sanitize(memo, sanitizer)
    if not memo.text.strip():
        raise InvalidInput("there is nothing to remember", hint="give a text, for example: lineage remember TEXT")
    own = _find_caller_sessions(ws, memo.agent_id, caller)
    scope, kind = _choose_book(ws, memo, caller)
    admitted = _admit(memo, scope, kind, _build_context(ws, memo, scope, own), caller)
    if isinstance(admitted, Rejection):
        outcome = _dropped_result(scope or "", kind, admitted.reason)
    else:
        outcome = _write(ws, memo, admitted, own[0].path if own else None)
    return replace(
        outcome, harness=caller.harness if caller else None, redactions=dict(sorted(sanitizer.redactions.items()))
    )


def _sanitize(memo: Memo, sanitizer: Sanitizer) -> Memo:
    return replace(
        memo,
        text=sanitizer.sanitize(memo.text),
        tags=tuple(filter(None, (to_one_line(sanitizer.sanitize(tag)) for tag in memo.tags))),
        agent_id=validate_agent_id(memo.agent_id),
    )


def _find_caller_sessions(ws: Workspace, agent_id: str, caller: Caller | None) -> list[_CallerSession]:
    """The sessions that the caller runs in, private ones first. Raises RemovedError for one that was removed: it
    remembers nothing."""
    own: list[_CallerSession] = []
    for session_id in caller.sessions if caller else ():
        token = Identity(agent_id, session_id).token
        ws.documents.tombstones.raise_if_removed(token)
        rows = [row for row in ws.index.list_sessions(None, reference=session_id) if row.session_id == session_id]
        captured = [_CallerSession(row.session_token, row.manifest_path, row.private) for row in rows]
        own += captured or [_CallerSession(token, naming.claim_path(token), False)]
    return sorted(own, key=lambda session: not session.private)


def _choose_book(ws: Workspace, memo: Memo, caller: Caller | None) -> tuple[str | None, str]:
    """The scope that is asked for, None where durability decides, and the kind."""
    kind = f"{DAILY}/{ws.now[:10]}" if memo.kind == DAILY else memo.kind
    scope = _default_scope(ws, memo, caller) if memo.scope is None else memo.scope
    if kind == CURATED and scope != GLOBAL:
        raise InvalidInput(
            f"the curated book is global, not of {(scope or '')[:80]}", hint="leave out `--scope`, or `--curated`"
        )
    checked = validate_book(ws, GLOBAL if scope is None else scope, kind)
    return None if scope is None else checked.scope, kind


def _default_scope(ws: Workspace, memo: Memo, caller: Caller | None) -> str | None:
    if memo.kind in (DAILY, "handoff") or memo.kind.startswith(f"{DAILY}/"):
        return f"agent/{memo.agent_id}"
    if memo.project is not None:
        return f"project/{_claim_folder(ws, memo.project)}"
    is_users = memo.kind == CURATED or memo.kind not in ALLOWED_KINDS[TERMINAL]
    return GLOBAL if is_users or (caller and memo.kind == "preference") else None


def _claim_folder(ws: Workspace, project: str) -> str:
    return resolve_project_folder(ws, project, claim=True) or project


def _build_context(
    ws: Workspace, memo: Memo, scope: str | None, caller_sessions: Sequence[_CallerSession]
) -> CandidateContext:
    asked = scope.removeprefix(_SESSION) if scope and scope.startswith(_SESSION) else ""
    tokens = [session.token for session in caller_sessions]
    token = asked if asked in tokens or not tokens else tokens[0]
    return CandidateContext(
        token=token,
        agent_id=memo.agent_id,
        project=_claim_folder(ws, memo.project) if memo.project else None,
        private=any(session.private for session in caller_sessions),
        has_data=bool(ws.documents.books.get(f"{_SESSION}{asked}", FINDING).parts) if asked else False,
    )


def _admit(
    memo: Memo, scope: str | None, kind: str, context: CandidateContext, caller: Caller | None
) -> Admission | Rejection:
    """The policy's word. Of kinds that it doesn't know the user's own are judged as notes; an agent has no others."""
    via, role = (HARNESS, ASSISTANT) if caller else (TERMINAL, USER)
    judged = kind if kind in ALLOWED_KINDS[via] else NOTE
    candidate = Candidate(judged, memo.text, role, "", quote=memo.text)
    if caller and kind.partition("/")[0] not in _STANDARD_KINDS:
        return Rejection(candidate, _NO_KIND)
    result = admit(candidate, context, via, scope)
    if isinstance(result, Rejection):
        return result
    return replace(result, kind=kind)


def _write(ws: Workspace, memo: Memo, admission: Admission, origin: str | None) -> RememberResult:
    ref = BookRef(admission.scope, admission.kind)
    old = tuple(_resolve_superseded(ws, ref, prefix) for prefix in memo.supersedes)
    kept = write_entries(ws, [admission], at=ws.now, origin=origin, tags=memo.tags, supersedes=old)
    if not kept.entries:
        is_forgotten = FORGOTTEN in kept.dropped
        return _forgotten_result(ws, ref, admission, origin) if is_forgotten else _known_result(ws, ref, admission)
    publish_or_mark_stale(ws)
    where, entry = kept.entries[0]
    return _build_result(PENDING_STATUS if where.shelf == PENDING else REMEMBERED, where, entry)


def _resolve_superseded(ws: Workspace, ref: BookRef, prefix: str) -> str:
    place = find_entry(ws, prefix)
    if (place.ref.scope, place.ref.kind) != (ref.scope, ref.kind):
        raise InvalidInput(
            f"{place.entry.id} is a {place.ref.kind} of {place.ref.scope}, this is a {ref.kind} of {ref.scope}",
            hint="an entry takes the place of one in its own book: give `--scope` and `--kind` of the old one",
        )
    return place.entry.id


def _build_result(status: str, ref: BookRef, entry: Entry) -> RememberResult:
    return RememberResult(
        status=status, scope=ref.scope, kind=ref.kind, id=entry.id, path=ref.path, text=entry.body, trust=entry.trust
    )


def _known_result(ws: Workspace, ref: BookRef, admission: Admission) -> RememberResult:
    """The entry that says the same, in its own book first."""
    wanted = normalize_text(admission.text)
    own = ws.documents.books.list_shelves(ref.scope, ref.kind)
    for where in [*own, *(other for other in ws.documents.books.list() if other not in own)]:
        for place in read_contents(ws, where).entries:
            if normalize_text(place.entry.body) == wanted:
                return replace(_build_result(KNOWN, where, place.entry), hint=_HINTS.get(where.shelf or place.state))
    return RememberResult(status=KNOWN, scope=ref.scope, kind=ref.kind, path=ref.path, text=admission.text)


def _forgotten_result(ws: Workspace, ref: BookRef, admission: Admission, origin: str | None) -> RememberResult:
    texts = (admission.text, format_entry_body(admission.text, is_user_text=admission.is_user_stated))
    links = (None, wikilink(origin) if origin else None)
    ids = {compute_entry_id(ref.scope, ref.kind, text, link) for text in texts for link in links}
    marks = [
        (where, ids & ws.documents.books.read(where).forgotten_ids)
        for where in ws.documents.books.list_shelves(ref.scope, ref.kind)
    ]
    where, identifier = next(((where, min(found)) for where, found in marks if found), (ref, "ID"))
    return RememberResult(
        status=FORGOTTEN,
        scope=ref.scope,
        kind=ref.kind,
        id=identifier,
        path=where.path,
        text=admission.text,
        reason=FORGOTTEN,
        hint=f"to have it back, delete the line `<!-- lineage:forgotten {identifier} -->` in {where.path}",
    )


def _dropped_result(scope: str, kind: str, reason: str) -> RememberResult:
    return RememberResult(status=DROPPED, scope=scope, kind=kind, reason=reason, hint=_HINTS.get(reason))
