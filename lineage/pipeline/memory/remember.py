"""Remembering on request: `lineage remember` and `lineage memory add` (format: Books).

The policy is that of candidates in transcripts. A text typed at a terminal is the user's, and stands at once. A call
inside a harness is an agent's, even if it claims otherwise: it waits on the pending shelf, seen by its own session
alone, for the capture of that session (`judge_memos`), and then for confirmation if it would be global.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lineage.core.base import naming
from lineage.core.base.book_paths import CURATED, GLOBAL, KINDS, PENDING, BookRef, resolve_kind
from lineage.core.base.links import to_one_line, wikilink
from lineage.core.base.naming import DEFAULT_AGENT, Identity, validate_agent_id
from lineage.core.base.normalize import normalize_text
from lineage.core.base.project import has_project, is_absolute, is_repository
from lineage.core.books.entry import USER_STATED, Entry, compute_entry_id, format_entry_body
from lineage.core.books.sightings import TASK_DAYS, find_last_mention, is_aged_task
from lineage.core.format.turns import ASSISTANT, USER
from lineage.errors import InvalidInput
from lineage.extraction import admission_policy as policy
from lineage.extraction.admission_policy import NOTE, Admission
from lineage.extraction.candidates import Candidate
from lineage.harness.detect_caller import Caller
from lineage.pipeline.memory.book_changes import change_books
from lineage.pipeline.memory.books import DONE, SUPERSEDED, EntryLocation, find_entry, read_contents, validate_book
from lineage.pipeline.memory.entry_writer import write_drafts
from lineage.pipeline.memory.memo_subjects import resolve_subject
from lineage.projects import find_project_key, list_project_keys
from lineage.workspace.book_folders import locate_scopes, resolve_project_folder
from lineage.workspace.book_index import index_books
from lineage.workspace.workspace import Workspace, tolerate_outage

REMEMBERED, PENDING_STATUS, KNOWN, FORGOTTEN, DROPPED = "remembered", "pending", "known", "forgotten", "dropped"
DAILY = "daily"
_SESSION = "session/"
_STANDARD_KINDS = frozenset({*KINDS, CURATED, DAILY})
_REJECTION_HINTS = {
    policy.BAD_KIND: "from inside a harness: one of " + ", ".join((*KINDS, DAILY)),
    policy.BAD_LENGTH: "give at least a few words; a note or handoff has up to 4,000 characters, anything else 500",
    policy.NOT_PLAIN: "give one line of words; `--kind note` takes several lines",
    policy.SELF_REFERENCE: "memory is about the user and the work, not about the assistant",
    policy.PERMISSION: "a memory grants nothing; what is meant so is written into AGENT_MEMORY.md by hand",
    policy.NO_DATA: "findings belong to a session with data; `--kind fact` or `--kind lesson` may be meant",
    policy.PRIVATE: "nothing of a private session leaves it: give `--scope session/TOKEN` of that session",
    policy.TOOL_OUTPUT: "what a tool has said stays in its session",
    policy.NO_SESSION: "name where it belongs, for example `--scope project/NAME`",
    policy.REMOVED: "a removed session does not come back",
    policy.TOO_MANY: "look at what waits first: `lineage memory list --pending`",
}
_UNTIL_CONFIRMED_HINT = "only this session sees it until the user confirms it: `lineage memory review ID`"
_UNTIL_CAPTURE_HINT = (
    "only this session sees it until its capture finds no tool's words in it, or the user confirms it: "
    "`lineage memory review ID`"
)
_STATE_HINTS = {
    PENDING: "it waits: `lineage memory review` puts it in force",
    SUPERSEDED: "another entry took its place: say it in other words, with `--supersedes` and that one's id",
    DONE: "it is done: `lineage memory done ID --undo` opens it again",
}
_ARCHIVED_HINT = "it is archived: `lineage memory pin ID` brings it back into use"
_OLD_TASK_HINT = f"no agent is told a task of more than {TASK_DAYS} days: `lineage memory pin ID` keeps it told"


@dataclass(frozen=True, slots=True, kw_only=True)
class Memo:
    """A request to remember a text.

    `kind` `daily` is the daily note of today (UTC), `scope` None the default of the kind, `project` a name or a path.
    `supersedes` are ids or beginnings of ids, `about` the files, commands and errors that it is bound to. `folder` is
    where the caller works: an agent that names no project means the one there.
    """

    text: str
    scope: str | None = None
    kind: str = NOTE
    agent_id: str = DEFAULT_AGENT
    project: str | None = None
    tags: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    folder: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberResult:
    """The result of `remember`: the entry, even one that was there, or `reason` and `hint` if nothing was written.

    `harness` is the caller's, `about` what the entry is bound to.
    """

    status: str
    scope: str
    kind: str
    id: str | None = None
    path: str | None = None
    text: str = ""
    about: tuple[str, ...] = ()
    trust: str | None = None
    harness: str | None = None
    reason: str | None = None
    hint: str | None = None
    redactions: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _CallerSession:
    """A session of the caller, and the path that its entries name: its manifest, before the first capture its claim.

    Removing the session removes these entries, too.
    """

    token: str
    path: str
    private: bool


def remember(ws: Workspace, memo: Memo, caller: Caller | None = None) -> RememberResult:
    """Write a memo into its book, then update the index and MEMORY.md.

    Raises InvalidInput for an empty text and for impossible names, NotFoundError for an unknown entry to supersede,
    RemovedError for a removed session.
    """
    sanitizer = ws.build_sanitizer()
    memo = replace(
        memo,
        text=sanitizer.sanitize(memo.text),
        tags=tuple(filter(None, (to_one_line(sanitizer.sanitize(tag)) for tag in memo.tags))),
        agent_id=validate_agent_id(memo.agent_id),
        kind=resolve_kind(memo.kind),
    )
    if not memo.text.strip():
        raise InvalidInput("there is nothing to remember", hint="give a text, for example: `lineage remember TEXT`")
    caller_sessions = _find_caller_sessions(ws, memo.agent_id, caller)
    scope, kind = _choose_book(ws, memo, caller)
    admission = _admit(memo, scope, kind, _build_context(ws, memo, scope, caller_sessions, caller), caller)
    if isinstance(admission, policy.Rejection):
        reason = admission.reason
        result = RememberResult(
            status=DROPPED, scope=scope or "", kind=kind, reason=reason, hint=_REJECTION_HINTS.get(reason)
        )
    else:
        admission = replace(admission, about=_resolve_subjects(ws, memo, admission.scope))
        admission = _claim_project(ws, memo, admission, caller)
        result = _write(ws, memo, admission, _find_origin(memo.agent_id, caller, caller_sessions))
    redactions = dict(sorted(sanitizer.redactions.items()))
    return replace(result, harness=caller.harness if caller else None, redactions=redactions)


def _resolve_subjects(ws: Workspace, memo: Memo, scope: str) -> tuple[str, ...]:
    """Return what a memo is about: names are looked up from the caller's folder if that is of the memo's project."""
    if not memo.about:
        return ()
    place, own = memo.project or "", memo.folder or ""
    if not place and memo.scope is None:
        place = own
    elif not is_absolute(place) and scope.startswith("project/"):
        with tolerate_outage(ws):
            place = locate_scopes(ws).get(scope, place)
    keys = [place] if is_repository(place) else list_project_keys(place) if is_absolute(place) else []
    is_at_home = (not keys and not scope.startswith("project/")) or not {*keys}.isdisjoint(list_project_keys(own))
    folder = own if is_at_home else place if is_absolute(place) else ""
    return tuple(resolve_subject(text, folder, keys) for text in memo.about)


def _find_caller_sessions(ws: Workspace, agent_id: str, caller: Caller | None) -> list[_CallerSession]:
    """Return the caller's sessions, private ones first. Raises RemovedError for a removed one: it remembers nothing."""
    sessions: list[_CallerSession] = []
    for session_id in caller.sessions if caller else ():
        token = Identity(agent_id, session_id).token
        ws.documents.tombstones.raise_if_removed(token)
        rows = [row for row in ws.index.list_sessions(None, reference=session_id) if row.session_id == session_id]
        captured = [_CallerSession(row.session_token, row.manifest_path, row.private) for row in rows]
        sessions += captured or [_CallerSession(token, naming.claim_path(token), False)]
    return sorted(sessions, key=lambda session: not session.private)


