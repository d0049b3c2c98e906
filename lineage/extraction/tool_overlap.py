"""Which statements merely repeat what a tool has said. (lessons: 18)

Taint is judged by who said it first: a tool result taints what comes after it, never what was said before.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from lineage.core.format.turns import TOOL, Turn
from lineage.extraction.normalize import fold_text, tokenize, tokenize_folded

_SHINGLE_SIZE = 3
_MIN_OVERLAP = 0.5
_MIN_TYPED_OVERLAP = 1.0

Shingle = tuple[str, ...]


class _Statement(NamedTuple):
    """A statement that is looked for: the position of its turn, its runs of three words, and the share of them that
    makes a result its source. `marks` are the longest word of each run, the longest first, and of how many it is."""

    position: int
    shingles: frozenset[Shingle]
    min_overlap: float
    rare_words: Sequence[tuple[str, int]]

    def may_repeat(self, result: str) -> bool:
        """Whether a folded result can have the share: told by single words, before it is taken apart."""
        spare = len(self.shingles) * (1 - self.min_overlap)
        for word, runs in self.rare_words:
            if word not in result:
                spare -= runs
                if spare < 0:
                    return False
        return bool(self.shingles)

    def repeats(self, shingles: frozenset[Shingle]) -> bool:
        return len(self.shingles & shingles) / (len(self.shingles) or 1) >= self.min_overlap


def find_repeated_tools(statements: Sequence[tuple[int, str, bool]], turns: Sequence[Turn]) -> list[str]:
    """For each statement (position of its turn, text, whether it is a sentence that the user typed) the tool that it
    repeats, "" where there is none.

    What the user typed repeats a tool if all its runs of three words stand in one earlier result; what anybody else
    says, if half of them do.
    """
    sought = [_build_statement(*statement) for statement in statements]
    tools = [""] * len(sought)
    for position, found, name in _find_results(turns, sought):
        for index, statement in enumerate(sought):
            if statement.position > position and not tools[index] and statement.repeats(found):
                tools[index] = name
    return tools


def _build_statement(position: int, text: str, typed: bool) -> _Statement:
    runs = frozenset(_shingles(tokenize(text)))
    marks = Counter(max(run, key=lambda word: (len(word), word)) for run in runs)
    rarest_first = sorted(marks.items(), key=lambda mark: (-len(mark[0]), mark))
    return _Statement(position, runs, _MIN_TYPED_OVERLAP if typed else _MIN_OVERLAP, rarest_first)


def _find_results(
    turns: Sequence[Turn], statements: Sequence[_Statement]
) -> Iterator[tuple[int, frozenset[Shingle], str]]:
    """Tool results that some statement may repeat, with the runs that they share with any."""
    wanted = frozenset(run for statement in statements for run in statement.shingles)
    for position, turn in enumerate(turns):
        if wanted and turn.role == TOOL:
            result = fold_text(turn.text)
            if any(statement.may_repeat(result) for statement in statements):
                yield position, wanted.intersection(_shingles(tokenize_folded(result))), turn.name or TOOL


def _shingles(words: Sequence[str]) -> Iterable[Shingle]:
    return zip(*(words[start:] for start in range(_SHINGLE_SIZE)), strict=False)
