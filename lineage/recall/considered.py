"""The rows that come into question for a prompt: their ranks among those of a project, and their features.

Without `re` and the like, as a hook waits for it.
"""

import math
import sqlite3

from lineage import full_text
from lineage.core.search.index_sql import MAX_PASSAGES
from lineage.full_text import TextRow
from lineage.recall.echoes import find_echoes
from lineage.recall.evidence import (
    FoundSentence,
    Sentences,
    Word,
    join_typed,
    normalize,
    share_of_pairs,
    sum_weights,
    weigh,
)
from lineage.recall.floor import Floor
from lineage.recall.reader import PASSAGE, FoundRow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_TELLING = 14  # words: a long prompt needs not be met whole
_CONSIDERED = 12  # of those that were read
_SHORT = 30  # characters: a sentence that is said again by chance
_NOISE = 0.25  # of a prompt: what some row of other projects meets by chance
_MAX_MARGIN = 1.5
_OF_PAIRS = 0.67  # words that a pair of signs makes
_OF_BEFORE = (1.0, 0.6)  # what was typed in the passage before one counts, and in the one before that
_NAMING, _MAX_NAMES = 0.3, 3  # the weight in any index of a name that tells, and how many tell more than one
_AMONG, _TOGETHER, _DECIDING = 0.7, 0.5, 0.025  # rarity among them, pairs of words, and each word that settles a thing
_MAX_DECIDING = 4


class ConsideredRow:
    """A row to judge: its features, its distance above the floor, and the verdict.

    `follows` is how much of the prompt a person typed before it: behind what asks the same stands what answers it.
    """

    __slots__ = (
        "features", "follows", "is_above", "is_checked", "met", "missed", "row", "score", "sentences", "total",
        "verdict",
    )  # fmt: skip

    def __init__(self, row: FoundRow, met: "list[Word]", total: float, text: TextRow) -> None:
        self.row, self.met, self.total = row, met, total
        self.sentences = Sentences(text.body, met, text.speakers)
        self.follows = 0.0
        self.features: dict[str, float] = {}
        self.score, self.missed, self.verdict = 0.0, list[str](), ""
        self.is_above = self.is_checked = False

    @property
    def id(self) -> str:
        """What tells it from others, also after the index was built anew."""
        return self.row.owner if self.row.number < 0 else f"{self.row.owner}/{self.row.number % MAX_PASSAGES}"

    def measure(self, sentence: FoundSentence) -> dict[str, float]:
        """Return the features of a sentence of it."""
        deciding = min(2, sentence.deciding) / 2
        return {
            "rank": self.features["rank"],
            "score": self.score,
            "value": sentence.value / self.total,
            "deciding": deciding,
            "leads": float(sentence.leads),
            "narrates": float(sentence.narrates),
            "typed": sentence.typed,
            "opening": sentence.opening,
            "follows": self.follows,
        }

    def hide_echoes(self, connection: sqlite3.Connection) -> None:
        """Hide the sentences of a passage that a tool printed first."""
        # Few passages are asked: to look up what tools printed takes longer than all else.
        if self.row.kind == PASSAGE and not self.is_checked:
            self.is_checked = True
            self.sentences.hidden = find_echoes(connection, self.row, self.sentences.parts)

    def repeats(self, other: "ConsideredRow") -> bool:
        """Return whether most of a passage stands in another one: a resumed session says again what it said."""
        own = {part for part in self.sentences.normal if len(part) > _SHORT}
        repeated = own.intersection(other.sentences.normal)
        return self.row.kind == other.row.kind == PASSAGE and 2 * len(repeated) > len(own)

    def says(self, other: "ConsideredRow", connection: sqlite3.Connection) -> bool:
        """Return whether all that another one says stands in it, and shows."""
        text = other.sentences.text
        if text in self.sentences.text:
            self.hide_echoes(connection)
        return text in self.sentences.text


def consider(
    connection: sqlite3.Connection,
    found_words: "Sequence[Word]",
    own: "Sequence[FoundRow]",
    others: "Sequence[int]",
    floor: Floor,
    asking: dict[str, float],
) -> list[ConsideredRow]:
    """Return the best of a project's own rows with their features, none that repeats a better one.

    `others` are rows of other projects, which tell what chance meets of a prompt; `asking` its features. Raise
    `sqlite3.Error`.
    """
    total = sum_weights(found_words, _TELLING) or 1.0
    read = full_text.read_rows(connection, [*(row.number for row in own), *others])
    texts = {row.number: row for row in read}
    noise = max((sum_weights(_find_met(found_words, row, texts[row].body)) for row in others), default=0.0) / total
    ranked = _rank_rows(found_words, own, texts, floor)
    values = _list_values(found_words)
    total_value = sum(values.values())
    candidates = list[ConsideredRow]()
    for row, rank in ranked:
        if len(candidates) == _CONSIDERED:
            break
        text = texts[row.number]
        one = ConsideredRow(row, _find_met(found_words, row.number, text.body), total_value, text)
        if not any(map(one.repeats, candidates)):
            one.features = {"rank": rank, **_build_features(one, found_words, total, noise), **asking}
            candidates.append(one)
    _measure_what_was_asked(connection, values, candidates)
    return candidates


