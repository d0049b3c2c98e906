"""Which statements merely repeat what a tool has said. (lessons: 18)

Taint is judged by who said it first: a tool result taints what comes after it, never what was said before.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from lineage.core.turns import TOOL, Turn
from lineage.extract.folding import folded, tokens, words_of

_RUN = 3
_HALF = 0.5
_WHOLE = 1.0

Shingle = tuple[str, ...]


class _Statement(NamedTuple):
    """A statement that is looked for: the position of its turn, its runs of three words, and the share of them that
    makes a result its source. `marks` are the longest word of each run, the longest first, and of how many it is."""

    at: int
    runs: frozenset[Shingle]
    share: float
    marks: Sequence[tuple[str, int]]

    def may_repeat(self, result: str) -> bool:
        """Whether a folded result can have the share: told by single words, before it is taken apart."""
        spare = len(self.runs) * (1 - self.share)
        for word, runs in self.marks:
            if word not in result:
                spare -= runs
                if spare < 0:
                    return False
        return bool(self.runs)

    def repeats(self, found: frozenset[Shingle]) -> bool:
        return len(self.runs & found) / (len(self.runs) or 1) >= self.share


def echoed(statements: Sequence[tuple[int, str, bool]], turns: Sequence[Turn]) -> list[str]:
    """For each statement (position of its turn, text, whether it is a sentence that the user typed) the tool that it
    repeats, "" where there is none.

    What the user typed repeats a tool if all its runs of three words stand in one earlier result; what anybody else
    says, if half of them do.
    """
    sought = [_statement(*statement) for statement in statements]
    tools = [""] * len(sought)
    for position, found, name in _results(turns, sought):
        for index, statement in enumerate(sought):
            if statement.at > position and not tools[index] and statement.repeats(found):
                tools[index] = name
    return tools


def _statement(at: int, text: str, typed: bool) -> _Statement:
    runs = frozenset(_shingles(tokens(text)))
    marks = Counter(max(run, key=lambda word: (len(word), word)) for run in runs)
    rarest_first = sorted(marks.items(), key=lambda mark: (-len(mark[0]), mark))
    return _Statement(at, runs, _WHOLE if typed else _HALF, rarest_first)


def _results(turns: Sequence[Turn], sought: Sequence[_Statement]) -> Iterator[tuple[int, frozenset[Shingle], str]]:
    """Tool results that some statement may repeat, with the runs that they share with any."""
    wanted = frozenset(run for statement in sought for run in statement.runs)
    for position, turn in enumerate(turns):
        if wanted and turn.role == TOOL:
            result = folded(turn.text)
            if any(statement.may_repeat(result) for statement in sought):
                yield position, wanted.intersection(_shingles(words_of(result))), turn.name or TOOL


def _shingles(words: Sequence[str]) -> Iterable[Shingle]:
    return zip(*(words[start:] for start in range(_RUN)), strict=False)
