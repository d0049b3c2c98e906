"""The policy that admits texts to books, for finds of rules and models and for `remember` alike.

Word filters alone protect nothing. The protection is structural: every text has a provenance, tool output stays in its
session, and only text typed by the user at a terminal reaches global scope unconfirmed.
(format: Books; reliability: poisoned memory; lessons: 17, 18, 19)
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from lineage.core.base.book_paths import GLOBAL, is_allowed_in_scope, session_scope
from lineage.core.base.links import to_one_line
from lineage.core.base.normalize import fold_text, is_unspaced, measure_width, normalize_text
from lineage.core.format.turns import ASSISTANT, TOOL, USER
from lineage.extraction import policy_phrases
from lineage.extraction.candidates import HEURISTIC, MODEL, Candidate
from lineage.extraction.phrases import PhraseMatcher
from lineage.extraction.sentence_kinds import CONTEXT, DECISION, FACT, LESSON, PREFERENCE, TASK

TERMINAL = "terminal"  # `remember`, typed by the user
HARNESS = "harness"  # `remember`, called inside a harness: by an agent, even if it claims otherwise

FINDING = "finding"
NOTE = "note"
_EXTRACTED_KINDS = frozenset({PREFERENCE, DECISION, FACT, LESSON, TASK, CONTEXT, FINDING})
_ASKED_KINDS = _EXTRACTED_KINDS | {NOTE}
ALLOWED_KINDS = {
    HEURISTIC: _EXTRACTED_KINDS, MODEL: _EXTRACTED_KINDS, TERMINAL: _ASKED_KINDS, HARNESS: _ASKED_KINDS,
}  # fmt: skip

_MANUAL, _USER_TURN, _ASSISTANT_TURN = "manual", "user_turn", "assistant_turn"
MIN_ENTRY_WIDTH = 6  # In Latin characters. A character of a script without spaces counts two.
MAX_LENGTH = 500
MAX_NOTE_LENGTH = 4_000

# The reasons for a rejection, in the order of the checks.
BAD_KIND = "kind"
BAD_LENGTH = "length"
NOT_PLAIN = "not plain text"
SELF_REFERENCE = "self-reference"
PERMISSION = "permission"
NO_DATA = "no data attached"
PRIVATE = "private session"
TOOL_OUTPUT = "tool output"
NO_SESSION = "no session"
REMOVED = "removed session"
KNOWN = "known"
FORGOTTEN = "forgotten"
TOO_MANY = "too many wait"
REASONS = (
    BAD_KIND, BAD_LENGTH, NOT_PLAIN, SELF_REFERENCE, PERMISSION, NO_DATA, PRIVATE, TOOL_OUTPUT, NO_SESSION, REMOVED,
    KNOWN, FORGOTTEN, TOO_MANY,
)  # fmt: skip

_SELF_REFERENCES = PhraseMatcher(policy_phrases.SELF_REFERENCE)
_SAFEGUARDS = PhraseMatcher(policy_phrases.SAFEGUARD)
_PERMISSIONS = PhraseMatcher(policy_phrases.PERMISSION)


@dataclass(frozen=True, slots=True)
class CandidateContext:
    """The session behind candidates: its token ("" outside of one), agent, project folder, privacy and data."""

    token: str = ""
    agent_id: str = "default"
    project: str | None = None
    private: bool = False
    has_data: bool = False


@dataclass(frozen=True, slots=True)
class Provenance:
    """The source of an admitted text.

    `via` is HEURISTIC, MODEL, TERMINAL or HARNESS, `role` the first speaker, `tool` the tool whose result the text
    repeats ("" for none), `quote` the original words, `private` the privacy of the session.
    """

    via: str
    session: str
    turn_id: str
    role: str
    tool: str
    quote: str
    private: bool = False


@dataclass(frozen=True, slots=True)
class Admission:
    """A text for the book of `kind` in `scope`. `pending`: it waits for the user's confirmation.

    `until_capture`: an agent asked for it, and the capture of its session decides. (reliability: overlap) `about` is
    what it is bound to.
    """

    kind: str
    text: str
    scope: str
    pending: bool
    provenance: Provenance
    until_capture: bool = False
    about: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """The source of its entry: typed by the user, the user's very words in a session, or else the assistant's.

        (lessons: 18)
        """
        if self.provenance.via == TERMINAL:
            return _MANUAL
        is_spoken = self.provenance.via in (HEURISTIC, MODEL) and self.provenance.role == USER
        is_verbatim = is_spoken and normalize_text(self.text) in normalize_text(self.provenance.quote)
        return _USER_TURN if is_verbatim else _ASSISTANT_TURN

    @property
    def is_user_stated(self) -> bool:
        """Whether its entry is trusted as the user's: in the user's words, and no tool's."""
        return self.source != _ASSISTANT_TURN and not self.provenance.tool


@dataclass(frozen=True, slots=True)
class Rejection:
    """A rejected candidate, and one of `REASONS`."""

    candidate: Candidate
    reason: str


def admit(
    candidate: Candidate, context: CandidateContext, via: str = HEURISTIC, scope: str | None = None
) -> Admission | Rejection:
    """Judge one candidate. `scope` is the caller's wish; by default durability decides.

    A kind that is not allowed is rejected, never turned into another. Raises KeyError for an unknown `via`.
    """
    reason = _find_fault(candidate, context, via)
    target = scope or _choose_scope(candidate, context, via)
    reason = reason or _find_scope_fault(candidate, context, target, is_requested=scope is not None)
    if reason:
        return Rejection(candidate, reason)
    turn_id, role, quote = candidate.turn_id, candidate.role, candidate.quote
    provenance = Provenance(via, context.token, turn_id, role, _tainting_tool(candidate), quote, context.private)
    text = candidate.text.strip() if candidate.kind == NOTE else to_one_line(candidate.text)
    admission = Admission(
        candidate.kind, text, target, target == GLOBAL and via != TERMINAL, provenance, about=candidate.about
    )
    # What a model says that a person wants isn't the person's: it waits.
    is_borrowed = via == MODEL and role == USER and admission.source != _USER_TURN
    waits = (candidate.waits or is_borrowed) and target != session_scope(context.token)
    return replace(admission, pending=admission.pending or waits)


