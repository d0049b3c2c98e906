"""Candidates for memory: the statements of a session that score as worth keeping.

A sentence is kept for the sum of its features' weights (`features`, `scoring`), or because it says what it is.
Tool results are data, not speech: they yield no candidates, and a candidate that repeats one carries the tool's name.
(design: What is learned; lessons: 18)
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from lineage.core.base.links import to_one_line
from lineage.core.base.normalize import measure_width, normalize_text
from lineage.core.format.tool_overlap import Statement, ToolEvidence
from lineage.core.format.turns import ASSISTANT, TOOL, USER, Turn
from lineage.extraction.features import (
    ANSWER,
    ASKED,
    CHECKED,
    CHECKER,
    DOUBTED,
    EVER,
    OFF_SUBJECT,
    REVIEW_FINDING,
    Utterance,
    read_utterances,
)
from lineage.extraction.forms import find_label
from lineage.extraction.scoring import Weights, load_weights
from lineage.extraction.sentences import split_sentences

HEURISTIC = "heuristic"  # found by rules
MODEL = "model"  # found by a language model

PREFERENCE = "preference"
DECISION = "decision"
FACT = "fact"
LESSON = "lesson"
TASK = "task"
CONTEXT = "context"
KINDS = (PREFERENCE, DECISION, LESSON, TASK, FACT, CONTEXT)

MIN_STATEMENT_WIDTH = 14  # In Latin characters. A character of a script without spaces counts two.
MAX_LENGTH = 500  # of a statement: its sentence, and the rest of the paragraph after a label
MAX_PER_SPEAKER, MAX_EXPLICIT = 4, 12
_TURNS_PER_EXTRA = 100  # a longer session may say more
_EXPLICIT_OVERLAP = 0.9
_MIN_OVERLAP = 0.5  # of the words of the shorter of two statements that say the same
_LINK = re.compile(r"\bhttps?://\S+")
_MIN_WORDS_BESIDE_LINK = 4
_TO_COMPACT = re.compile(r"\s*/compact\b")  # says what shall be kept of one conversation
_NUMBER = re.compile(r"\d+")
_NORMS = frozenset({"wish", "must", "rule"})
_ORDERS = frozenset({"wish", "must", "^rule", "standing"})
_REASONS = frozenset({"negation", "instead", "cause", "standing"})
_ASKING = _NORMS | {"^verb", "^request"}
_POLITE_RULE = frozenset({"^request", "addressee", "standing"})  # "could you never …?"
_AGENT_DOUBTS = frozenset({"a question", "guess"})
_DOUBTS = frozenset({"a question", "guess", "announcement", "^supposition"})
_REASONED = frozenset({"explicit", "an open box", "decision", "instead", "judgement", "cause"})
_SHORT = frozenset({"under 5 words", "5 to 8 words"})
_BUSINESS = frozenset({"process", "operation", "tests"})  # of a session: its plan, its pull request, its tests


@dataclass(frozen=True, slots=True)
class Candidate:
    """A statement that may be worth an entry.

    `text` is one line, `quote` the words as they stand in their turn. `role` is the first speaker: user, assistant or
    tool. `tool` names the tool whose result the text repeats. `about` is what it is bound to. One that `waits` needs
    the user's confirmation; `is_general` tells one that is meant for all projects, `is_last` one of the last messages,
    `is_unsettled` what a person asked, wanted for the moment, or handed on of a review.
    """

    kind: str
    text: str
    role: str
    turn_id: str
    tool: str = ""
    score: float = 0.0
    quote: str = ""
    waits: bool = False
    about: tuple[str, ...] = ()
    is_general: bool = False
    is_last: bool = False
    is_unsettled: bool = False


def extract_candidates(
    turns: Sequence[Turn], evidence: ToolEvidence | None = None, weights: Mapping[str, Weights] | None = None
) -> list[Candidate]:
    """Return the candidates of these turns, see `extract_with_tool_overlap`."""
    return extract_with_tool_overlap(turns, (), evidence or ToolEvidence(turns), weights)[0]


def extract_with_tool_overlap(
    turns: Sequence[Turn],
    statements: Sequence[Statement],
    evidence: ToolEvidence,
    weights: Mapping[str, Weights] | None = None,
) -> tuple[list[Candidate], list[str]]:
    """Return the candidates of these turns, and for each other statement the tool that it repeats.

    Candidates come in the order of the conversation, each statement once. Of those that say the same the best is taken,
    the user's before the agent's.
    """
    weights = weights or load_weights()
    scored = ((one, weights[one.role].compute_score(one.seen)) for one in read_utterances(turns))
    kept = [(one, score) for one, score in scored if score >= weights[one.role].in_force or is_explicit(one)]
    chosen = choose_utterances(kept, len(turns))
    candidates = [_build_candidate(one, score) for one, score in chosen]
    own = [
        # The question above an answer is the agent's.
        Statement(one.place, candidate.quote, one.role == USER and ANSWER not in one.seen)
        for (one, _), candidate in zip(chosen, candidates, strict=True)
    ]
    # One call for all statements: tool results are long, and reading them twice would double the cost.
    tools = evidence.find_tools([*own, *statements])
    return _judge(candidates, own, tools[: len(own)], evidence), tools[len(own) :]


def choose_utterances(scored: Iterable[tuple[Utterance, float]], turns: int) -> list[tuple[Utterance, float]]:
    """Return the statements among scored utterances, in order, without those that say what a better one says.

    The best few of each speaker are taken: `MAX_PER_SPEAKER`, more of those that say what they are, and of a long
    session.
    """
    numbered = ((number, one, score) for number, (one, score) in enumerate(scored) if is_statement(one))
    ranked = sorted(numbered, key=lambda item: (item[1].role != USER, -item[2], item[0]))
    extra = turns // _TURNS_PER_EXTRA
    taken: list[tuple[int, Utterance, float]] = []
    counts: Counter[tuple[str, bool]] = Counter()
    for number, one, score in ranked:
        key = one.role, is_explicit(one)
        room = (MAX_EXPLICIT if key[1] else MAX_PER_SPEAKER) + extra
        if counts[key] < room and not any(says_same(one, other) for _, other, _ in taken):
            counts[key] += 1
            taken.append((number, one, score))
    return [(one, score) for _, one, score in sorted(taken)]


def is_explicit(one: Utterance) -> bool:
    """Return whether a sentence says what it is: by a label, a box, "we decided", or a person's "(can you) never …".

    What a person pasted says it of something else.
    """
    if _is_polite_rule(one):
        return True
    # A box in an agent's plan is none of its tasks: those that are open stand in what it says at the end.
    has_box = "an open box" in one.seen and (one.role == USER or "at the end" in one.marks)
    if one.role == USER:
        says_so = (
            bool(one.label) or "explicit" in one.seen or has_box or _is_rule(one)
        ) and "like a paste" not in one.seen
    else:
        says_so = (_is_told(one) or has_box) and one.label != PREFERENCE
    return says_so and _DOUBTS.isdisjoint(one.seen)


def _is_rule(one: Utterance) -> bool:
    """Return whether a person says what always holds: "never …", "use … always", "it should not … ever"."""
    seen = one.seen.keys()
    is_standing = "standing" in seen or (EVER in one.marks and "negation" in seen)
    return "^standing" in seen or (is_standing and ("^verb" in seen or ("must" in seen and "past" not in seen)))


def _is_told(one: Utterance) -> bool:
    """Return whether an agent says what a sentence is: by a label that isn't one of many in a form, or by "we decided".

    "Next step: restart your server" is advice for the moment, and "from now on" tells what has just changed.
    """
    is_advice = one.label == TASK and not {"errand", "addressee"}.isdisjoint(one.seen)
    has_label = bool(one.label) and not is_advice and "one of many labels" not in one.marks
    phrase = one.seen.get("explicit", "")
    return has_label or (phrase != "" and ("standing" not in one.seen or one.seen["standing"] not in phrase))


def is_statement(one: Utterance) -> bool:
    """Return whether a sentence states something: no lead into a list, no supposition, no agent's question or guess.

    A person's report, story, guess or errand that asks for nothing lasting states nothing either, nor does what a
    person only wants to know, or that a check went well.
    """
    says_so = "explicit" in one.seen
    if one.role == USER:
        is_open = _is_polite_rule(one) or not (says_so and {"a question", "guess"} & one.seen.keys())
        is_passing = "^look" in one.seen or _is_remark(one.seen) or _is_inquiry(one)
        is_open = is_open and (is_explicit(one) or not is_passing)
    else:
        is_open = _AGENT_DOUBTS.isdisjoint(one.seen) and not (says_so and "wish" in one.seen)
        is_open = is_open and (bool(one.label) or not (_is_aside(one) or _is_mere_change(one)))
    text = one.sentence.text
    is_link = _LINK.search(text) is not None and len(_LINK.sub(" ", text).split()) < _MIN_WORDS_BESIDE_LINK
    is_plain = {"leads into a list", "^supposition"}.isdisjoint(one.seen) and not (is_link or _TO_COMPACT.match(text))
    return is_open and is_plain and measure_width(to_one_line(one.sentence.text)) >= MIN_STATEMENT_WIDTH


def _is_aside(one: Utterance) -> bool:
    """Return whether an agent tells of the moment, lists its changes, or says what the session is hardly about.

    What a linter complains of is such, too: it is mended in its session.
    """
    seen = one.seen.keys()
    is_entry = "a name before a dash" in seen and "state" not in seen
    is_passing = not one.marks.isdisjoint({CHECKER, OFF_SUBJECT}) and "standing" not in seen
    is_said_so = not seen.isdisjoint({"explicit", "an open box"})
    return "^moment" in seen or CHECKED in one.marks or (not is_said_so and (is_entry or is_passing))


def _is_mere_change(one: Utterance) -> bool:
    """Return whether an agent tells what it changed, and neither a reason nor a choice (design: What is learned)."""
    return _classify_report(one.seen) == DECISION and _REASONED.isdisjoint(one.seen)


def _is_remark(seen: Mapping[str, str]) -> bool:
    """Return whether a person tells of the moment, and not how it shall be."""
    # "It seems that it only counts up" has no rule: `only` and the like are one at the beginning.
    norms = _NORMS if "a question" in seen else _ORDERS
    tells, guesses = "telling" in seen and _ASKING.isdisjoint(seen), "guess" in seen and norms.isdisjoint(seen)
    is_errand = "errand" in seen and _REASONS.isdisjoint(seen)
    return "^moment" in seen or is_errand or tells or guesses


def says_same(one: Utterance, other: Utterance) -> bool:
    """Return whether two sentences share half of the content of the shorter one, or nearly all of two explicit ones.

    Sentences with other numbers say something else: a limit of 30 is none of 60.
    """
    if _NUMBER.findall(one.sentence.folded) != _NUMBER.findall(other.sentence.folded):
        return False
    mine, yours = one.content | one.names, other.content | other.names
    share = _EXPLICIT_OVERLAP if is_explicit(one) and is_explicit(other) else _MIN_OVERLAP
    return len(mine & yours) >= share * max(1, min(len(mine), len(yours)))


def is_question(one: Utterance) -> bool:
    """Return whether a sentence is a person's question that settles nothing."""
    is_settled = one.label or ANSWER in one.seen or _is_polite_rule(one)
    return one.role == USER and ("a question" in one.seen or ASKED in one.marks) and not is_settled


