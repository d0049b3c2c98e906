"""Tables of phrases in several languages, compiled with the first text: it takes some milliseconds, so who uses them
keeps the result."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from lineage.extraction.cues import UNSPACED


class PhraseMatcher(NamedTuple):
    """Patterns of all languages as two: those of whole words, and those of scripts without spaces."""

    words: re.Pattern[str]
    unspaced: re.Pattern[str]

    def matches(self, folded: str, is_unspaced: bool) -> bool:
        """Whether one of them is in the folded text; `dense` says that it has characters of such a script."""
        return bool(self.words.search(folded) or (is_unspaced and self.unspaced.search(folded)))

    def mask(self, folded: str) -> str:
        """The folded text with each of them blotted out."""
        return self.unspaced.sub("·", self.words.sub("·", folded))


def compile_phrases(tables: Iterable[Mapping[str, Sequence[str]]]) -> PhraseMatcher:
    """Made of tables of language → patterns."""
    spaced: dict[str, None] = {}
    dense: dict[str, None] = {}
    for table in tables:
        for language, patterns in table.items():
            (dense if language in UNSPACED else spaced).update(dict.fromkeys(patterns))
    nothing = "(?!)"
    return PhraseMatcher(
        re.compile(rf"(?<!\w)(?:{'|'.join(spaced) or nothing})(?!\w)"), re.compile("|".join(dense) or nothing)
    )