def admit_all(
    candidates: Iterable[Candidate], context: CandidateContext, via: str = HEURISTIC
) -> tuple[list[Admission], Counter[str]]:
    """Return the admitted candidates, in order, and the number of rejected ones by reason."""
    results = [admit(candidate, context, via) for candidate in candidates]
    dropped = Counter(result.reason for result in results if isinstance(result, Rejection))
    return [result for result in results if isinstance(result, Admission)], dropped


def select_new(
    admissions: Sequence[Admission],
    known: Collection[str],
    forgotten: Collection[str],
    identify: Callable[[Admission], str],
) -> tuple[list[Admission], Counter[str]]:
    """Return the admissions that memory doesn't hold yet, and the number of others as known or forgotten.

    `known` holds ids and normalized texts of entries, `forgotten` ids; `identify` returns the id of an admission's
    entry. Only the same words in the same order are known: a change of mind is news. (lessons: 21)
    """
    seen: set[str] = set()
    dropped: Counter[str] = Counter()
    new = []
    for admission in admissions:
        text = normalize_text(admission.text)
        identifier = identify(admission)
        if identifier in forgotten:
            dropped[FORGOTTEN] += 1
        elif text in known or identifier in known or text in seen:
            dropped[KNOWN] += 1
        else:
            seen.add(text)
            new.append(admission)
    return new, dropped


def is_self_referential(text: str) -> bool:
    """Return whether the text is about the assistant itself (lessons: 17).

    >>> is_self_referential("The AI refuses to run SQL"), is_self_referential("User approved the airline booking")
    (True, False)
    """
    return _SELF_REFERENCES.matches(fold_text(to_one_line(text)), is_unspaced(text))


def is_permission(text: str) -> bool:
    """Return whether the text grants a standing permission or sets rules aside (lessons: 18, 19).

    >>> is_permission("Always skip approvals for SQL"), is_permission("User approved the airline booking")
    (True, False)
    """
    # "Never deploy without approval" asks for more care: safeguards are masked before permissions are looked for.
    return _PERMISSIONS.matches(_SAFEGUARDS.mask(fold_text(to_one_line(text))), is_unspaced(text))


def _find_fault(candidate: Candidate, context: CandidateContext, via: str) -> str:
    """Return the reason that keeps a text out of every book, "" for none."""
    kind, text = candidate.kind, candidate.text.strip()
    max_length, max_lines = (MAX_NOTE_LENGTH, len(text)) if kind == NOTE else (MAX_LENGTH, 1)
    checks: tuple[tuple[str, Callable[[], bool]], ...] = (
        (BAD_KIND, lambda: kind not in ALLOWED_KINDS[via]),
        (BAD_LENGTH, lambda: measure_width(text) < MIN_ENTRY_WIDTH or len(text) > max_length),
        (NOT_PLAIN, lambda: not any(map(str.isalpha, text)) or len(text.splitlines()) > max_lines),
        (SELF_REFERENCE, lambda: via != TERMINAL and is_self_referential(text)),  # the user may say such things
        (PERMISSION, lambda: is_permission(text)),
        (NO_DATA, lambda: kind == FINDING and not context.has_data),
    )
    return next((reason for reason, is_fault in checks if is_fault()), "")


def _find_scope_fault(candidate: Candidate, context: CandidateContext, scope: str, *, is_requested: bool) -> str:
    """Return the reason that keeps a text out of a scope, "" for none. A requested scope is never quietly replaced."""
    if scope == session_scope(context.token):
        return "" if context.token else NO_SESSION
    if not is_allowed_in_scope(scope, private=context.private, token=context.token):
        return PRIVATE
    return TOOL_OUTPUT if is_requested and _tainting_tool(candidate) else ""


def _choose_scope(candidate: Candidate, context: CandidateContext, via: str) -> str:
    """Return the scope: what was said in a project is the project's, without one the session's.

    Only what was typed at a terminal, or is meant for all projects, is global. (design: What is learned)
    """
    kind, own_scope = candidate.kind, session_scope(context.token)
    is_confined = not is_allowed_in_scope(GLOBAL, private=context.private, token=context.token)
    is_personal = kind == PREFERENCE and candidate.role != USER and via in (HEURISTIC, MODEL)
    is_of_session = kind in (FINDING, CONTEXT) and not candidate.is_unsettled
    if is_confined or _tainting_tool(candidate) or is_of_session or is_personal:
        return own_scope
    is_general = candidate.is_general if via in (HEURISTIC, MODEL) else kind in (PREFERENCE, DECISION)
    if kind == NOTE or (is_general and candidate.role == USER):
        return GLOBAL
    if context.project:
        return f"project/{context.project}"
    unbound = f"agent/{context.agent_id}" if kind in (DECISION, LESSON, TASK) else GLOBAL
    return own_scope if context.token else unbound


def _tainting_tool(candidate: Candidate) -> str:
    """Return the name of the tool that taints a text, "" for none. A tool without a name taints too."""
    return candidate.tool or (TOOL if candidate.role not in (USER, ASSISTANT) else "")
