"""Who may enter which book: one policy for what heuristics and models find and for what is remembered on request.

Words are filtered, but nothing rests on it. What protects is structural: origin on every result, what a tool has said
stays in its session, and no text that isn't typed by the user at a terminal reaches global scope unconfirmed.
(format: Books; reliability: poisoned memory; lessons: 17, 18, 19)
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from typing import NamedTuple

from lineage.core.links import one_line
from lineage.core.privacy import GLOBAL, may_reach, session_scope
from lineage.core.turns import ASSISTANT, TOOL, USER
from lineage.extract import policy
from lineage.extract.candidates import HEURISTIC, MODEL, Candidate
from lineage.extract.cues import CONTEXT, DECISION, FACT, LESSON, PREFERENCE, TASK
from lineage.extract.folding import folded, is_dense, normalized, width
from lineage.extract.phrases import Phrases, phrases

TERMINAL = "terminal"
"""`remember`, typed by the user."""
HARNESS = "harness"
"""`remember`, called from inside a harness: by an agent, whatever it says."""

FINDING = "finding"
NOTE = "note"
_FOUND = frozenset({PREFERENCE, DECISION, FACT, LESSON, TASK, CONTEXT, FINDING})
ALLOWED = {HEURISTIC: _FOUND, MODEL: _FOUND, TERMINAL: _FOUND | {NOTE}, HARNESS: _FOUND | {NOTE}}

_MANUAL, _USER_TURN, _ASSISTANT_TURN = "manual", "user_turn", "assistant_turn"
SHORTEST = 6
"""In Latin characters; one of a script without spaces counts two."""
LONGEST = 500
LONGEST_NOTE = 4_000

_BAD_KIND = "kind"
_BAD_LENGTH = "length"
_NOT_PLAIN = "not plain text"
_SELF_REFERENCE = "self-reference"
_PERMISSION = "permission"
_NO_DATA = "no data attached"
PRIVATE = "private session"
_TOOL = "tool output"
_NO_SESSION = "no session"
_KNOWN = "known"
_FORGOTTEN = "forgotten"
REMOVED = "removed session"
TOO_MANY = "too many wait"
REASONS = (
    _BAD_KIND, _BAD_LENGTH, _NOT_PLAIN, _SELF_REFERENCE, _PERMISSION, _NO_DATA, PRIVATE, _TOOL, _NO_SESSION, REMOVED,
    _KNOWN, _FORGOTTEN, TOO_MANY,
)  # fmt: skip
"""Why something is dropped; in the order in which it is asked."""


class Setting(NamedTuple):
    """Where candidates come from: the session's token ("" outside of one), its agent, its project's book folder (None
    without a project), whether it is private and whether it has data attached."""

    token: str = ""
    agent_id: str = "default"
    project: str | None = None
    private: bool = False
    has_data: bool = False


class Origin(NamedTuple):
    """Where an admitted text comes from: through which door, out of which session and turn, who said it first, which
    tool's result it repeats ("" for none), the words as they were said, and whether that session is private."""

    via: str
    session: str
    turn_id: str
    role: str
    tool: str
    quote: str
    private: bool = False


class Admitted(NamedTuple):
    """A text for the book of `kind` in `scope`; `pending` where it waits for confirmation."""

    kind: str
    text: str
    scope: str
    pending: bool
    origin: Origin

    @property
    def source(self) -> str:
        """What an entry of it names as its source: `manual` for what the user typed into memory, `user_turn` for the
        very words of the user in a session, else `assistant_turn`, whatever it resembles. (lessons: 18)"""
        if self.origin.via == TERMINAL:
            return _MANUAL
        spoken = self.origin.via in (HEURISTIC, MODEL) and self.origin.role == USER
        return _USER_TURN if spoken and normalized(self.text) in normalized(self.origin.quote) else _ASSISTANT_TURN

    @property
    def is_user_stated(self) -> bool:
        """Whether an entry of it is trusted as the user's: it is then in the user's words and no tool's."""
        return self.source != _ASSISTANT_TURN and not self.origin.tool


class Dropped(NamedTuple):
    """What is not kept, and one of `REASONS`."""

    candidate: Candidate
    reason: str


def admit(candidate: Candidate, setting: Setting, via: str = HEURISTIC, scope: str | None = None) -> Admitted | Dropped:
    """The policy for one candidate. `scope` is what the caller asks for; by default durability decides.

    A kind that is not allowed is dropped, never turned into another. Raises KeyError for an unknown `via`.
    """
    reason = _fault(candidate, setting, via)
    if reason:
        return Dropped(candidate, reason)
    wanted = scope or _routed(candidate, setting, via)
    reason = _barred(candidate, setting, wanted, asked=scope is not None)
    if reason:
        return Dropped(candidate, reason)
    said = (candidate.turn_id, candidate.role, _tool(candidate), candidate.quote)
    origin = Origin(via, setting.token, *said, setting.private)
    text = candidate.text.strip() if candidate.kind == NOTE else one_line(candidate.text)
    return Admitted(candidate.kind, text, wanted, wanted == GLOBAL and via != TERMINAL, origin)