def is_unsettled(one: Utterance) -> bool:
    """Return whether a sentence is a person's question or errand, or a flaw that a review found.

    Nothing of it shall hold: it is kept as what was asked.
    """
    is_flaw = one.role == USER and REVIEW_FINDING in one.marks and not one.label
    return is_question(one) or is_flaw or _is_errand(one)


def _is_errand(one: Utterance) -> bool:
    """Return whether a person wants something done, and says nothing that holds beyond it.

    What holds is a norm (a wish, a rule, "must"), a choice that isn't about the session's own business, a fact, or what
    says what it is. A guess without a wish holds nothing, nor do a few words that name nothing.
    """
    seen = one.seen.keys()
    if one.role != USER or is_explicit(one) or "task" in seen or _is_fact(seen):
        return False
    is_doubted = DOUBTED in one.marks or ("guess" in seen and seen.isdisjoint({"wish", "standing"}))
    is_bare = not seen.isdisjoint(_SHORT) and seen.isdisjoint({"a name", "code", "wish", "standing"})
    is_norm = not seen.isdisjoint(_NORMS | _ORDERS)
    is_choice = not seen.isdisjoint({"decision", "instead"}) and seen.isdisjoint(_BUSINESS)
    return is_doubted or is_bare or not (is_norm or is_choice)


