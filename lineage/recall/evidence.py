"""How much of a prompt a text meets: the weight of each word, what of it stands together, and the part that says most.

A word weighs the more, the rarer it is in the index and in everyday talk. Without `re`, as a hook waits for it.
"""

import math

from lineage.core.search.language import UNSPACED
from lineage.core.search.speakers import REPLIED, TYPED, parse_speakers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

# With Tibetan, 々 and 〇, Bopomofo and single letters of Hangul, which the index doesn't cut.
_UNSPACED = (*UNSPACED, ("\u0f00", "\u0fff"), ("\u3005", "\u3007"), ("\u3100", "\u318f"))
_IN_NAMES = "/\\_."
_MIN_STEM, _MAX_ENDING = 4, 2  # letters of a word that a text has to hold, and that may differ
_NEAR = 40  # characters between two words that belong together
_BREAKS = (". ", "! ", "? ", "。", "！", "？")
_MAX_SENTENCE = 400  # characters
# What the words of the sentence before, the one before it and the next count.
_BEFORE, _SECOND, _AFTER = 0.7, 0.56, 0.35
_OPENING = 300  # characters of a reply, behind which a sentence opens it half


_SIGNS = [*map(chr, range(48)), *":;<=>?@[\\]^_`{|}~\x7f\xa0", *"…“”‘’‚„«»–—·•¿¡、。，；：！？（）「」"]
_SPACES = str.maketrans(dict.fromkeys(_SIGNS, " "))


class Word:
    """A word of the prompt: its expression, its weights, its beginning as texts have it, and the rows that hold it.

    `everyday` is the weight that it has in any index, `rarity` that in this one, `weight` what both come to, `value`
    what it says of one row rather than another. Of a common word the rows aren't all known. One that `is_pair` is of a
    script without spaces: a pair of its signs, or a run of several words.
    """

    __slots__ = ("everyday", "expression", "is_common", "is_pair", "rarity", "rows", "stem", "text", "value", "weight")

    def __init__(self, text: str, expression: str, everyday: float) -> None:
        self.text, self.expression, self.everyday = text, expression, everyday
        self.rows, self.is_common, self.is_pair = set[int](), False, has_unspaced(text)
        self.rarity, self.weight, self.value = 1.0, everyday, 1.0
        lowered = normalize(text).strip()
        is_plain = lowered.isalpha() and lowered.isascii()
        self.stem = f" {lowered[: max(_MIN_STEM, len(lowered) - _MAX_ENDING)]}" if is_plain else lowered

    @property
    def is_name(self) -> bool:
        """Whether it is an identifier, a path or a number rather than a word."""
        text = self.text
        if self.is_pair:
            return False
        # Letters of a script without cases are no capitals.
        return not text.isalpha() or (text.lower() != text.upper() and not text.istitle() and not text.islower())


def has_unspaced(word: str) -> bool:
    """Return whether some sign of a word is of a script without spaces between words, and it is no path or identifier.

    >>> [has_unspaced(word) for word in ("署名", "EdDSAに", "Über", "ở", "ქართული", "docs/設計.md")]
    [True, True, False, False, False, False]
    """
    is_word = not (word.isascii() or any(sign in word for sign in _IN_NAMES))
    return is_word and any(first <= char <= last for char in word for first, last in _UNSPACED)


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
    r"""Return the lines and sentences of a text, as they stand, each with the lines without a word that follow it.

    The number of an item belongs to the item.

    >>> split_sentences("Why? It splits.\n```\n1. Fixed in a.py.")
    ['Why? ', 'It splits.\n```\n', '1. Fixed in a.py.']
    """
    for mark in _BREAKS:
        text = text.replace(mark, f"{mark}\x00")
    parts = list[str]()
    for part in text.replace("\n", "\n\x00").split("\x00"):
        if parts and (not any(map(str.isalnum, part)) or _is_number(parts[-1])):
            parts[-1] += part
        else:
            parts.append(part)
    return parts


def _is_number(part: str) -> bool:
    return part.endswith(". ") and part[:-2].strip().isdigit()


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


