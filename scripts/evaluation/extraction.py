"""How well statements are found: what is kept of labelled sessions beside their labels, by kind and speaker."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from evaluation import previous
from evaluation.labelled import LabelledSession, is_same
from lineage.core.format.turns import ASSISTANT, USER
from lineage.extraction.admission_policy import Admission, CandidateContext, admit
from lineage.extraction.candidates import Candidate, extract_candidates
from lineage.extraction.features import MAX_SENTENCE_LENGTH
from lineage.extraction.scoring import Weights
from lineage.extraction.sentence_kinds import KINDS, TASK
from lineage.extraction.sentences import split_sentences

_HEAD = """| kept | entries in force | right | traps | waiting | right | user's found | agent's found | tasks found |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"""
_CONTEXT = CandidateContext("aaaaaaaaaaaaaaaa", project="labelled")
_SURE = 2  # the weight of a label that has to be found


def lines(
    sessions: Sequence[LabelledSession], by_author: Mapping[str, Mapping[str, Weights]] | None = None
) -> Iterator[str]:
    """Yield the table: what is kept today, of all and by speaker and kind, by the rules before, and of every cue.

    `by_author` are the weights for each author's sessions, the packaged ones for others.
    """
    yield from _HEAD.splitlines()
    kept = [(session, list(keep(session, (by_author or {}).get(session.author)))) for session in sessions]
    for name, role, kind in _slices():
        yield _line(name, sum((count(*one, role, kind) for one in kept), Counter[str]()))
    before = (count(session, list(previous.keep(session.turns))) for session in sessions)
    yield _line("by the rules before", sum(before, Counter[str]()))
    cues = (count(session, list(keep_cues(session))) for session in sessions)
    yield _line("every sentence with a cue", sum(cues, Counter[str]()))


def _slices() -> Iterator[tuple[str, str, str]]:
    yield "all", "", ""
    yield from ((f"{role}'s", role, "") for role in (USER, ASSISTANT))
    yield from ((f"{role}'s {kind}s", role, kind) for role in (USER, ASSISTANT) for kind in KINDS)


def keep(session: LabelledSession, weights: Mapping[str, Weights] | None = None) -> Iterator[tuple[Candidate, bool]]:
    """Yield what is admitted to books of more than the session itself, and whether it waits."""
    for candidate in extract_candidates(session.turns, weights=weights):
        admission = admit(candidate, _CONTEXT)
        if isinstance(admission, Admission) and not admission.scope.startswith("session/"):
            yield candidate, admission.pending


def keep_cues(session: LabelledSession) -> Iterator[tuple[Candidate, bool]]:
    """Yield every sentence with a cue of a kind."""
    for turn in session.turns:
        speaks = turn.role in (USER, ASSISTANT) and not turn.thinking
        for sentence in split_sentences(turn.text, MAX_SENTENCE_LENGTH) if speaks else ():
            kind, _ = previous.classify(sentence, turn.role)
            if kind:
                yield Candidate(kind, sentence.text, turn.role, turn.id), False


def count(
    session: LabelledSession, kept: Iterable[tuple[Candidate, bool]], role: str = "", kind: str = ""
) -> Counter[str]:
    """Count entries in force and waiting, those that a label holds, traps, and labels of weight 2 that are in force.

    A further entry of the same label isn't counted. `role` and `kind` count a part of the entries only.
    """
    counts, credited = Counter[str](), set[tuple[str, str]]()
    chosen = [(one, waits) for one, waits in kept if role in ("", one.role) and kind in ("", one.kind)]
    for one, waits in chosen:
        quotes = (label["quote"] for label in session.statements if is_same(one.text, label["quote"]))
        place, hit = "waiting" if waits else "in force", next(quotes, "")
        if hit and (place, hit) in credited:
            continue
        credited.add((place, hit))
        counts[place] += 1
        counts[f"{place} right"] += bool(hit)
        counts[f"{place} traps"] += not hit and any(is_same(one.text, trap["quote"]) for trap in session.traps)
    for label in session.statements:
        if label["weight"] >= _SURE:
            group = TASK if label["kind"] == TASK else label["speaker"]
            counts[f"wanted {group}"] += 1
            counts[f"got {group}"] += any(not waits and is_same(one.text, label["quote"]) for one, waits in chosen)
    return counts


def _line(name: str, counts: Mapping[str, int]) -> str:
    shares = [("in force right", "in force"), ("in force traps", "in force"), ("waiting right", "waiting")]
    shares += [(f"got {group}", f"wanted {group}") for group in (USER, ASSISTANT, TASK)]
    right, traps, waiting, *found = [_share(counts, *pair) for pair in shares]
    cells = [name, str(counts["in force"]), right, traps, str(counts["waiting"]), waiting, *found]
    return f"| {' | '.join(cells)} |"


def _share(counts: Mapping[str, int], part: str, whole: str) -> str:
    ratio = f" = {counts[part] / counts[whole]:.2f}" if counts[whole] else ""
    return f"{counts[part]} of {counts[whole]}{ratio}"