def _find_origin(agent_id: str, caller: Caller | None, caller_sessions: Sequence[_CallerSession]) -> str | None:
    """Return the path that the entry names, so that the capture of its session finds it; None for the user's."""
    unknown = naming.claim_path(naming.derive_unknown_session_token(agent_id)) if caller else None
    return caller_sessions[0].path if caller_sessions else unknown


def _choose_book(ws: Workspace, memo: Memo, caller: Caller | None) -> tuple[str | None, str]:
    """Return the requested or default scope, None to let durability decide, and the kind."""
    kind = f"{DAILY}/{ws.now[:10]}" if memo.kind == DAILY else memo.kind
    if memo.scope is not None and memo.project is not None:
        names = {memo.project, resolve_project_folder(ws, memo.project)}
        if memo.scope not in {f"project/{name}" for name in names}:
            problem = f"what is remembered of {memo.project[:80]} has no place in {memo.scope[:80]}"
            raise InvalidInput(problem, hint="name the project or the scope, not both")
    scope = _default_scope(ws, memo, caller) if memo.scope is None else memo.scope
    if kind == CURATED and scope != GLOBAL:
        raise InvalidInput(
            f"the curated book is global, not of {(scope or '')[:80]}", hint="leave out `--scope`, or `--curated`"
        )
    ref = validate_book(ws, GLOBAL if scope is None else scope, kind)
    return None if scope is None else ref.scope, kind


