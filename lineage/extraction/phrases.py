"""Matcher of phrases in several languages."""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain

UNSPACED = frozenset({"ja", "zh"})  # languages without spaces between words


class PhraseMatcher:
    """Two patterns for a table, language → phrases: one of whole words, one for scripts without spaces."""

    def __init__(self, table: Mapping[str, Sequence[str]]) -> None:
        self._table = table

    # Compiling takes milliseconds: it waits for the first text.
    @cached_property
    def _words(self) -> re.Pattern[str]:
        return re.compile(rf"(?<!\w)(?:{self._join(is_unspaced=False)})(?!\w)")

    @cached_property
    def _unspaced(self) -> re.Pattern[str]:
        return re.compile(self._join(is_unspaced=True))

    def _join(self, *, is_unspaced: bool) -> str:
        tables = [table for lang, table in self._table.items() if (lang in UNSPACED) == is_unspaced]
        return "|".join(dict.fromkeys(chain.from_iterable(tables))) or "(?!)"

    def matches(self, folded: str, is_unspaced: bool) -> bool:
        """Return whether the folded text holds a phrase. `is_unspaced` allows phrases of scripts without spaces."""
        return bool(self._words.search(folded) or (is_unspaced and self._unspaced.search(folded)))

    def mask(self, folded: str) -> str:
        """Return the folded text with each phrase blotted out."""
        return self._unspaced.sub("·", self._words.sub("·", folded))