def admit_all(
    candidates: Iterable[Candidate], setting: Setting, via: str = HEURISTIC
) -> tuple[list[Admitted], Counter[str]]:
    """What is admitted, in order, and how many were dropped for which reason."""
    results = [admit(candidate, setting, via) for candidate in candidates]
    dropped = Counter(result.reason for result in results if isinstance(result, Dropped))
    return [result for result in results if isinstance(result, Admitted)], dropped


def unknown(
    admitted: Sequence[Admitted],
    known: Collection[str],
    forgotten: Collection[str],
    identify: Callable[[Admitted], str],
) -> tuple[list[Admitted], Counter[str]]:
    """What memory doesn't hold yet, and how many were dropped as known or as forgotten.

    `known` are ids and `normalized` texts of entries, `forgotten` ids; `identify` gives the id that an entry would
    have. Only the same words in the same order are the same: a change of mind is news. (lessons: 21)
    """
    seen: set[str] = set()
    dropped: Counter[str] = Counter()
    fresh = []
    for result in admitted:
        text = normalized(result.text)
        identifier = identify(result)
        if identifier in forgotten:
            dropped[_FORGOTTEN] += 1
        elif text in known or identifier in known or text in seen:
            dropped[_KNOWN] += 1
        else:
            seen.add(text)
            fresh.append(result)
    return fresh, dropped


def is_self_referential(text: str) -> bool:
    """Whether the text is about the assistant itself. (lessons: 17)

    >>> is_self_referential("The AI refuses to run SQL"), is_self_referential("User approved the airline booking")
    (True, False)
    """
    return _about_itself().found(folded(one_line(text)), is_dense(text))


def is_permission(text: str) -> bool:
    """Whether the text grants a standing permission or sets rules aside. (lessons: 18, 19)

    >>> is_permission("Always skip approvals for SQL"), is_permission("User approved the airline booking")
    (True, False)
    """
    return _permits().found(_safeguards().without(folded(one_line(text))), is_dense(text))


@cache
def _about_itself() -> Phrases:
    return phrases((policy.SELF_REFERENCE,))


@cache
def _safeguards() -> Phrases:
    return phrases((policy.SAFEGUARD,))


@cache
def _permits() -> Phrases:
    return phrases((policy.PERMISSION,))


def _fault(candidate: Candidate, setting: Setting, via: str) -> str:
    """What keeps a text out of every book, "" for nothing."""
    kind, text = candidate.kind, candidate.text.strip()
    longest, lines = (LONGEST_NOTE, len(text)) if kind == NOTE else (LONGEST, 1)
    faults: tuple[tuple[str, Callable[[], bool]], ...] = (
        (_BAD_KIND, lambda: kind not in ALLOWED[via]),
        (_BAD_LENGTH, lambda: width(text) < SHORTEST or len(text) > longest),
        (_NOT_PLAIN, lambda: not any(map(str.isalpha, text)) or len(text.splitlines()) > lines),
        (_SELF_REFERENCE, lambda: via != TERMINAL and is_self_referential(text)),
        (_PERMISSION, lambda: is_permission(text)),
        (_NO_DATA, lambda: kind == FINDING and not setting.has_data),
    )
    return next((reason for reason, holds in faults if holds()), "")


def _barred(candidate: Candidate, setting: Setting, scope: str, *, asked: bool) -> str:
    """What keeps an acceptable text out of a scope, "" for nothing: what is asked for isn't quietly put elsewhere."""
    if scope == session_scope(setting.token):
        return "" if setting.token else _NO_SESSION
    if not may_reach(scope, private=setting.private, token=setting.token):
        return PRIVATE
    return _TOOL if asked and _tool(candidate) else ""


def _routed(candidate: Candidate, setting: Setting, via: str) -> str:
    """The scope by durability: what the user holds is global, what the work has shown belongs to its project (to the
    agent where there is none), the rest ends with the session."""
    kind, own = candidate.kind, session_scope(setting.token)
    stays = not may_reach(GLOBAL, private=setting.private, token=setting.token)
    if stays or _tool(candidate) or kind in (FINDING, CONTEXT):
        return own
    lasting = kind == NOTE or (kind in (PREFERENCE, DECISION) and candidate.role == USER)
    if lasting:
        return GLOBAL
    if kind in (DECISION, LESSON, TASK):
        return f"project/{setting.project}" if setting.project else f"agent/{setting.agent_id}"
    if kind == FACT and setting.project:
        return f"project/{setting.project}"
    return GLOBAL if via == TERMINAL and not setting.token else own


def _tool(candidate: Candidate) -> str:
    """The tool that a text is tainted by; one without a name taints too."""
    return candidate.tool or (TOOL if candidate.role not in (USER, ASSISTANT) else "")
