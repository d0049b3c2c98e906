"""Whether the weights hold on questions that they weren't chosen on: chosen on half of the groups, tried on the other.

The groups are halved by their order, even and odd; a set of one group is halved by its questions, by a fixed rule.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from evaluation.material import Material, Question
from evaluation.measures import Measures, ask, measure
from evaluation.rankers import Lineage, captured
from lineage.index.fts_query import DEFAULT_RANKING, Ranking

_WEIGHTS = ((1.0, 1.0, 1.0), (1.5, 1.2, 1.0), (2.0, 1.5, 1.0), (3.0, 2.0, 1.0))
_DECAYS = (0.0, 0.1, 0.2, 0.4)
_TOOLS = (0.25, 0.4, 0.5, 0.6, 0.75, 1.0)
_HEAD = """
| {name}: chosen on | tried on | title, sentence, body; next passage; of tools | hit@1 | hit@5 | MRR | recall@10 |
| --- | --- | --- | ---: | ---: | ---: | ---: |"""


def lines(material: Material) -> Iterator[str]:
    """The table: for each half, what was best on the other by MRR, then what is shipped."""
    halves = _halves(material)
    with TemporaryDirectory(prefix="lineage-eval-") as folder, captured(Path(folder), material) as ws:
        found = {
            ranking: {
                name: measure(ask(Lineage(ws, "", ranking), asked, frozenset())) for name, asked in halves.items()
            }
            for ranking in _candidates()
        }
    yield _HEAD.format(name=material.name)
    for chosen_on, tried_on in (("even", "odd"), ("odd", "even")):
        best = max(found, key=lambda ranking: found[ranking][chosen_on].reciprocal_rank)
        yield _line(chosen_on, tried_on, best, found[best][tried_on])
        yield _line("shipped", tried_on, DEFAULT_RANKING, found[DEFAULT_RANKING][tried_on])


def _candidates() -> list[Ranking]:
    pairs = [replace(DEFAULT_RANKING, weights=weights, decay=decay) for weights, decay in product(_WEIGHTS, _DECAYS)]
    return [*pairs, *(replace(DEFAULT_RANKING, tools=tools) for tools in _TOOLS)]


def _halves(material: Material) -> Mapping[str, Sequence[Question]]:
    asked = [question for question in material.questions if question.answers]
    groups = list(dict.fromkeys(question.group for question in asked))
    halves: dict[str, list[Question]] = {"even": [], "odd": []}
    for question in asked:
        is_odd = groups.index(question.group) % 2 if len(groups) > 1 else question.is_held_out
        halves["odd" if is_odd else "even"].append(question)
    return halves


def _line(chosen_on: str, tried_on: str, ranking: Ranking, found: Measures) -> str:
    shares = (found.hit1, found.hit5, found.reciprocal_rank, found.recall10)
    values = f"{', '.join(map(str, ranking.weights))}; {ranking.decay}; {ranking.tools}"
    return f"| {' | '.join([chosen_on, tried_on, values, *(f'{share:.3f}' for share in shares)])} |"
