"""The tables: what each ranker finds of a set, as a whole and by kind, with how sure that is.

`beside words` is the difference of hit@1 from lineage's search by words, question by question; `gone, found`
are removed sessions that a question found.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

from evaluation.material import Material
from evaluation.meaning import meanings
from evaluation.measures import Answer, ask, having_answers, interval, measure
from evaluation.rankers import captured, lineages, neighbours, read_texts

HEAD = """| set | found by | hit@1 | hit@3 | hit@5 | MRR | beside words | recall@10 | median ms | p95 ms | gone, found |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"""
_KINDS_HEAD = """
| {name}: kind | found by | hit@1 | hit@3 | hit@5 | MRR | beside words |
| --- | --- | ---: | ---: | ---: | ---: | ---: |"""

Found = Mapping[str, Sequence[Answer]]
"""The answers of each ranker, by its name; lineage's search by words comes first."""


def answers(material: Material, modes: Sequence[str], model: Path | None) -> Iterator[tuple[int, Found]]:
    """The number of sessions and what every ranker finds, one more each time."""
    gone = frozenset(session.id for session in material.sessions if session.removed)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="lineage-eval-")))
        ws = stack.enter_context(captured(folder / "workspace", material))
        texts = read_texts(ws)
        words = lineages(ws, sum(len(one.passages) for one in texts))
        others = stack.enter_context(neighbours(texts))
        found: dict[str, Sequence[Answer]] = {}
        for ranker in (*words, *meanings(ws, folder, modes, model), *others):
            found[ranker.name] = ask(ranker, material.questions, gone)
            yield len(texts) + len(gone), found


def line(material: Material, sessions: int, name: str, found: Found) -> str:
    """A row of the main table, of one ranker."""
    measures, known = measure(found[name]), having_answers(found[name])
    times = (f"{measures.median_ms:.1f}", f"{measures.p95_ms:.1f}", str(measures.resurrected))
    cells = (*_shares(found, name, known), f"{measures.recall10:.3f}", *times)
    return f"| {material.name}: {len(material.questions):,} questions, {sessions:,} sessions | {name} | {_row(cells)}"


def by_kind(material: Material, found: Found) -> Iterator[str]:
    """The table by kind of question; none for a set without kinds."""
    kinds = list(dict.fromkeys(question.kind for question in material.questions if question.kind))
    if kinds:
        yield _KINDS_HEAD.format(name=material.name)
    for kind in sorted(kinds):
        for name in found:
            known = [one for one in having_answers(found[name]) if one.question.kind == kind]
            if known:
                yield f"| {kind} | {name} | {_row(_shares(found, name, known))}"


def _shares(found: Found, name: str, known: Sequence[Answer]) -> Sequence[str]:
    """hit@1, hit@3, hit@5, MRR and the difference from words, of some questions."""
    hits = [[one.is_within(places) for one in known] for places in (1, 3, 5)]
    words = {one.question: one.is_within(1) for one in next(iter(found.values()))}
    differences = [one.is_within(1) - words[one.question] for one in known]
    beside = "" if name == next(iter(found)) else _interval(differences, f"{fmean(differences):+.3f}", sign="+")
    return *map(_share, hits), _interval([one.reciprocal for one in known]), beside


def _share(hits: Sequence[bool]) -> str:
    return _interval(hits, f"{fmean(hits):.3f} ({sum(hits):,} of {len(hits):,})")


def _interval(values: Sequence[float], text: str = "", sign: str = "") -> str:
    low, high = interval(values)
    return f"{text or f'{fmean(values):.3f}'} {low:{sign}.2f} to {high:{sign}.2f}"


def _row(cells: Sequence[str]) -> str:
    return f"{' | '.join(cells)} |"
