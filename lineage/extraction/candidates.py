"""Candidates for memory, found by cues: preferences, decisions, lessons, tasks, facts and context.

The heuristic reads the messages of user and agent. Tool results are data, not speech: they yield no candidates, and a
candidate that repeats one carries the tool's name. (format: Books; lessons: 18)
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from lineage.core.base.links import to_one_line
from lineage.core.base.normalize import is_unspaced, measure_width, normalize_text
from lineage.core.format.tool_overlap import Statement, ToolEvidence
from lineage.core.format.turns import ASSISTANT, TOOL, USER, Turn
from lineage.extraction import cues
from lineage.extraction.cues import CONTEXT, DECISION, FACT, LESSON, PREFERENCE, TASK
from lineage.extraction.phrases import PhraseMatcher
from lineage.extraction.sentences import Sentence, split_sentences

HEURISTIC = "heuristic"  # found by rules
MODEL = "model"  # found by a language model

# In order of precedence: a sentence with cues of several kinds gets the first.
KINDS = (PREFERENCE, DECISION, LESSON, TASK, FACT, CONTEXT)
MAX_PER_KIND = 16
MAX_CANDIDATES = 48
MIN_WIDTH = 14  # In Latin characters. A character of a script without spaces counts two.
MAX_SENTENCE_LENGTH = 300
# An agent's "I prefer" and "I am working on" are about its own turn, not about the user.
_USER_ONLY_KINDS = frozenset({PREFERENCE, CONTEXT})
_CUES = {kind: PhraseMatcher({language: kinds[kind] for language, kinds in cues.CUES.items()}) for kind in KINDS}
_ALL_CUES = PhraseMatcher({lang: [cue for kind in KINDS for cue in kinds[kind]] for lang, kinds in cues.CUES.items()})
_HYPOTHETICAL = PhraseMatcher(cues.HYPOTHETICAL)
_HEDGING = PhraseMatcher(cues.HEDGING)
_LABELS = {kind: re.compile(rf"(?:{'|'.join(map(re.escape, cues.LABELS[kind]))}) ?:") for kind in KINDS}
_QUESTION = re.compile(cues.QUESTION)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A statement that may be worth an entry.

    `text` is one line, `quote` the sentence as it stands in its turn. `role` is the first speaker: user, assistant or
    tool. `tool` names the tool whose result the text repeats. `confidence` is 1 to 3: one, one more for the user's
    words, one more for a label in the sentence itself ("Decision: …"). An agent's statement that `waits` needs the
    user's confirmation.
    """

    kind: str
    text: str
    role: str
    turn_id: str
    tool: str = ""
    confidence: int = 1
    quote: str = ""
    waits: bool = False


def extract_candidates(turns: Sequence[Turn], evidence: ToolEvidence | None = None) -> list[Candidate]:
    """Return the candidates of these turns, see `extract_with_tool_overlap`."""
    return extract_with_tool_overlap(turns, (), evidence or ToolEvidence(turns))[0]


def extract_with_tool_overlap(
    turns: Sequence[Turn], statements: Sequence[Statement], evidence: ToolEvidence
) -> tuple[list[Candidate], list[str]]:
    """Return the candidates of these turns, and for each other statement the tool that it repeats.

    Candidates come in the order of the conversation, each text once. If user and agent both said it, the user's
    sentence is taken. There are at most `MAX_PER_KIND` of a kind and `MAX_CANDIDATES` together: the most confident
    first, then the earliest.
    """
    by_text: dict[str, tuple[int, Candidate]] = {}
    for position, turn in enumerate(turns):
        for candidate in _find_candidates(turn):
            key = normalize_text(candidate.text)
            earlier = by_text.get(key)
            if earlier and earlier[1].role == ASSISTANT and candidate.role == USER:
                del by_text[key]
            by_text.setdefault(key, (position, candidate))
    limited = _limit_candidates(list(by_text.values()))
    own = [Statement(position, candidate.quote, candidate.role == USER) for position, candidate in limited]
    # One call for all statements: tool results are long, and reading them twice would double the cost.
    tools = evidence.find_tools([*own, *statements])
    judged = _judge([candidate for _, candidate in limited], own, tools, evidence)
    return judged, tools[len(own) :]


def _judge(
    candidates: Sequence[Candidate], statements: Sequence[Statement], tools: Iterable[str], evidence: ToolEvidence
) -> list[Candidate]:
    waiting = evidence.find_waiting(statements)
    return [
        replace(candidate, tool=candidate.tool or tool, waits=waits and candidate.role != USER)
        for candidate, tool, waits in zip(candidates, tools, waiting, strict=False)
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
    if measure_width(wanted) < MIN_WIDTH:
        return None
    for turn in turns:
        if turn.role in (USER, ASSISTANT, TOOL) and not turn.thinking and wanted in normalize_text(turn.text):
            typed = turn.role == USER and normalize_text(line) in wanted
            statements = [Statement(len(turns), line, typed)]
            tools = [turn.name or TOOL] if turn.role == TOOL else evidence.find_tools(statements)
            # A result stands below its call, which a link can point at.
            place = next((call.id for call in turns if turn.call and call.number == turn.call), turn.id)
            found = Candidate(kind, line, turn.role, place, "", 1 + (turn.role == USER), to_one_line(quote))
            return _judge([found], statements, tools, evidence)[0]
    return None


def _find_candidates(turn: Turn) -> Iterator[Candidate]:
    if turn.role not in (USER, ASSISTANT) or turn.thinking:
        return
    for sentence in split_sentences(turn.text, MAX_SENTENCE_LENGTH):
        kind, is_labelled = _classify(sentence, turn.role)
        text = to_one_line(sentence.text) if kind else ""
        if measure_width(text) >= MIN_WIDTH:
            confidence = 1 + (turn.role == USER) + is_labelled
            yield Candidate(kind, text, turn.role, turn.id, "", confidence, sentence.text)


def _classify(sentence: Sentence, role: str) -> tuple[str, bool]:
    """Return the kind of a sentence, "" for none, and whether a label in it names the kind."""
    folded, unspaced = sentence.folded, is_unspaced(sentence.folded)
    if folded.endswith(":"):  # it leads into a list: the items are the statements
        return "", False
    # Most sentences end here: one search for all cues is cheaper than one for each kind.
    if not (sentence.is_open_task or ":" in folded or _ALL_CUES.matches(folded, unspaced)):
        return "", False
    kinds = [kind for kind in KINDS if role == USER or kind not in _USER_ONLY_KINDS]
    labels = (kind for kind in kinds if ":" in folded and _LABELS[kind].match(folded))
    label = next(labels, TASK if sentence.is_open_task else "")
    kind = label or next((kind for kind in kinds if _CUES[kind].matches(folded, unspaced)), "")
    if not kind or _QUESTION.search(folded) or _HYPOTHETICAL.matches(folded, unspaced):
        return "", False
    if role == ASSISTANT and _HEDGING.matches(folded, unspaced):
        return "", False
    return kind, bool(label)


def _limit_candidates(candidates: Sequence[tuple[int, Candidate]]) -> list[tuple[int, Candidate]]:
    ranked = sorted(range(len(candidates)), key=lambda index: (-candidates[index][1].confidence, index))
    kinds: Counter[str] = Counter()
    selected: list[int] = []
    for index in ranked:
        kind = candidates[index][1].kind
        if kinds[kind] < MAX_PER_KIND and len(selected) < MAX_CANDIDATES:
            kinds[kind] += 1
            selected.append(index)
    return [candidates[index] for index in sorted(selected)]
