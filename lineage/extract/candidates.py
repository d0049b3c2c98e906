"""What a conversation may be remembered for, found by cues: preferences, decisions, lessons, tasks, facts, context.

The heuristic reads what user and agent say. Tool results are data, not speech: nothing is taken from them, and what
repeats them is marked with the tool's name. (format: Books; lessons: 18)
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from lineage.core.links import one_line
from lineage.core.turns import ASSISTANT, TOOL, USER, Turn
from lineage.extract import cues
from lineage.extract.cues import CONTEXT, DECISION, FACT, LESSON, PREFERENCE, TASK
from lineage.extract.echoes import echoed
from lineage.extract.folding import is_dense, normalized, width
from lineage.extract.phrases import Phrases, phrases
from lineage.extract.prose import Sentence, sentences

HEURISTIC = "heuristic"
MODEL = "model"
"""Who finds candidates in a session: rules, or a language model."""

KINDS = (PREFERENCE, DECISION, LESSON, TASK, FACT, CONTEXT)
"""In order of precedence: a sentence with cues of several kinds is of the first."""
PER_KIND = 16
IN_ALL = 48
SHORTEST = 14
"""In Latin characters; one of a script without spaces counts two."""
LONGEST = 300
_OF_THE_USER = frozenset({PREFERENCE, CONTEXT})


class Candidate(NamedTuple):
    """Something that may be worth an entry.

    `text` is one line. `role` is who said it first (user, assistant or tool) and `turn_id` where; `quote` is the
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


def extract(turns: Sequence[Turn]) -> list[Candidate]:
    """`told_apart` without other statements."""
    return told_apart(turns, ())[0]


def told_apart(turns: Sequence[Turn], others: Sequence[tuple[int, str, bool]]) -> tuple[list[Candidate], list[str]]:
    """The candidates of these turns in the order of the conversation: each text once, the user's own where both said
    it; at most `PER_KIND` of a kind and `IN_ALL` together, the most confident and then the earliest.

    With them the tools that other statements repeat, see `echoed`: the results of tools are read once for all."""
    found: dict[str, tuple[int, Candidate]] = {}
    for position, turn in enumerate(turns):
        for candidate in _said(turn):
            key = normalized(candidate.text)
            known = found.get(key)
            if known and known[1].role == ASSISTANT and candidate.role == USER:
                del found[key]
            found.setdefault(key, (position, candidate))
    kept = _capped(list(found.values()))
    tools = echoed([*((position, c.quote, c.role == USER) for position, c in kept), *others], turns)
    found_tools, other_tools = tools[: len(kept)], tools[len(kept) :]
    candidates = [candidate._replace(tool=tool) for (_, candidate), tool in zip(kept, found_tools, strict=True)]
    return candidates, other_tools


def attributed(kind: str, text: str, quote: str, turns: Sequence[Turn]) -> Candidate | None:
    """A statement of somebody who has read the turns, a language model for instance, as a candidate; None where nobody
    said the quote, or it is too short to tell.

    The first turn that holds the quote says who said it; the model isn't asked. A text that isn't the quote counts as
    repeating a tool where half of it stands in a result. (lessons: 18)
    """
    wanted, line = normalized(quote), one_line(text)
    if width(wanted) < SHORTEST:
        return None
    for turn in turns:
        if turn.role in (USER, ASSISTANT, TOOL) and not turn.thinking and wanted in normalized(turn.text):
            typed = turn.role == USER and normalized(line) in wanted
            tool = turn.name or TOOL if turn.role == TOOL else echoed([(len(turns), line, typed)], turns)[0]
            return Candidate(kind, line, turn.role, turn.id, tool, 1 + (turn.role == USER), one_line(quote))
    return None


def _said(turn: Turn) -> Iterator[Candidate]:
    if turn.role not in (USER, ASSISTANT) or turn.thinking:
        return
    for sentence in sentences(turn.text, LONGEST):
        kind, labelled = _kind(sentence, turn.role)
        text = one_line(sentence.said) if kind else ""
        if width(text) >= SHORTEST:
            confidence = 1 + (turn.role == USER) + labelled
            yield Candidate(kind, text, turn.role, turn.id, "", confidence, sentence.said)


def _kind(sentence: Sentence, role: str) -> tuple[str, bool]:
    """What the sentence is taken for, "" for nothing, and whether it says so itself."""
    bare, dense = sentence.bare, is_dense(sentence.bare)
    leads_in = bare.endswith(":")
    if leads_in or not (sentence.unchecked or ":" in bare or _every_cue().found(bare, dense)):
        return "", False
    kinds = [kind for kind in KINDS if role == USER or kind not in _OF_THE_USER]
    labels = (kind for kind in kinds if ":" in bare and _label(kind).match(bare))
    labelled = next(labels, TASK if sentence.unchecked else "")
    kind = labelled or next((kind for kind in kinds if _cues(kind).found(bare, dense)), "")
    return (kind, bool(labelled)) if kind and not _is_open(bare, role) else ("", False)


def _is_open(bare: str, role: str) -> bool:
    """Whether the sentence asks, or only thinks of something."""
    dense = is_dense(bare)
    if _QUESTION.search(bare) or _unsure().found(bare, dense):
        return True
    return role == ASSISTANT and _musing().found(bare, dense)


def _capped(found: Sequence[tuple[int, Candidate]]) -> list[tuple[int, Candidate]]:
    ranked = sorted(range(len(found)), key=lambda index: (-found[index][1].confidence, index))
    kinds: Counter[str] = Counter()
    kept: list[int] = []
    for index in ranked:
        kind = found[index][1].kind
        if kinds[kind] < PER_KIND and len(kept) < IN_ALL:
            kinds[kind] += 1
            kept.append(index)
    return [found[index] for index in sorted(kept)]


@cache
def _cues(kind: str) -> Phrases:
    return phrases(({language: kinds[kind] for language, kinds in cues.CUES.items()},))


@cache
def _every_cue() -> Phrases:
    return phrases({language: kinds[kind] for language, kinds in cues.CUES.items()} for kind in KINDS)


@cache
def _unsure() -> Phrases:
    return phrases((cues.HYPOTHETICAL,))


@cache
def _musing() -> Phrases:
    return phrases((cues.MUSING,))


@cache
def _label(kind: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(map(re.escape, cues.LABELS[kind]))}) ?:")


_QUESTION = re.compile(cues.QUESTION)
