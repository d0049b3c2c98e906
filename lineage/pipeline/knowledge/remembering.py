"""What is remembered on request: `lineage remember`, and `lineage book add`. (format: Books)

The same policy as for what is found in transcripts decides. What a person types at a terminal is the user's; what is
called from inside a harness is an agent's, whatever it says, and waits where it would be global.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from lineage.core import naming
from lineage.core.book_paths import CURATED, GLOBAL, KINDS, PENDING, BookRef
from lineage.core.entry import Entry, entry_id, laid_out
from lineage.core.identity import DEFAULT_AGENT, Identity, checked_agent
from lineage.core.links import one_line, wikilink
from lineage.core.sanitizer import Sanitizer
from lineage.core.turns import ASSISTANT, USER
from lineage.errors import InvalidInput
from lineage.extract.admission import ALLOWED, FINDING, HARNESS, NOTE, TERMINAL, Admitted, Dropped, Setting, admit
from lineage.extract.candidates import Candidate
from lineage.extract.folding import normalized
from lineage.harness.callers import Caller
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.bookkeeping import SUPERSEDED, checked_book, found, opened
from lineage.pipeline.knowledge.keeping import keep
from lineage.pipeline.knowledge.projects import project_folder
from lineage.pipeline.publishing import publish_or_wait

REMEMBERED = "remembered"
WAITS = "pending"
KNOWN = "known"
FORGOTTEN = "forgotten"
DROPPED = "dropped"

DAILY = "daily"
_SESSION = "session/"
_OWN_NAMES = frozenset({*KINDS, CURATED, DAILY})
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
class Remembered:
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


class _Own(NamedTuple):
    """A session that the caller runs in, and the file that entries of it name: its manifest, or the claim that it will
    have with its first capture. What is remembered in a session goes with it when it is removed."""

    token: str
    path: str
    private: bool


def remember(house: House, memo: Memo, caller: Caller | None = None) -> Remembered:
    """Writes a memo into the book where it belongs, then index and MEMORY.md.

    Raises InvalidInput for an empty text and for names that there can't be, NotFoundError for an entry that is to be
    superseded and isn't there, RemovedError for a session that was removed.
    """
    sanitizer = house.sanitizer()
    memo = _clean(memo, sanitizer)
    if not memo.text.strip():
        raise InvalidInput("there is nothing to remember", hint="give a text, for example: lineage remember TEXT")
    own = _own_sessions(house, memo.agent_id, caller)
    scope, kind = _destination(house, memo, caller)
    admitted = _admitted(memo, scope, kind, _setting(house, memo, scope, own), caller)
    if isinstance(admitted, Dropped):
        outcome = _dropped(scope or "", kind, admitted.reason)
    else:
        outcome = _kept(house, memo, admitted, own[0].path if own else None)
    return replace(
        outcome, harness=caller.harness if caller else None, redactions=dict(sorted(sanitizer.redactions.items()))
    )


def _clean(memo: Memo, sanitizer: Sanitizer) -> Memo:
    return replace(
        memo,
        text=sanitizer.text(memo.text),
        tags=tuple(filter(None, (one_line(sanitizer.text(tag)) for tag in memo.tags))),
        agent_id=checked_agent(memo.agent_id),
    )


def _own_sessions(house: House, agent_id: str, caller: Caller | None) -> list[_Own]:
    """The sessions that the caller runs in, private ones first. Raises RemovedError for one that was removed: it
    remembers nothing."""
    own: list[_Own] = []
    for session_id in caller.sessions if caller else ():
        token = Identity(agent_id, session_id).token
        house.canon.tombstones.refuse(token)
        rows = [row for row in house.index.sessions(None, reference=session_id) if row.session_id == session_id]
        captured = [_Own(row.session_token, row.manifest_path, row.private) for row in rows]
        own += captured or [_Own(token, naming.claim_path(token), False)]
    return sorted(own, key=lambda session: not session.private)


def _destination(house: House, memo: Memo, caller: Caller | None) -> tuple[str | None, str]:
    """The scope that is asked for, None where durability decides, and the kind."""
    kind = f"{DAILY}/{house.now[:10]}" if memo.kind == DAILY else memo.kind
    scope = _usual_scope(house, memo, caller) if memo.scope is None else memo.scope
    if kind == CURATED and scope != GLOBAL:
        raise InvalidInput(
            f"the curated book is global, not of {(scope or '')[:80]}", hint="leave out `--scope`, or `--curated`"
        )
    checked = checked_book(house, GLOBAL if scope is None else scope, kind)
    return None if scope is None else checked.scope, kind


def _usual_scope(house: House, memo: Memo, caller: Caller | None) -> str | None:
    if memo.kind in (DAILY, "handoff") or memo.kind.startswith(f"{DAILY}/"):
        return f"agent/{memo.agent_id}"
    if memo.project is not None:
        return f"project/{_folder(house, memo.project)}"
    is_users = memo.kind == CURATED or memo.kind not in ALLOWED[TERMINAL]
    return GLOBAL if is_users or (caller and memo.kind == "preference") else None


def _folder(house: House, project: str) -> str:
    return project_folder(house, project, claims=True) or project


def _setting(house: House, memo: Memo, scope: str | None, own: Sequence[_Own]) -> Setting:
    asked = scope.removeprefix(_SESSION) if scope and scope.startswith(_SESSION) else ""
    tokens = [session.token for session in own]
    token = asked if asked in tokens or not tokens else tokens[0]
    return Setting(
        token=token,
        agent_id=memo.agent_id,
        project=_folder(house, memo.project) if memo.project else None,
        private=any(session.private for session in own),
        has_data=bool(house.canon.books.get(f"{_SESSION}{asked}", FINDING).parts) if asked else False,
    )


def _admitted(memo: Memo, scope: str | None, kind: str, setting: Setting, caller: Caller | None) -> Admitted | Dropped:
    """The policy's word. Of kinds that it doesn't know the user's own are judged as notes; an agent has no others."""
    via, role = (HARNESS, ASSISTANT) if caller else (TERMINAL, USER)
    judged = kind if kind in ALLOWED[via] else NOTE
    candidate = Candidate(judged, memo.text, role, "", quote=memo.text)
    if caller and kind.partition("/")[0] not in _OWN_NAMES:
        return Dropped(candidate, _NO_KIND)
    result = admit(candidate, setting, via, scope)
    if isinstance(result, Dropped):
        return result
    return result._replace(kind=kind)


