"""What is given and what isn't: weights and floor of `floor.json`, fitted by `scripts/eval --fit`.

Logistic regression over features that can be told: what memory meets of the prompt, how closely, and whether the
prompt asks for something or looks back. Whatever the sum, other projects must not meet more of it.
"""

import os

from lineage.core.base.scan_json import scan_object
from lineage.recall.evidence import has_unspaced
from lineage.recall.questions import split_clauses

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_PAIRS = (("\uac00", 0.5), ("\u3100", 0.6), ("\u30a0", 0.3), ("\u3041", 0.1), ("\u0e00", 0.5))
"""What a pair of signs of a script without spaces tells, by the first sign of the script: Hangul, Han, Katakana …

A word has one pair less than signs, and what is written in Hiragana, wholly or in part, is an ending or a particle.
"""
_NUMBERS = {1: 0.1, 2: 0.1, 3: 0.35, 4: 0.5}
"""What a number of so many digits tells: hours, counts and versions stand everywhere."""

_TYPED_CHARS = 300  # of either end of a long prompt: what stands between is pasted rather than typed
_CUES = ("asks", "opens", "past")

FILE = os.path.join(os.path.dirname(__file__), "floor.json")


class Floor:
    """The weights of features, the floor of their sum, the weights of everyday words, and words that settle a thing.

    `least` are the features that must not be below a value, whatever the sum: nothing outweighs them, but that a text
    meets nearly the whole prompt, as `whole` has it, outweighs the margin. `narrating` is how sentences begin that say
    what is done next, `asking` the words that ask, those that only open a question, and those that look back.
    """

    def __init__(self, values: "Mapping[str, Any]") -> None:
        self.weights: dict[str, float] = values["weights"]
        self.order: dict[str, float] = values["order"]
        self.least: dict[str, float] = values["least"]
        self.whole: dict[str, float] = values["whole"]
        self.floor: float = values["floor"]
        self.deciding = frozenset(values["deciding"].split())
        self.narrating = tuple(f" {words} " for words in values["narrating"])
        self._asking, self._opening, self._past = (_list_phrases(values["asking"][name]) for name in _CUES)
        self._everyday = [(float(weight), f" {words} ") for weight, words in values["everyday"].items()]

    def weigh_everyday(self, word: str) -> float:
        """Return what a word tells in any index: 1 for one that isn't in everybody's talk."""
        digits = sum(map(str.isdigit, word))
        if digits and not any(map(str.isalpha, word)):
            return _NUMBERS.get(digits, 1.0)
        # Looking up a few words takes less than a table of thousands.
        lowered = word.lower()
        found = next((weight for weight, words in self._everyday if f" {lowered} " in words), 1.0)
        if found == 1.0 and has_unspaced(word):
            return min(next((weight for first, weight in _PAIRS if char >= first), 1.0) for char in word)
        return found

    def find_asking(self, prompt: str) -> dict[str, float]:
        """Return, as features, whether a prompt asks for something, and whether it looks back at what was.

        A word that asks stands at the beginning of a clause, or in a question; in scripts without spaces anywhere.
        """
        typed = (
            prompt
            if len(prompt) <= 2 * _TYPED_CHARS
            else f"{prompt[:_TYPED_CHARS]}\n{prompt[-_TYPED_CHARS:].partition(' ')[2]}"
        )
        clauses = list(split_clauses(typed))
        begin, anywhere = (*self._asking, *self._opening), tuple(filter(has_unspaced, self._asking))
        asks = any(
            clause.startswith(begin) or any(map(clause.__contains__, self._asking if is_question else anywhere))
            for clause, is_question in clauses
        )
        text = "".join(clause for clause, _ in clauses)
        return {"asks": float(asks), "past": float(any(map(text.__contains__, self._past)))}

    def rank(self, features: "Mapping[str, float]") -> float:
        """Return by what a part of a passage goes before others."""
        return sum(weight * features[name] for name, weight in self.order.items())

    def score(self, features: "Mapping[str, float]") -> float:
        """Return how far above the floor features are; below zero for nothing to be given."""
        return sum(weight * features[name] for name, weight in self.weights.items()) - self.floor

    def find_missed(self, features: "Mapping[str, float]") -> list[str]:
        """Return the features that are below what nothing outweighs."""
        missed = [name for name, least in self.least.items() if features[name] < least]
        is_whole = all(features[name] >= least for name, least in self.whole.items())
        return [name for name in missed if not (is_whole and name == "margin")]


def load_floor() -> Floor:
    """Read the data file."""
    with open(FILE, encoding="utf-8") as file:
        return Floor(scan_object(file.read()))


def _list_phrases(by_language: "Mapping[str, str]") -> tuple[str, ...]:
    """Return phrases as they stand in a normalized text; those of scripts without spaces stand anywhere."""
    phrases = [phrase for some in by_language.values() for phrase in some.split(", ")]
    return tuple(phrase if has_unspaced(phrase) else f" {phrase} " for phrase in phrases)