def _count_words(found_words: "Sequence[Word]") -> float:
    """Return how many words a prompt has. Pairs of signs of a script without spaces overlap, and some tell nothing."""
    return max(1.0, sum(word.everyday * _OF_PAIRS if word.is_pair else 1.0 for word in found_words))


def _build_features(one: ConsideredRow, found_words: "Sequence[Word]", total: float, noise: float) -> dict[str, float]:
    """Return the features of a row. `total` is the weight of the prompt, `noise` the part that other projects meet."""
    met = sum_weights(one.met)
    coverage = min(1.0, met / total)
    title = normalize(one.row.title)
    in_title = [word for word in one.met if word.stem in title]
    return {
        "coverage": coverage,
        "information": math.log1p(met),
        # A word alone is no topic, unless it is a name.
        "words": sum({word.stem: 1 + word.is_name for word in one.met}.values()),
        "sentence": one.sentences.best / total,
        "margin": min(_MAX_MARGIN, math.log(max(coverage, 0.01) / max(noise, _NOISE))),
        "length": math.log(_count_words(found_words)),
        "names": min(_MAX_NAMES, len({word.stem for word in one.met if word.is_name and word.everyday > _NAMING})),
        "title": sum_weights(in_title) / (sum_weights(found_words) or 1.0),
    }


def _rank_rows(
    found_words: "Sequence[Word]", own: "Sequence[FoundRow]", texts: "dict[int, TextRow]", floor: Floor
) -> "list[tuple[FoundRow, float]]":
    """Return rows with their ranks, the best first.

    A word that most of a project's own passages hold doesn't say which of them answers, however rare it is elsewhere.
    """
    normal = {row.number: normalize(texts[row.number].body) for row in own}
    for word in found_words:
        word.value = word.rarity + _AMONG * weigh(sum(word.stem in text for text in normal.values()), len(normal))
    values = _list_values(found_words)
    total = sum(values.values())
    ranks = []
    for row in own:
        text = normal[row.number]
        deciding = min(_MAX_DECIDING, len(floor.deciding.intersection(text.split())))
        met = _sum_met(values, text) / total
        ranks.append((row, met + _TOGETHER * share_of_pairs(found_words, text) + _DECIDING * deciding))
    return sorted(ranks, key=lambda one: (-one[1], one[0].at, one[0].number))


def _list_values(found_words: "Sequence[Word]") -> dict[str, float]:
    """Return the value of each stem once: a path and its parts tell the same."""
    return {word.stem: word.value for word in found_words}


def _sum_met(values: dict[str, float], text: str) -> float:
    """Return the value of the stems that a normalized text holds."""
    return sum(value for stem, value in values.items() if stem in text)


def _measure_what_was_asked(
    connection: sqlite3.Connection, values: dict[str, float], candidates: "Sequence[ConsideredRow]"
) -> None:
    """Tell each passage how much of the prompt a person typed in the two before it; the second counts less."""
    before = {
        one.row.number: [
            one.row.number - back for back in range(1, min(len(_OF_BEFORE), one.row.number % MAX_PASSAGES) + 1)
        ]
        for one in candidates
        if one.row.kind == PASSAGE
    }
    typed = {
        row.number: normalize(join_typed(row.body, row.speakers))
        for row in full_text.read_rows(connection, {number for numbers in before.values() for number in numbers})
    }
    for one in candidates:
        for number, part in zip(before.get(one.row.number, ()), _OF_BEFORE, strict=False):
            one.follows = max(one.follows, part * _sum_met(values, typed.get(number, "")) / one.total)


def _find_met(found_words: "Sequence[Word]", row: int, text: str) -> list[Word]:
    """Return the words that a row holds; of common words not all rows are known, so its text is asked."""
    normal = normalize(text) if any(word.is_common for word in found_words) else ""
    return [word for word in found_words if (word.stem in normal if word.is_common else row in word.rows)]
