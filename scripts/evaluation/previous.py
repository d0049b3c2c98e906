"""What the rules before there was a score keep of a session, for comparison: cues in order of precedence."""

import re
from collections.abc import Iterator, Sequence

from evaluation import previous_cues as cues
from lineage.core.base.links import to_one_line
from lineage.core.base.normalize import is_unspaced, measure_width, normalize_text
from lineage.core.format.tool_overlap import Statement, ToolEvidence
from lineage.core.format.turns import ASSISTANT, USER, Turn
from lineage.extraction.candidates import Candidate
from lineage.extraction.phrases import PhraseMatcher
from lineage.extraction.sentence_kinds import CONTEXT, DECISION, KINDS, MIN_STATEMENT_WIDTH, PREFERENCE, TASK
from lineage.extraction.sentences import Sentence, split_sentences

_MAX_LENGTH = 300
_MAX_PER_KIND, _MAX_CANDIDATES = 16, 48
_USER_ONLY_KINDS = frozenset({PREFERENCE, CONTEXT})
_CUES = {kind: PhraseMatcher({language: kinds[kind] for language, kinds in cues.CUES.items()}) for kind in KINDS}
_HYPOTHETICAL, _HEDGING = PhraseMatcher(cues.HYPOTHETICAL), PhraseMatcher(cues.HEDGING)
_LABELS = {kind: re.compile(rf"(?:{'|'.join(map(re.escape, cues.LABELS[kind]))}) ?:") for kind in KINDS}
_QUESTION = re.compile(cues.QUESTION)


def keep(turns: Sequence[Turn]) -> Iterator[tuple[Candidate, bool]]:
    """Yield what went to books of more than the session itself, and whether it waited for confirmation."""
    found = _limit(_find(turns))
    statements = [Statement(place, one.quote, one.role == USER) for place, _, one in found]
    evidence = ToolEvidence(turns)
    tools, waiting = evidence.find_tools(statements), evidence.find_waiting(statements)
    for (_, _, one), tool, waits in zip(found, tools, waiting, strict=True):
        if not tool and one.kind != CONTEXT:
            # What a user decided or liked was for all projects, and had to be confirmed.
            yield one, one.kind in (PREFERENCE, DECISION) if one.role == USER else waits


def _find(turns: Sequence[Turn]) -> list[tuple[int, int, Candidate]]:
    """Return place, confidence and statement of each text, the user's sentence where both said it."""
    by_text: dict[str, tuple[int, int, Candidate]] = {}
    for place, turn in enumerate(turns):
        speaks = turn.role in (USER, ASSISTANT) and not turn.thinking
        for sentence in split_sentences(turn.text, _MAX_LENGTH) if speaks else ():
            kind, is_labelled = classify(sentence, turn.role)
            text = to_one_line(sentence.text) if kind else ""
            if measure_width(text) < MIN_STATEMENT_WIDTH:
                continue
            key, earlier = normalize_text(text), by_text.get(normalize_text(text))
            if earlier and earlier[2].role == ASSISTANT and turn.role == USER:
                del by_text[key]
            one = Candidate(kind, text, turn.role, turn.id, quote=sentence.text)
            by_text.setdefault(key, (place, 1 + (turn.role == USER) + is_labelled, one))
    return list(by_text.values())


def classify(sentence: Sentence, role: str) -> tuple[str, bool]:
    """Return the kind of a sentence by its cues, "" for none, and whether a label in it names the kind."""
    folded, unspaced = sentence.folded, is_unspaced(sentence.folded)
    kinds = [kind for kind in KINDS if role == USER or kind not in _USER_ONLY_KINDS]
    labels = (kind for kind in kinds if ":" in folded and _LABELS[kind].match(folded))
    label = next(labels, TASK if sentence.is_open_task else "")
    kind = label or next((kind for kind in kinds if _CUES[kind].matches(folded, unspaced)), "")
    is_stated = not (folded.endswith(":") or _QUESTION.search(folded) or _HYPOTHETICAL.matches(folded, unspaced))
    if not kind or not is_stated or (role == ASSISTANT and _HEDGING.matches(folded, unspaced)):
        return "", False
    return kind, bool(label)


def _limit(found: Sequence[tuple[int, int, Candidate]]) -> list[tuple[int, int, Candidate]]:
    """Return the most confident of each kind, in order."""
    counts = dict.fromkeys(KINDS, 0)
    chosen = list[int]()
    for index in sorted(range(len(found)), key=lambda index: (-found[index][1], index)):
        kind = found[index][2].kind
        if counts[kind] < _MAX_PER_KIND and len(chosen) < _MAX_CANDIDATES:
            counts[kind] += 1
            chosen.append(index)
    return [found[index] for index in sorted(chosen)]
