"""How good a ranking is, and how long it took."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median, quantiles
from time import perf_counter

from evaluation.material import Question
from evaluation.rankers import Ranker


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


def measured(ranker: Ranker, questions: Sequence[Question], gone: frozenset[str]) -> Measures:
    """The measures of all questions, each asked once. `gone` are the sessions that were removed."""
    results, times = [], []
    for question in questions:
        began = perf_counter()
        results.append(ranker(question.text, question.group))
        times.append((perf_counter() - began) * 1000)
    return measured_from(questions, results, times, gone)


def measured_from(
    questions: Sequence[Question], results: Sequence[Sequence[str]], times: Sequence[float], gone: frozenset[str]
) -> Measures:
    """The measures of what was found for each question in so many milliseconds."""
    ranks, recalls = [], []
    for question, found in zip(questions, results, strict=True):
        if question.answers:
            ranks.append(next((place for place, name in enumerate(found, 1) if name in question.answers), 0))
            recalls.append(len(question.answers.intersection(found)) / len(question.answers))
    return Measures(
        hit1=fmean(rank == 1 for rank in ranks),
        hit5=fmean(0 < rank <= 5 for rank in ranks),
        reciprocal_rank=fmean(1 / rank if rank else 0 for rank in ranks),
        recall10=fmean(recalls),
        median_ms=median(times),
        p95_ms=p95(times),
        resurrected=sum(len(gone.intersection(found)) for found in results),
    )


def p95(times: Sequence[float]) -> float:
    """The time that 95 of 100 stay within; of a single one, itself."""
    return quantiles(times, n=20)[-1] if len(times) > 1 else times[0]