def _is_fact(seen: Set[str]) -> bool:
    return {"fact", "state"} <= seen and seen.isdisjoint({"wish", "must", "^verb", "^request"})


def _is_inquiry(one: Utterance) -> bool:
    """Return whether a person only wants to know something: "which shells are there?", and not "can we …?"."""
    return is_question(one) and "^question" in one.seen and {"^request", "wish"}.isdisjoint(one.seen)


def _is_polite_rule(one: Utterance) -> bool:
    return one.role == USER and one.seen.keys() >= _POLITE_RULE and "like a paste" not in one.seen


def classify(one: Utterance) -> str:
    """Return the kind of a sentence: that of its label, else that of its form."""
    seen, is_end = one.seen, "at the end" in one.marks or one.role == USER
    # An agent has no preferences, and what it did next was no task.
    if one.label and (one.role == USER or one.label != PREFERENCE) and (is_end or one.label != TASK):
        return one.label
    if "an open box" in seen:
        return TASK
    if is_unsettled(one):
        return CONTEXT  # "can we add …?" may be what led to a decision, and is none; a flaw is likely mended soon
    if "task" in seen and is_end and "change" not in seen:
        return TASK
    return _classify_wish(seen) if one.role == USER else _classify_report(seen)


def _classify_wish(seen: Mapping[str, str]) -> str:
    """Return the kind of what a person wrote."""
    if {"explicit", "decision"} <= seen.keys():
        return DECISION
    if seen.keys() >= _POLITE_RULE:
        return PREFERENCE
    if _is_fact(seen.keys()):
        return FACT
    if "^request" not in seen and ({"rule", "wish"} & seen.keys() or {"negation", "must"} <= seen.keys()):
        return PREFERENCE
    return LESSON if "trouble" in seen else DECISION


