"""Seeded prose: common words are common and rare words rare (Zipf), as in real text."""

from itertools import accumulate
from random import Random

_VOCABULARY = 30_000
_SENTENCES = 12_000
_ONSETS = [*"bcdfghjklmnprstvwz", "br", "cl", "dr", "fl", "gr", "pl", "pr", "sk", "sp", "st", "tr", "sh", "ch", "th"]
_VOWELS = [*"aeiou", "ai", "ea", "ou", "io"]
_CODAS = ["", "", "n", "r", "s", "t", "l", "m", "ck", "nd", "st", "ng"]
_SUFFIXES = ("py", "md", "ts", "toml", "rs")


class Prose:
    """Sentences over one vocabulary. The same seed gives the same text."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.vocabulary = self._words()
        weights = list(accumulate(1 / (rank + 2.7) for rank in range(_VOCABULARY)))
        lengths = self.random.choices(range(5, 22), k=_SENTENCES)
        drawn = iter(self.random.choices(self.vocabulary, cum_weights=weights, k=sum(lengths)))
        self._sentences = [" ".join(next(drawn) for _ in range(length)).capitalize() + "." for length in lengths]

    def sentence(self) -> str:
        return self.random.choice(self._sentences)

    def text(self, characters: int) -> str:
        """About so many characters: sentences, several to a line."""
        count = max(1, characters // 80)
        chosen = self.random.choices(self._sentences, k=count)
        return "\n".join(" ".join(chosen[start : start + 4]) for start in range(0, count, 4))

    def file_name(self) -> str:
        first, second = self.random.choices(self.vocabulary, k=2)
        return f"src/{first}/{second}.{self.random.choice(_SUFFIXES)}"

    def identifier(self) -> str:
        """The shape of a UUID."""
        digits = f"{self.random.getrandbits(128):032x}"
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    def _words(self) -> list[str]:
        words: dict[str, None] = {}
        while len(words) < _VOCABULARY:
            syllables = self.random.choices((1, 2, 3), weights=(1, 4, 3))[0]
            words["".join(self._syllable() for _ in range(syllables))] = None
        return sorted(words, key=lambda word: (len(word), word))

    def _syllable(self) -> str:
        return "".join(map(self.random.choice, (_ONSETS, _VOWELS, _CODAS)))