def _find_speakers(parts: "Sequence[str]", messages: "Sequence[tuple[str, int]]") -> "Iterator[tuple[float, float]]":
    r"""Yield for each sentence whether a person typed it, and how near it is to the beginning of a reply.

    >>> list(_find_speakers(["Why?\n", "It splits. ", "Fixed."], [("t", 0), ("r", 5)]))
    [(1.0, 0.0), (0.0, 1.0), (0.0, 0.9646302250803859)]
    """
    at = 0
    for part in parts:
        sign, start = next((one for one in reversed(messages) if one[1] <= at), ("", 0))
        yield float(sign == TYPED), float(sign == REPLIED) / (1 + (at - start) / _OPENING)
        at += len(part)


def join_typed(text: str, speakers: str) -> str:
    r"""Return what a person typed of a text.

    >>> join_typed("Why?\nIt splits.\nAnd now?", "t0 r5 t16")
    'Why?\n And now?'
    """
    messages = parse_speakers(speakers)
    ends = [*(start for _, start in messages[1:]), len(text)]
    spans = [(max(0, start), end) for (sign, start), end in zip(messages, ends, strict=False) if sign == TYPED]
    return " ".join(text[start:end] for start, end in spans)


class FoundSentence:
    """A sentence of a text: its place, what it and those around it hold of the prompt, deciding words, its length.

    One that `leads` to what follows is a heading, or ends in a colon; one that `narrates` says what its speaker does
    next. `typed` is 1 for what a person typed, `opening` the nearer to 1, the nearer it is to the beginning of an
    agent's reply, whose first sentences say what came of it.
    """

    __slots__ = ("deciding", "leads", "length", "narrates", "opening", "place", "typed", "value")

    def __init__(self, place: int, value: float, deciding: int, part: str, narrates: bool) -> None:
        self.place, self.value, self.deciding, self.length = place, value, deciding, len(part)
        self.narrates = narrates
        self.leads = part.startswith("#") or part.rstrip().endswith(":")
        self.typed = self.opening = 0.0


class Sentences:
    """The sentences of a text, as they stand and normalized, with the words that each holds, and who speaks."""

    def __init__(self, text: str, words: "Sequence[Word]", speakers: str = "") -> None:
        parts = split_sentences(text)
        self._speakers = list(_find_speakers(parts, parse_speakers(speakers)))
        self.parts = [part[:_MAX_SENTENCE] for part in parts]
        self.normal = [normalize(part) for part in self.parts]
        self.hidden: Collection[int] = ()  # places of sentences that are given to nobody
        self._words = [[word for word in words if word.stem in part] for part in self.normal]

    @property
    def text(self) -> str:
        """The normalized text of what isn't hidden."""
        return "".join(part for place, part in enumerate(self.normal) if place not in self.hidden).strip()

    @property
    def best(self) -> float:
        """The weight of the words in the sentence with most."""
        return max(map(sum_weights, self._words), default=0.0)

    @property
    def shows_met(self) -> bool:
        """Whether a sentence that isn't hidden holds a word of the prompt."""
        return any(words for place, words in enumerate(self._words) if place not in self.hidden)

    def list_found(
        self, deciding_words: "Collection[str]", narrating: tuple[str, ...] = ()
    ) -> "Iterator[FoundSentence]":
        """Yield each sentence. What answers often stands beside what repeats the question.

        `narrating` are beginnings of normalized sentences.
        """
        values = [0.0, 0.0, *(sum({word.stem: word.value for word in found}.values()) for found in self._words), 0.0]
        for place, part in enumerate(self.normal):
            second, before, own, after = values[place : place + 4]
            near = max(_BEFORE * before, _SECOND * second, _AFTER * after)
            deciding = sum(word in deciding_words for word in part.split())
            found = FoundSentence(place, own + near, deciding, self.parts[place], part.startswith(narrating))
            found.typed, found.opening = self._speakers[place]
            yield found

    def join(self, chosen: "Collection[int]") -> str:
        """Return the chosen sentences in their order, with a mark for what is left out."""
        text, before = "", -1
        for place in sorted(chosen):
            text = f"{text}{'' if place == before + 1 else ' … '}{self.parts[place]}"
            before = place
        return f"{text.strip()}{'' if before == len(self.parts) - 1 else ' …'}"