def _kept(house: House, memo: Memo, admitted: Admitted, origin: str | None) -> Remembered:
    ref = BookRef(admitted.scope, admitted.kind)
    old = tuple(_superseded(house, ref, prefix) for prefix in memo.supersedes)
    kept = keep(house, [admitted], at=house.now, origin=origin, tags=memo.tags, supersedes=old)
    if not kept.entries:
        is_forgotten = FORGOTTEN in kept.dropped
        return _forgotten(house, ref, admitted, origin) if is_forgotten else _known(house, ref, admitted)
    publish_or_wait(house)
    where, entry = kept.entries[0]
    return _outcome(WAITS if where.shelf == PENDING else REMEMBERED, where, entry)


def _superseded(house: House, ref: BookRef, prefix: str) -> str:
    place = found(house, prefix)
    if (place.ref.scope, place.ref.kind) != (ref.scope, ref.kind):
        raise InvalidInput(
            f"{place.entry.id} is a {place.ref.kind} of {place.ref.scope}, this is a {ref.kind} of {ref.scope}",
            hint="an entry takes the place of one in its own book: give `--scope` and `--kind` of the old one",
        )
    return place.entry.id


def _outcome(status: str, ref: BookRef, entry: Entry) -> Remembered:
    return Remembered(
        status=status, scope=ref.scope, kind=ref.kind, id=entry.id, path=ref.path, text=entry.body, trust=entry.trust
    )


def _known(house: House, ref: BookRef, admitted: Admitted) -> Remembered:
    """The entry that says the same, in its own book first."""
    wanted = normalized(admitted.text)
    own = house.canon.books.shelves(ref.scope, ref.kind)
    for where in [*own, *(other for other in house.canon.books.list() if other not in own)]:
        for place in opened(house, where).places:
            if normalized(place.entry.body) == wanted:
                return replace(_outcome(KNOWN, where, place.entry), hint=_HINTS.get(where.shelf or place.state))
    return Remembered(status=KNOWN, scope=ref.scope, kind=ref.kind, path=ref.path, text=admitted.text)


def _forgotten(house: House, ref: BookRef, admitted: Admitted, origin: str | None) -> Remembered:
    texts = (admitted.text, laid_out(admitted.text, is_users=admitted.is_user_stated))
    links = (None, wikilink(origin) if origin else None)
    ids = {entry_id(ref.scope, ref.kind, text, link) for text in texts for link in links}
    marks = [
        (where, ids & house.canon.books.read(where).forgotten)
        for where in house.canon.books.shelves(ref.scope, ref.kind)
    ]
    where, identifier = next(((where, min(found)) for where, found in marks if found), (ref, "ID"))
    return Remembered(
        status=FORGOTTEN,
        scope=ref.scope,
        kind=ref.kind,
        id=identifier,
        path=where.path,
        text=admitted.text,
        reason=FORGOTTEN,
        hint=f"to have it back, delete the line `<!-- lineage:forgotten {identifier} -->` in {where.path}",
    )


def _dropped(scope: str, kind: str, reason: str) -> Remembered:
    return Remembered(status=DROPPED, scope=scope, kind=kind, reason=reason, hint=_HINTS.get(reason))
