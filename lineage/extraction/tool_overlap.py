"""Detection of statements that merely repeat a tool result (lessons: 18).

The first speaker decides: a tool result taints statements after it, never those before it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lineage.core.format.turns import TOOL, Turn
from lineage.extraction.normalize import fold_text, tokenize, tokenize_folded

_SHINGLE_SIZE = 3
_MIN_OVERLAP = 0.5
_MIN_TYPED_OVERLAP = 1.0  # typed words are the user's, unless all of them are copied

Shingle = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Statement:
    """A statement to look for in tool results.

    `min_overlap` is the share of its shingles that makes a result its source. `rare_words` are (longest word of a
    shingle, number of shingles with it), the longest first.
    """

    position: int
    shingles: frozenset[Shingle]
    min_overlap: float
    rare_words: Sequence[tuple[str, int]]

    def may_repeat(self, result: str) -> bool:
        """Return whether a folded result can reach the overlap, judged by single words before it is tokenized."""
        spare = len(self.shingles) * (1 - self.min_overlap)
        for word, count in self.rare_words:
            if word not in result:
                spare -= count
                if spare < 0:
                    return False
        return bool(self.shingles)

    def repeats(self, shingles: frozenset[Shingle]) -> bool:
        """Return whether a result with these shingles is the statement's source."""
        return len(self.shingles & shingles) / (len(self.shingles) or 1) >= self.min_overlap


def find_repeated_tools(statements: Sequence[tuple[int, str, bool]], turns: Sequence[Turn]) -> list[str]:
    """Return for each statement the name of the tool that it repeats, "" for none.

    A statement is (position of its turn, text, whether the user typed it). A typed one repeats a tool if all its
    shingles of three words stand in one earlier result, any other if half of them do.
    """
    sought = [_build_statement(*statement) for statement in statements]
    tools = [""] * len(sought)
    for position, shingles, name in _find_results(turns, sought):
        for index, statement in enumerate(sought):
            if statement.position > position and not tools[index] and statement.repeats(shingles):
                tools[index] = name
    return tools


def _build_statement(position: int, text: str, is_typed: bool) -> _Statement:
    shingles = frozenset(_shingles(tokenize(text)))
    counts = Counter(max(shingle, key=lambda word: (len(word), word)) for shingle in shingles)
    rarest_first = sorted(counts.items(), key=lambda item: (-len(item[0]), item))
    return _Statement(position, shingles, _MIN_TYPED_OVERLAP if is_typed else _MIN_OVERLAP, rarest_first)


def _find_results(
    turns: Sequence[Turn], statements: Sequence[_Statement]
) -> Iterator[tuple[int, frozenset[Shingle], str]]:
    """Yield position, shared shingles and name of each tool result that a statement may repeat."""
    wanted = frozenset(shingle for statement in statements for shingle in statement.shingles)
    for position, turn in enumerate(turns):
        if wanted and turn.role == TOOL:
            result = fold_text(turn.text)
            if any(statement.may_repeat(result) for statement in statements):
                yield position, wanted.intersection(_shingles(tokenize_folded(result))), turn.name or TOOL


def _shingles(words: Sequence[str]) -> Iterable[Shingle]:
    return zip(*(words[start:] for start in range(_SHINGLE_SIZE)), strict=False)