def _classify_report(seen: Mapping[str, str]) -> str:
    """Return the kind of what an agent wrote."""
    is_decided = "explicit" in seen and "decision" in seen
    if {"trouble", "cause", "negation"} & seen.keys() and "^change" not in seen and not is_decided:
        return LESSON
    return FACT if "state" in seen and not {"change", "decision", "instead"} & seen.keys() else DECISION


def _build_candidate(one: Utterance, score: float) -> Candidate:
    quote = read_statement(one)
    # What nobody has answered yet may be a paste that went wrong: it waits.
    waits = one.role == USER and "unanswered" in one.seen
    return Candidate(
        classify(one), to_one_line(quote), one.role, one.turn_id, "", score, quote, waits, (),
        "everywhere" in one.marks, "at the end" in one.marks, is_unsettled(one),
    )  # fmt: skip


def read_statement(one: Utterance) -> str:
    """Return a sentence with what makes it stand by itself: the paragraph after a label, or what `this` points at."""
    sentence, after = one.sentence, one.sentence.after
    for further in split_sentences(after, MAX_LENGTH) if one.label else ():
        if find_label(further.folded):
            after = after[: after.index(further.text)].rstrip()
            break
    whole = sentence.text + after
    if one.label and after and len(whole) <= MAX_LENGTH:
        return whole
    whole = sentence.before + sentence.text
    if "^demonstrative" in one.seen and sentence.before and len(whole) <= MAX_LENGTH:
        return whole
    return sentence.text


def _judge(
    candidates: Sequence[Candidate], statements: Sequence[Statement], tools: Iterable[str], evidence: ToolEvidence
) -> list[Candidate]:
    waiting = evidence.find_waiting(statements)
    return [
        replace(candidate, tool=candidate.tool or tool, waits=candidate.waits or (waits and candidate.role != USER))
        for candidate, tool, waits in zip(candidates, tools, waiting, strict=True)
    ]


def attribute_quote(
    kind: str, text: str, quote: str, turns: Sequence[Turn], evidence: ToolEvidence | None = None
) -> Candidate | None:
    """Return a language model's statement as a candidate, None for a quote that is too short or in no turn.

    The first turn that holds the quote decides the role, never the model. A text that differs from the quote repeats a
    tool wherever the result stands. (lessons: 18)
    """
    wanted, line = normalize_text(quote), to_one_line(text)
    evidence = evidence or ToolEvidence(turns)
    if measure_width(wanted) < MIN_STATEMENT_WIDTH:
        return None
    for turn in turns:
        if turn.role in (USER, ASSISTANT, TOOL) and not turn.thinking and wanted in normalize_text(turn.text):
            typed = turn.role == USER and normalize_text(line) in wanted
            statements = [Statement(len(turns), line, typed)]
            tools = [turn.name or TOOL] if turn.role == TOOL else evidence.find_tools(statements)
            # A result stands below its call, which a link can point at.
            place = next((call.id for call in turns if turn.call and call.number == turn.call), turn.id)
            found = Candidate(kind, line, turn.role, place, quote=to_one_line(quote))
            return _judge([found], statements, tools, evidence)[0]
    return None
