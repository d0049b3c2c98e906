"""Tables of phrases in several languages, compiled into matchers.

Compiling takes milliseconds: callers compile with the first text and keep the matcher.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lineage.extraction.cues import UNSPACED

_NOTHING = "(?!)"


@dataclass(frozen=True, slots=True)
class PhraseMatcher:
    """Two patterns for all languages: one of whole words, one for scripts without spaces."""

    words: re.Pattern[str]
    unspaced: re.Pattern[str]

    def matches(self, folded: str, is_unspaced: bool) -> bool:
        """Return whether the folded text holds a phrase. `is_unspaced` allows phrases of scripts without spaces."""
        return bool(self.words.search(folded) or (is_unspaced and self.unspaced.search(folded)))

    def mask(self, folded: str) -> str:
        """Return the folded text with each phrase blotted out."""
        return self.unspaced.sub("·", self.words.sub("·", folded))


def compile_phrases(patterns: Mapping[str, Sequence[str]]) -> PhraseMatcher:
    """Return the matcher of a table, language → patterns."""
    words: dict[str, None] = {}
    unspaced: dict[str, None] = {}
    for language, phrases in patterns.items():
        (unspaced if language in UNSPACED else words).update(dict.fromkeys(phrases))
    return PhraseMatcher(
        re.compile(rf"(?<!\w)(?:{'|'.join(words) or _NOTHING})(?!\w)"), re.compile("|".join(unspaced) or _NOTHING)
    )