def _default_scope(ws: Workspace, memo: Memo, caller: Caller | None) -> str | None:
    is_daily = memo.kind == DAILY or memo.kind.startswith(f"{DAILY}/")
    if is_daily and memo.project is not None:
        raise InvalidInput("a daily note is an agent's, of all projects", hint="leave out the project")
    if is_daily or (memo.kind == "handoff" and memo.project is None):
        return f"agent/{memo.agent_id}"
    is_agent_preference = bool(caller) and memo.kind == "preference"
    if memo.project is not None or is_agent_preference:
        # An agent's preference would end with its session by durability; global, it waits for the user instead.
        project = _find_project(ws, memo, caller)
        return GLOBAL if project is None else f"project/{project}"
    is_user_kind = memo.kind == CURATED or memo.kind not in policy.ALLOWED_KINDS[policy.TERMINAL]
    return GLOBAL if is_user_kind else None


def _find_project(ws: Workspace, memo: Memo, caller: Caller | None, *, claim: bool = False) -> str | None:
    """Return the folder of the books of the project that is meant, None for none; `claim` takes a free one."""
    if memo.project is not None:
        return resolve_project_folder(ws, memo.project, claim=claim) or memo.project
    is_meant = caller and memo.folder and has_project(find_project_key(memo.folder))
    return resolve_project_folder(ws, memo.folder, claim=claim) if is_meant else None


def _claim_project(ws: Workspace, memo: Memo, admission: Admission, caller: Caller | None) -> Admission:
    """Take the folder of an admitted text's project. What is rejected claims none: the claim would tell of it."""
    is_resolved = memo.scope is None and admission.scope.startswith("project/")
    folder = _find_project(ws, memo, caller, claim=True) if is_resolved else None
    return replace(admission, scope=f"project/{folder}") if folder else admission


def _build_context(
    ws: Workspace, memo: Memo, scope: str | None, caller_sessions: Sequence[_CallerSession], caller: Caller | None
) -> policy.CandidateContext:
    scope_token = scope.removeprefix(_SESSION) if scope and scope.startswith(_SESSION) else ""
    tokens = [session.token for session in caller_sessions]
    token = scope_token if scope_token in tokens or not tokens else tokens[0]
    is_private = any(session.private for session in caller_sessions)
    project = None if is_private else _find_project(ws, memo, caller)
    has_data = bool(scope_token and ws.documents.books.get(f"{_SESSION}{scope_token}", policy.FINDING).parts)
    return policy.CandidateContext(token, memo.agent_id, project, is_private, has_data)


def _admit(
    memo: Memo, scope: str | None, kind: str, context: policy.CandidateContext, caller: Caller | None
) -> Admission | policy.Rejection:
    via, role = (policy.HARNESS, ASSISTANT) if caller else (policy.TERMINAL, USER)
    # The policy judges kinds of the user's own as notes. Agents can't make up kinds.
    judged_kind = kind if kind in policy.ALLOWED_KINDS[via] else NOTE
    candidate = Candidate(judged_kind, memo.text, role, "", quote=memo.text)
    if caller and kind.partition("/")[0] not in _STANDARD_KINDS:
        return policy.Rejection(candidate, policy.BAD_KIND)
    result = policy.admit(candidate, context, via, scope)
    if isinstance(result, policy.Rejection):
        return result
    is_memo = caller is not None
    return replace(result, kind=kind, pending=result.pending or is_memo, until_capture=is_memo)


