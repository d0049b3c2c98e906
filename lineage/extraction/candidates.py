"""Candidates for memory: the statements of a session that score as worth keeping.

A sentence is kept for the sum of its features' weights (`features`, `scoring`), or because it says what it is.
Tool results are data, not speech: they yield no candidates, and a candidate that repeats one carries the tool's name.
(design: What is learned; lessons: 18)
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from lineage.core.base.links import to_one_line
from lineage.core.base.normalize import measure_width, normalize_text
from lineage.core.format.tool_overlap import Statement, ToolEvidence
from lineage.core.format.turns import ASSISTANT, TOOL, USER, Turn
from lineage.extraction.amendments import amends
from lineage.extraction.features import ANSWER, Utterance, read_utterances
from lineage.extraction.forms import find_label
from lineage.extraction.scoring import Weights, load_weights
from lineage.extraction.sentence_kinds import (
    MIN_STATEMENT_WIDTH,
    classify,
    is_explicit,
    is_statement,
    is_unsettled,
)
from lineage.extraction.sentences import split_sentences

HEURISTIC = "heuristic"  # found by rules
MODEL = "model"  # found by a language model

MAX_LENGTH = 500  # of a statement: its sentence, and the rest of the paragraph after a label
MAX_PER_SPEAKER, MAX_EXPLICIT = 4, 12
_TURNS_PER_EXTRA = 100  # a longer session may say more
_EXPLICIT_OVERLAP = 0.9
_MIN_OVERLAP = 0.5  # of the words of the shorter of two statements that say the same
_NUMBER = re.compile(r"\d+")


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


def says_same(one: Utterance, other: Utterance) -> bool:
    """Return whether two sentences share half of the content of the shorter one, or nearly all of two explicit ones.

    Sentences with other numbers say something else: a limit of 30 is none of 60. So does a person's that amends it.
    """
    if _NUMBER.findall(one.sentence.folded) != _NUMBER.findall(other.sentence.folded):
        return False
    older, newer = (one, other) if one.place < other.place else (other, one)
    is_later = one.place != other.place and one.role == other.role == USER
    if is_later and amends(newer.sentence.text, older.sentence.text):
        return False
    mine, yours = one.content | one.names, other.content | other.names
    share = _EXPLICIT_OVERLAP if is_explicit(one) and is_explicit(other) else _MIN_OVERLAP
    return len(mine & yours) >= share * max(1, min(len(mine), len(yours)))


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
        if turn.role in (USER, ASSISTANT, TOOL) and not turn.thinking and wanted in normalize_text(turn.said):
            typed = turn.role == USER and normalize_text(line) in wanted
            statements = [Statement(len(turns), line, typed)]
            tools = [turn.name or TOOL] if turn.role == TOOL else evidence.find_tools(statements)
            # A result stands below its call, which a link can point at.
            place = next((call.id for call in turns if turn.call and call.number == turn.call), turn.id)
            found = Candidate(kind, line, turn.role, place, quote=to_one_line(quote))
            return _judge([found], statements, tools, evidence)[0]
    return None
