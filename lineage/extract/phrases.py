"""Tables of phrases in several languages, compiled with the first text: it takes some milliseconds, so who uses them
keeps the result."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from lineage.extract.cues import DENSE


class Phrases(NamedTuple):
    """Patterns of all languages as two: those of whole words, and those of scripts without spaces."""

    words: re.Pattern[str]
    dense: re.Pattern[str]

    def found(self, folded: str, dense: bool) -> bool:
        """Whether one of them is in the folded text; `dense` says that it has characters of such a script."""
        return bool(self.words.search(folded) or (dense and self.dense.search(folded)))

    def without(self, folded: str) -> str:
        """The folded text with each of them blotted out."""
        return self.dense.sub("·", self.words.sub("·", folded))


def phrases(tables: Iterable[Mapping[str, Sequence[str]]]) -> Phrases:
    """Made of tables of language → patterns."""
    spaced: dict[str, None] = {}
    dense: dict[str, None] = {}
    for table in tables:
        for language, patterns in table.items():
            (dense if language in DENSE else spaced).update(dict.fromkeys(patterns))
    nothing = "(?!)"
    return Phrases(
        re.compile(rf"(?<!\w)(?:{'|'.join(spaced) or nothing})(?!\w)"), re.compile("|".join(dense) or nothing)
    )