def _write(ws: Workspace, memo: Memo, admission: Admission, origin: str | None) -> RememberResult:
    ref = BookRef(admission.scope, admission.kind)
    superseded = tuple(_resolve_superseded(ws, ref, prefix, admission) for prefix in memo.supersedes)
    options: dict[str, Any] = {"at": ws.now, "origin": origin, "tags": memo.tags, "supersedes": superseded}
    result = change_books(ws, lambda staged: write_drafts(staged, [admission], **options), folder=memo.project)
    if result.entries:
        shelf, entry = result.entries[0]
        if shelf.shelf != PENDING:
            return _build_result(REMEMBERED, shelf, entry)
        hint = _UNTIL_CONFIRMED_HINT if ref.scope == GLOBAL else _UNTIL_CAPTURE_HINT
        return replace(_build_result(PENDING_STATUS, shelf, entry), hint=hint.replace("ID", entry.id))
    index_books(ws, [ref])  # it may have been written by hand, and known for that
    is_forgotten = policy.FORGOTTEN in result.dropped
    return _forgotten_result(ws, ref, admission, origin) if is_forgotten else _known_result(ws, ref, admission)


def _resolve_superseded(ws: Workspace, ref: BookRef, prefix: str, admission: Admission) -> str:
    old = find_entry(ws, prefix)
    if (old.ref.scope, old.ref.kind) != (ref.scope, ref.kind):
        raise InvalidInput(
            f"{old.entry.id} is a {old.ref.kind} of {old.ref.scope}, this is a {ref.kind} of {ref.scope}",
            hint="an entry takes the place of one in its own book: give `--scope` and `--kind` of the old one",
        )
    is_users = old.entry.trust == USER_STATED or old.entry.pinned
    if admission.until_capture and ref.scope != GLOBAL and is_users:
        done = "stated" if old.entry.trust == USER_STATED else "pinned"
        problem = f"an agent's words can't take the place of {old.entry.id}, which the user {done}"
        raise InvalidInput(problem, hint="remember it without `supersedes`; the user can forget the old one")
    return old.entry.id


def _build_result(status: str, ref: BookRef, entry: Entry) -> RememberResult:
    place = RememberResult(status=status, scope=ref.scope, kind=ref.kind, path=ref.path)
    return replace(place, id=entry.id, text=entry.body, about=entry.about, trust=entry.trust)


def _known_result(ws: Workspace, ref: BookRef, admission: Admission) -> RememberResult:
    """Return the entry with the same text, of its own book first."""
    text = normalize_text(admission.text)
    shelves = ws.documents.books.list_shelves(ref.scope, ref.kind)
    for shelf in [*shelves, *(other for other in ws.documents.books.list() if other not in shelves)]:
        for location in read_contents(ws, shelf).entries:
            if normalize_text(location.entry.body) == text:
                hint = _explain_state(ws, shelf, location)
                return replace(_build_result(KNOWN, shelf, location.entry), hint=hint)
    return RememberResult(status=KNOWN, scope=ref.scope, kind=ref.kind, path=ref.path, text=admission.text)


def _explain_state(ws: Workspace, shelf: BookRef, location: EntryLocation) -> str | None:
    """Return why an entry that is known is told to no agent, and what helps; None for one that is."""
    entry = location.entry
    hint = _ARCHIVED_HINT if shelf.is_archive else _STATE_HINTS.get(shelf.shelf or location.state)
    if not hint and is_aged_task(entry, ws.now, find_last_mention(entry)):
        hint = _OLD_TASK_HINT
    return hint and hint.replace("ID", entry.id)


def _forgotten_result(ws: Workspace, ref: BookRef, admission: Admission, origin: str | None) -> RememberResult:
    # The tombstone may be of the typed text or of the formatted body, with or without the source.
    texts = (admission.text, format_entry_body(admission.text, is_user_text=admission.is_user_stated))
    links = (None, wikilink(origin) if origin else None)
    ids = {compute_entry_id(ref.scope, ref.kind, text, link) for text in texts for link in links}
    # Where an entry that was reworded has the id of these words, they had one of their own.
    ids |= {compute_entry_id(ref.scope, ref.kind, text, taken) for text in texts for taken in ids}
    shelves = ws.documents.books.list_shelves(ref.scope, ref.kind)
    forgotten = [(shelf, ids & ws.documents.books.read(shelf).forgotten_ids) for shelf in shelves]
    shelf, identifier = next(((shelf, min(matches)) for shelf, matches in forgotten if matches), (ref, "ID"))
    names = " ".join(sorted(frozenset[str]().union(*(matches for _, matches in forgotten)))) or identifier
    hint = f"you forgot these words: to allow them again, run `lineage memory restore {names}`, then this command"
    result = RememberResult(status=FORGOTTEN, scope=ref.scope, kind=ref.kind, id=identifier, path=shelf.path)
    return replace(result, text=admission.text, reason=FORGOTTEN, hint=hint)
