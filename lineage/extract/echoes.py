"""Which statements merely repeat what a tool has said. (lessons: 18)

Taint is judged by who said it first: a tool result taints what comes after it, never what was said before.
"""

from collections.abc import Iterable, Iterator, Sequence

from lineage.core.turns import TOOL, Turn
from lineage.extract.folding import tokens

_RUN = 3
_HALF = 0.5
_WHOLE = 1.0

Shingle = tuple[str, ...]


def echoed(statements: Sequence[tuple[int, str, bool]], turns: Sequence[Turn]) -> list[str]:
    """For each statement (position of its turn, text, whether it is a sentence that the user typed) the tool that it
    repeats, "" where there is none.

    What the user typed repeats a tool if all its runs of three words stand in one earlier result; what anybody else
    says, if half of them do.
    """
    texts = [frozenset(_shingles(text)) for _, text, _ in statements]
    wanted = frozenset(run for shingles in texts for run in shingles)
    tools = [""] * len(statements)
    for position, found, name in _results(turns, wanted):
        for index, (at, _, typed) in enumerate(statements):
            share = len(texts[index] & found) / (len(texts[index]) or 1)
            if at > position and not tools[index] and share >= (_WHOLE if typed else _HALF):
                tools[index] = name
    return tools


def _results(turns: Sequence[Turn], wanted: frozenset[Shingle]) -> Iterator[tuple[int, frozenset[Shingle], str]]:
    """Tool results that share a run of words with some statement."""
    for position, turn in enumerate(turns):
        if wanted and turn.role == TOOL:
            found = wanted.intersection(_shingles(turn.text))
            if found:
                yield position, found, turn.name or TOOL


def _shingles(text: str) -> Iterable[Shingle]:
    words = tokens(text)
    return zip(*(words[start:] for start in range(_RUN)), strict=False)
