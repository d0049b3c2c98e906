"""How much of a prompt a text meets: the weight of each word, what of it stands together, and the part that says most.

A word weighs the more, the rarer it is in the index and in everyday talk. Without `re`, as a hook waits for it.
"""

import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

_MIN_STEM, _MAX_ENDING = 4, 2  # letters of a word that a text has to hold, and that may differ
_NEAR = 40  # characters between two words that belong together
_BREAKS = (". ", "! ", "? ", ": ", "; ", "。", "！", "？")
_WINDOW, _MAX_SENTENCE = 120, 400  # characters


_SIGNS = [*map(chr, range(48)), *":;<=>?@[\\]^_`{|}~\x7f\xa0", *"…“”‘’‚„«»–—·•¿¡、。，；：！？（）「」"]
_SPACES = str.maketrans(dict.fromkeys(_SIGNS, " "))


class Word:
    """A word of the prompt: its expression, its weight, its beginning as texts have it, and the rows that hold it.

    `everyday` is the weight that it has in any index; of a common word the rows aren't all known.
    """

    __slots__ = ("everyday", "expression", "is_common", "rows", "stem", "text", "weight")

    def __init__(self, text: str, expression: str, everyday: float) -> None:
        self.text, self.expression, self.everyday = text, expression, everyday
        self.rows, self.is_common, self.weight = set[int](), False, everyday
        lowered = normalize(text).strip()
        is_plain = lowered.isalpha() and lowered.isascii()
        self.stem = f" {lowered[: max(_MIN_STEM, len(lowered) - _MAX_ENDING)]}" if is_plain else lowered

    @property
    def is_name(self) -> bool:
        """Whether it is an identifier, a path or a number rather than a word."""
        text = self.text
        return not text.isalpha() or (len(text) > 1 and not text.istitle() and not text.islower())


def weigh(rows: int, of: int) -> float:
    """Return the weight of a word that so many of all rows hold, from about 0 for all to 1 for one.

    >>> [round(weigh(rows, 1000), 2) for rows in (0, 1, 30, 1000)]
    [1.0, 0.94, 0.51, 0.05]
    """
    return min(1.0, max(0.05, math.log((of + 1) / (rows + 0.5)) / math.log(of + 1))) if of else 1.0


def normalize(text: str) -> str:
    """Return a text in lower case with one space for what stands between words, and one at each end."""
    return f" {' '.join(text.lower().translate(_SPACES).split())} "


def sum_weights(words: "Collection[Word]", most: int | None = None) -> float:
    """Return the weight of words, or of the heaviest of them, each stem once: a path and its parts tell the same."""
    weights = {word.stem: word.weight for word in words}.values()
    return sum(weights if most is None else sorted(weights, reverse=True)[:most])


def split_sentences(text: str) -> list[str]:
    r"""Return the lines and sentences of a text, as they stand.

    >>> split_sentences("Why? It splits.\nFixed in a.py.")
    ['Why? ', 'It splits.\n', 'Fixed in a.py.']
    """
    for mark in _BREAKS:
        text = text.replace(mark, f"{mark}\x00")
    return [part for part in text.replace("\n", "\n\x00").split("\x00") if part]


def share_of_pairs(words: "Sequence[Word]", text: str) -> float:
    """Return the share of neighbouring words of the prompt that stand near each other in a normalized text."""
    pairs = [(words[place], words[place + 1]) for place in range(len(words) - 1)]
    return sum(_stand_near(one.stem, other.stem, text) for one, other in pairs) / len(pairs) if pairs else 0.0


def _stand_near(one: str, other: str, text: str) -> bool:
    at = text.find(one)
    while at >= 0:
        if text.find(other, max(0, at - _NEAR), at + len(one) + _NEAR) >= 0:
            return True
        at = text.find(one, at + 1)
    return False


class SentenceWindow:
    """Consecutive sentences of a text: which, what they hold of the prompt, how many deciding words, how long."""

    __slots__ = ("deciding", "end", "length", "start", "weight")

    def __init__(self, start: int, end: int, weight: float, deciding: int, length: int) -> None:
        self.start, self.end, self.weight, self.deciding, self.length = start, end, weight, deciding, length


class Sentences:
    """The sentences of a text with the words of the prompt that each holds."""

    def __init__(self, text: str, words: "Collection[Word]") -> None:
        self.parts = [part[:_MAX_SENTENCE] for part in split_sentences(text)]
        self.normal = [normalize(part) for part in self.parts]
        self.hidden: Collection[int] = ()  # places of sentences that are in no window
        self._words = [{word.stem: word.weight for word in words if word.stem in part} for part in self.normal]

    @property
    def text(self) -> str:
        """The normalized text of what isn't hidden."""
        return "".join(part for place, part in enumerate(self.normal) if place not in self.hidden).strip()

    @property
    def best(self) -> float:
        """The weight of the words in the sentence with most."""
        return max((sum(found.values()) for found in self._words), default=0.0)

    def list_windows(self, deciding_words: "Collection[str]") -> "Iterator[SentenceWindow]":
        """Yield the window from each sentence on, without the hidden ones."""
        deciding = [sum(word in deciding_words for word in part.split()) for part in self.normal]
        for start in (place for place in range(len(self.parts)) if place not in self.hidden):
            found, length, end = dict(self._words[start]), len(self.parts[start]), start + 1
            while end < len(self.parts) and end not in self.hidden and length + len(self.parts[end]) <= _WINDOW:
                found |= self._words[end]
                length += len(self.parts[end])
                end += 1
            yield SentenceWindow(start, end, sum(found.values()), sum(deciding[start:end]), length)

    def join(self, chosen: "Collection[int]") -> str:
        """Return the chosen sentences in their order, with a mark for what is left out."""
        text, before = "", -1
        for place in sorted(chosen):
            text = f"{text}{'' if place == before + 1 else ' … '}{self.parts[place]}"
            before = place
        return f"{text.strip()}{'' if before == len(self.parts) - 1 else ' …'}"
