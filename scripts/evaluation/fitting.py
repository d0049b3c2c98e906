"""Fitting of the weights: logistic regression on labelled sessions, judged on authors that it wasn't fitted on."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from evaluation.labelled import LabelledSession, is_same, read_labelled
from evaluation.regression import Sample, regress
from lineage.core.format.turns import ASSISTANT, USER
from lineage.extraction.candidates import choose_utterances
from lineage.extraction.features import Utterance, read_utterances
from lineage.extraction.scoring import WEIGHTS, Weights

_GROUPS = 8  # of authors with few sessions; one with more is a group
_FEW = 3
# What a sentence of the first folder counts, one of further folders, and one that was judged by itself. The labels of
# agents' sessions pick a few of many statements that would do: there the judged ones say more.
_WEIGHTS = {USER: (4.0, 1.0, 0.3), ASSISTANT: (6.0, 0.5, 6.0)}
_MIN_COUNT = 15  # sentences with a feature
_RIDGE = 50.0
_STEPS, _MORE_STEPS = 6, 2  # of Newton's method, from nothing and from the weights of all
_NOT_FITTED = frozenset({"unanswered"})
# The precision against the labels that statements in force shall reach on authors that weren't fitted on.
_PRECISION = {USER: 0.67, ASSISTANT: 0.72}


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence of a labelled session, whether the labels hold it, and how much it counts.

    Those of the first folder decide the thresholds.
    """

    session: LabelledSession
    utterance: Utterance
    is_right: bool
    weight: float = 1.0
    is_first: bool = False


@dataclass(frozen=True, slots=True)
class Fitted:
    """The weights of all examples by speaker, and for each author those that were fitted on the others."""

    weights: Mapping[str, Weights]
    by_author: Mapping[str, Mapping[str, Weights]]


def read_examples(sessions: Iterable[LabelledSession], *, is_first: bool = True) -> list[Example]:
    """Return the sentences of labelled sessions."""
    return [
        Example(
            session,
            one,
            any(is_same(one.sentence.text, label["quote"]) for label in session.statements),
            _WEIGHTS[one.role][2 if session.judged else 0 if is_first else 1],
            is_first,
        )
        for session in sessions
        for one in read_utterances(session.turns)
        if not session.judged or one.sentence.text in session.judged
    ]


def fit(examples: Sequence[Example]) -> Fitted:
    """Return weights, with thresholds that were chosen on the scores of authors that weren't fitted on."""
    speakers = {speaker: _fit_speaker(examples, speaker) for speaker in (USER, ASSISTANT)}
    authors = {example.session.author for example in examples}
    by_author = {author: {name: others[author] for name, (_, others) in speakers.items()} for author in authors}
    return Fitted({name: weights for name, (weights, _) in speakers.items()}, by_author)


def fit_folders(folders: Sequence[Path]) -> Fitted:
    """Fit the weights on labelled folders, and write the data file of the package.

    The labels of the first folder are taken for the most complete: they count most, and decide the thresholds.
    """
    examples = [
        one for number, path in enumerate(folders) for one in read_examples(read_labelled(path), is_first=number == 0)
    ]
    fitted = fit(examples)
    write_weights(fitted.weights, examples)
    return fitted


def write_weights(weights: Mapping[str, Weights], examples: Sequence[Example]) -> Path:
    """Write the data file of the package, the same one for the same examples."""
    sessions = {example.session.name: example.session.author for example in examples}
    speakers = {
        speaker: {
            "bias": own.bias,
            "in_force": own.in_force,
            "features": dict(sorted(own.features.items())),
        }
        for speaker, own in weights.items()
    }
    data = {"fitted_on": {"sessions": len(sessions), "authors": len({*sessions.values()})}, "speakers": speakers}
    path = Path(str(resources.files("lineage.extraction").joinpath(WEIGHTS)))
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def group_authors(sessions: Iterable[LabelledSession]) -> list[frozenset[str]]:
    """Return groups of authors, whose sessions are left out together."""
    counts = Counter({session.name: session.author for session in sessions}.values())
    few = sorted(author for author, count in counts.items() if count <= _FEW)
    alone = [frozenset({author}) for author in sorted(counts) if author not in few]
    return alone + [group for start in range(_GROUPS) if (group := frozenset(few[start::_GROUPS]))]


def _fit_speaker(examples: Sequence[Example], speaker: str) -> tuple[Weights, Mapping[str, Weights]]:
    own = [example for example in examples if example.utterance.role == speaker]
    counts = Counter(name for example in own for name in example.utterance.seen)
    names = sorted(name for name, count in counts.items() if count >= _MIN_COUNT and name not in _NOT_FITTED)
    whole = _regress(own, names)
    by_author, held_out = dict[str, Weights](), list[tuple[Example, float]]()
    for group in group_authors(example.session for example in examples):
        weights = _regress([one for one in own if one.session.author not in group], names, whole, _MORE_STEPS)
        by_author |= dict.fromkeys(group, weights)
        scored = [one for one in own if one.session.author in group]
        held_out += [(one, weights.compute_score(one.utterance.seen)) for one in scored]
    in_force = _choose_threshold(held_out, _PRECISION[speaker])
    by_author = {name: replace(one, in_force=in_force) for name, one in by_author.items()}
    return replace(whole, in_force=in_force), by_author


def _choose_threshold(held_out: Sequence[tuple[Example, float]], precision: float) -> float:
    """Return the lowest score from which on so many of the first folder are right, 1 if there is none."""
    right, best = 0, 1.0
    ranked = _rank([row for row in held_out if row[0].is_first])
    for total, (score, example) in enumerate(ranked, start=1):
        right += example.is_right
        if right >= precision * total:
            best = score
    return best


def _rank(held_out: Sequence[tuple[Example, float]]) -> list[tuple[float, Example]]:
    """Return score and example of what would be chosen without a threshold, the best first."""
    sessions = defaultdict(list)
    for example, score in held_out:
        sessions[example.session.name].append((example, score))
    ranked = []
    for own in sessions.values():
        examples = {id(example.utterance): example for example, _ in own}
        turns = len(own[0][0].session.turns)
        for one, score in choose_utterances(((example.utterance, score) for example, score in own), turns):
            ranked.append((score, examples[id(one)]))
    return sorted(ranked, key=lambda row: -row[0])


def _regress(
    examples: Sequence[Example], names: Sequence[str], start: Weights | None = None, steps: int = _STEPS
) -> Weights:
    """Return the weights of a logistic regression with a ridge, by Newton's method from `start` on."""
    index = {name: number for number, name in enumerate(names)}
    samples = [
        Sample(
            [*((index[name], 1.0) for name in one.utterance.seen if name in index), (len(names), 1.0)],
            one.is_right,
            one.weight,
        )
        for one in examples
    ]
    values = [start.features[name] for name in names] + [start.bias] if start else [0.0] * len(names) + [-3.0]
    rounded = [round(value, 3) for value in regress(samples, [_RIDGE] * len(names) + [0.0], steps, values)]
    return Weights(rounded[-1], dict(zip(names, rounded, strict=False)), 1.0)
