"""What a conversation may be remembered for, found by cues: preferences, decisions, lessons, tasks, facts, context.

The heuristic reads what user and agent say. Tool results are data, not speech: nothing is taken from them, and what
repeats them is marked with the tool's name. (format: Books; lessons: 18)
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from lineage.core.base.links import to_one_line
from lineage.core.format.turns import ASSISTANT, TOOL, USER, Turn
from lineage.extraction import cues
from lineage.extraction.cues import CONTEXT, DECISION, FACT, LESSON, PREFERENCE, TASK
from lineage.extraction.normalize import is_unspaced, measure_width, normalize_text
from lineage.extraction.phrases import PhraseMatcher, compile_phrases
from lineage.extraction.sentences import Sentence, split_sentences
from lineage.extraction.tool_overlap import find_repeated_tools

HEURISTIC = "heuristic"
MODEL = "model"
"""Who finds candidates in a session: rules, or a language model."""

KINDS = (PREFERENCE, DECISION, LESSON, TASK, FACT, CONTEXT)
"""In order of precedence: a sentence with cues of several kinds is of the first."""
MAX_PER_KIND = 16
MAX_CANDIDATES = 48
MIN_WIDTH = 14
"""In Latin characters; one of a script without spaces counts two."""
MAX_SENTENCE_LENGTH = 300
_USER_ONLY_KINDS = frozenset({PREFERENCE, CONTEXT})


class Candidate(NamedTuple):
    """Something that may be worth an entry.

    `text` is one line. `role` is who said it first (user, assistant or tool) and `compute_turn_id` where; `quote` is
    the
    sentence as it stands in that turn. `tool` names the tool whose result it repeats or came out of. `confidence` is 1
    to 3: one, one more for the user's words, one more where the sentence says itself what it is ("Decision: …").
    """

    kind: str
    text: str
    role: str
    turn_id: str
    tool: str = ""
    confidence: int = 1
    quote: str = ""


def extract_candidates(turns: Sequence[Turn]) -> list[Candidate]:
    """`told_apart` without other statements."""
    return extract_with_tool_overlap(turns, ())[0]


def extract_with_tool_overlap(
    turns: Sequence[Turn], statements: Sequence[tuple[int, str, bool]]
) -> tuple[list[Candidate], list[str]]:
    """The candidates of these turns in the order of the conversation: each text once, the user's own where both said
    it; at most `MAX_PER_KIND` of a kind and `MAX_CANDIDATES` together, the most confident and then the earliest.

    With them the tools that other statements repeat, see `echoed`: the results of tools are read once for all."""
    found: dict[str, tuple[int, Candidate]] = {}
    for position, turn in enumerate(turns):
        for candidate in _find_candidates(turn):
            key = normalize_text(candidate.text)
            known = found.get(key)
            if known and known[1].role == ASSISTANT and candidate.role == USER:
                del found[key]
            found.setdefault(key, (position, candidate))
    kept = _limit_candidates(list(found.values()))
    tools = find_repeated_tools([*((position, c.quote, c.role == USER) for position, c in kept), *statements], turns)
    found_tools, other_tools = tools[: len(kept)], tools[len(kept) :]
    candidates = [candidate._replace(tool=tool) for (_, candidate), tool in zip(kept, found_tools, strict=True)]
    return candidates, other_tools


def attribute_quote(kind: str, text: str, quote: str, turns: Sequence[Turn]) -> Candidate | None:
    """A statement of somebody who has read the turns, a language model for instance, as a candidate; None where nobody
    said the quote, or it is too short to tell.

    The first turn that holds the quote says who said it; the model isn't asked. A text that isn't the quote counts as
    repeating a tool where half of it stands in a result. (lessons: 18)
    """
    wanted, line = normalize_text(quote), to_one_line(text)
    if measure_width(wanted) < MIN_WIDTH:
        return None
    for turn in turns:
        if turn.role in (USER, ASSISTANT, TOOL) and not turn.thinking and wanted in normalize_text(turn.text):
            typed = turn.role == USER and normalize_text(line) in wanted
            tool = (
                turn.name or TOOL if turn.role == TOOL else find_repeated_tools([(len(turns), line, typed)], turns)[0]
            )
            return Candidate(kind, line, turn.role, turn.id, tool, 1 + (turn.role == USER), to_one_line(quote))
    return None


def _find_candidates(turn: Turn) -> Iterator[Candidate]:
    if turn.role not in (USER, ASSISTANT) or turn.thinking:
        return
    for sentence in split_sentences(turn.text, MAX_SENTENCE_LENGTH):
        kind, labelled = _classify(sentence, turn.role)
        text = to_one_line(sentence.text) if kind else ""
        if measure_width(text) >= MIN_WIDTH:
            confidence = 1 + (turn.role == USER) + labelled
            yield Candidate(kind, text, turn.role, turn.id, "", confidence, sentence.text)


def _classify(sentence: Sentence, role: str) -> tuple[str, bool]:
    """What the sentence is taken for, "" for nothing, and whether it says so itself."""
    bare, dense = sentence.folded, is_unspaced(sentence.folded)
    leads_in = bare.endswith(":")
    if leads_in or not (sentence.is_open_task or ":" in bare or _every_cue().matches(bare, dense)):
        return "", False
    kinds = [kind for kind in KINDS if role == USER or kind not in _USER_ONLY_KINDS]
    labels = (kind for kind in kinds if ":" in bare and _compile_label(kind).match(bare))
    labelled = next(labels, TASK if sentence.is_open_task else "")
    kind = labelled or next((kind for kind in kinds if _compile_cues(kind).matches(bare, dense)), "")
    return (kind, bool(labelled)) if kind and not _is_tentative(bare, role) else ("", False)


def _is_tentative(bare: str, role: str) -> bool:
    """Whether the sentence asks, or only thinks of something."""
    dense = is_unspaced(bare)
    if _QUESTION.search(bare) or _compile_hypothetical().matches(bare, dense):
        return True
    return role == ASSISTANT and _compile_hedging().matches(bare, dense)


def _limit_candidates(candidates: Sequence[tuple[int, Candidate]]) -> list[tuple[int, Candidate]]:
    ranked = sorted(range(len(candidates)), key=lambda index: (-candidates[index][1].confidence, index))
    kinds: Counter[str] = Counter()
    kept: list[int] = []
    for index in ranked:
        kind = candidates[index][1].kind
        if kinds[kind] < MAX_PER_KIND and len(kept) < MAX_CANDIDATES:
            kinds[kind] += 1
            kept.append(index)
    return [candidates[index] for index in sorted(kept)]


@cache
def _compile_cues(kind: str) -> PhraseMatcher:
    return compile_phrases(({language: kinds[kind] for language, kinds in cues.CUES.items()},))


@cache
def _every_cue() -> PhraseMatcher:
    return compile_phrases({language: kinds[kind] for language, kinds in cues.CUES.items()} for kind in KINDS)


@cache
def _compile_hypothetical() -> PhraseMatcher:
    return compile_phrases((cues.HYPOTHETICAL,))


@cache
def _compile_hedging() -> PhraseMatcher:
    return compile_phrases((cues.HEDGING,))


@cache
def _compile_label(kind: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(map(re.escape, cues.LABELS[kind]))}) ?:")


_QUESTION = re.compile(cues.QUESTION)
