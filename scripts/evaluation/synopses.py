"""How well a session's sentence tells what was asked and achieved, and the fitting of the weights that choose it.

A label is told where half of its words of four letters or more stand in the sentence.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from evaluation.fitting import group_authors
from evaluation.labelled import TOLD, LabelledSession
from evaluation.regression import Sample, regress
from lineage.core.format import synopsis
from lineage.core.format.digest import Digest
from lineage.core.format.sentence import SentenceContext, build_fallback, to_plain_text
from lineage.extraction.digests import iter_texts

_WORD = re.compile(r"[\w']{4,}")
_RIDGE = 10.0
_STEPS, _MORE_STEPS = 10, 2  # of Newton's method, from nothing and from the weights of all
_READ_WORDS = 26  # of a sentence: more is never quoted
_NONE: dict[str, dict[str, float]] = {kind: {} for kind in TOLD}

Weights = Mapping[str, Mapping[str, float]]


class _Example(NamedTuple):
    author: str
    features: Mapping[str, float]
    is_right: bool


def lines(sessions: Sequence[LabelledSession], by_author: Mapping[str, Weights] | None = None) -> Iterator[str]:
    """Yield how many asks and outcomes are told. `by_author` are the weights for each author's sessions."""
    told = count_told(sessions, by_author or {})
    for kind in TOLD:
        yield f"{kind} told: {told[kind]} of {told[f'{kind}s']}"


def count_told(sessions: Iterable[LabelledSession], by_author: Mapping[str, Weights]) -> Counter[str]:
    """Count the labelled asks and outcomes that sentences tell."""
    counts = Counter[str]()
    for session in sessions:
        sentence = _build_sentence(session, by_author.get(session.author))
        for kind in TOLD:
            if quote := session.told.get(kind, ""):
                counts[f"{kind}s"] += 1
                counts[kind] += _tells(sentence, quote)
    return counts


def fit(sessions: Sequence[LabelledSession]) -> tuple[Weights, Mapping[str, Weights]]:
    """Return the weights of labelled sessions, and for each author those of the others."""
    sessions = [session for session in sessions if session.told]
    examples = {kind: list(_list_examples(sessions, kind)) for kind in TOLD}
    whole = {kind: _regress(own) for kind, own in examples.items()}
    by_author = dict[str, Weights]()
    for group in group_authors(sessions):
        weights = {
            kind: _regress([one for one in own if one.author not in group], whole[kind], _MORE_STEPS)
            for kind, own in examples.items()
        }
        by_author |= dict.fromkeys(group, weights)
    return whole, by_author


def fit_and_write(sessions: Sequence[LabelledSession]) -> Mapping[str, Weights]:
    """Write the data file of the package, with what its like tell of other authors, and return those by author."""
    sessions = [session for session in sessions if session.told]
    whole, by_author = fit(sessions)
    told = count_told(sessions, by_author)
    authors = {kind: [session.author for session in sessions if session.told.get(kind)] for kind in TOLD}
    data = {
        "fitted_on": {kind: {"sessions": len(own), "authors": len({*own})} for kind, own in authors.items()},
        "told_of_others": {kind: f"{told[kind]} of {told[f'{kind}s']}" for kind in TOLD},
    }
    path = Path(str(resources.files("lineage.core.format").joinpath(synopsis.WEIGHTS)))
    path.write_text(json.dumps({**data, **whole}, indent=1) + "\n", encoding="utf-8")
    return by_author


def _build_sentence(session: LabelledSession, weights: Weights | None) -> str:
    found = synopsis.build_synopsis(iter_texts(session.turns), weights=weights)
    digest = Digest(turns=len(session.turns), requests=("?",), replies=1, **found._asdict())
    return build_fallback(digest, SentenceContext("generic", "s-1", "/home/ada/demo"))


def _list_examples(sessions: Iterable[LabelledSession], kind: str) -> Iterator[_Example]:
    for session in sessions:
        if quote := session.told.get(kind, ""):
            for said in synopsis.list_said(iter_texts(session.turns), _NONE)[TOLD.index(kind)]:
                yield _Example(
                    session.author,
                    said.features,
                    _tells(" ".join(to_plain_text(said.text).split()[:_READ_WORDS]), quote),
                )


def _tells(text: str, quote: str) -> bool:
    wanted = _find_words(quote)
    return bool(wanted) and 2 * len(wanted & _find_words(text)) >= len(wanted)


def _find_words(text: str) -> set[str]:
    return {*_WORD.findall(re.sub(r"[*`_\\]", " ", text).lower())}


def _regress(
    examples: Sequence[_Example], start: Mapping[str, float] | None = None, steps: int = _STEPS
) -> Mapping[str, float]:
    """Return the weights of a logistic regression with a ridge, by Newton's method."""
    names = ["bias", *sorted(examples[0].features)]
    samples = [
        Sample([(0, 1.0), *((number, one.features[name]) for number, name in enumerate(names) if number)], one.is_right)
        for one in examples
    ]
    values = [(start or {}).get(name, 0.0) for name in names]
    found = regress(samples, [0.0] + [_RIDGE] * (len(names) - 1), steps, values)
    return {name: round(value, 2) for name, value in zip(names, found, strict=True)}
