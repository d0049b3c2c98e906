"""How good a ranking is, how sure that is, and how long it took."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean, median, quantiles
from time import perf_counter

from evaluation.material import Question
from evaluation.rankers import Ranker

_SEED, _RESAMPLES = 8, 1_000


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found for a question: the first place that answers it, 0 for none, and the share of all that do among
    the first ten; `resurrected` counts sessions that are gone."""

    question: Question
    rank: int
    recall: float
    ms: float
    resurrected: int

    @property
    def reciprocal(self) -> float:
        return 1 / self.rank if self.rank else 0.0

    def is_within(self, places: int) -> bool:
        return 0 < self.rank <= places


@dataclass(frozen=True, slots=True)
class Measures:
    """Shares of the questions that have an answer; `resurrected` counts results of questions that may have none."""

    hit1: float
    hit5: float
    reciprocal_rank: float
    recall10: float
    median_ms: float
    p95_ms: float
    resurrected: int


def ask(ranker: Ranker, questions: Sequence[Question], gone: frozenset[str]) -> list[Answer]:
    """The answers to all questions, each asked once. `gone` are the sessions that were removed."""
    results, times = [], []
    for question in questions:
        began = perf_counter()
        results.append(ranker(question.text, question.group))
        times.append((perf_counter() - began) * 1000)
    return judge(questions, results, times, gone)


def judge(
    questions: Sequence[Question], results: Sequence[Sequence[str]], times: Sequence[float], gone: frozenset[str]
) -> list[Answer]:
    """The answers, of what was found for each question in so many milliseconds."""
    answers = []
    for question, found, ms in zip(questions, results, times, strict=True):
        rank = next((place for place, name in enumerate(found, 1) if name in question.answers), 0)
        recall = len(question.answers.intersection(found)) / max(1, len(question.answers))
        answers.append(Answer(question, rank, recall, ms, len(gone.intersection(found))))
    return answers


def measure(answers: Sequence[Answer]) -> Measures:
    """The measures of answers."""
    known, times = having_answers(answers), [one.ms for one in answers]
    return Measures(
        hit1=fmean(one.is_within(1) for one in known),
        hit5=fmean(one.is_within(5) for one in known),
        reciprocal_rank=fmean(one.reciprocal for one in known),
        recall10=fmean(one.recall for one in known),
        median_ms=median(times),
        p95_ms=p95(times),
        resurrected=sum(one.resurrected for one in answers),
    )


def having_answers(answers: Sequence[Answer]) -> list[Answer]:
    """Those to questions that something answers."""
    return [one for one in answers if one.question.answers]


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The bootstrap's 95 % interval of the mean, by the percentiles of means of values drawn anew."""
    random = Random(_SEED)
    means = sorted(sum(random.choices(values, k=len(values))) / len(values) for _ in range(_RESAMPLES))
    return means[_RESAMPLES // 40], means[-1 - _RESAMPLES // 40]


def p95(times: Sequence[float]) -> float:
    """The time that 95 of 100 stay within; of a single one, itself."""
    return quantiles(times, n=20)[-1] if len(times) > 1 else times[0]
