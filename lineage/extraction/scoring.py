"""The score of a sentence: the weights of its features, fitted on labelled sessions by `scripts/eval --fit`."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

WEIGHTS = "weights.json"


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of a speaker's sentences, and the score from which on a statement is kept."""

    bias: float
    features: Mapping[str, float]
    in_force: float

    def compute_score(self, features: Iterable[str]) -> float:
        """Return the likelihood that a good colleague would keep a sentence, from 0 to 1."""
        # Added exactly: floating point must not depend on the order of a set.
        total = math.fsum((self.bias, *[self.features.get(name, 0.0) for name in features]))
        return round(1 / (1 + math.exp(-total)), 4)


@cache
def load_weights() -> Mapping[str, Weights]:
    """Return the packaged weights by speaker."""
    text = resources.files("lineage.extraction").joinpath(WEIGHTS).read_text(encoding="utf-8")
    return parse_weights(json.loads(text))


def parse_weights(data: Mapping[str, Mapping[str, object]]) -> Mapping[str, Weights]:
    """Return the weights of a parsed file by speaker."""
    return {speaker: Weights(**values) for speaker, values in data["speakers"].items()}  # type: ignore[arg-type]
