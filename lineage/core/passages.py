"""Passages: what search finds and shows of a long text, some hundred words each. (format: Commands)"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

MOST = 1 << 20
"""How many passages a text has at most; those of a longer one are longer."""

_LENGTH = 900  # characters: about 150 words; measured, see scripts/eval
_SHORTEST_END = 300  # what is left over joins the passage before it


class Passage(NamedTuple):
    """Some text and the numbers of the first and the last turn in it, 0 where it isn't of turns."""

    text: str
    first: int = 0
    last: int = 0


def of_turns(said: Sequence[tuple[int, str]]) -> Iterable[Passage]:
    """The passages of a transcript, whose turns say this by number: consecutive turns as far as they fit, and the
    pieces of one that doesn't. A tuple, or made again each time where what is said isn't held."""
    if not isinstance(said, tuple | list):
        return _PassagesOf(said)
    return tuple(_windows(said, _length(sum(len(text) for _, text in said))))


class _PassagesOf:
    def __init__(self, said: Sequence[tuple[int, str]]) -> None:
        self._said = said

    def __iter__(self) -> Iterator[Passage]:
        return _windows(self._said, _length(sum(len(text) for _, text in self._said)))


def of_text(text: str) -> tuple[Passage, ...]:
    """The passages of a text without turns, cut between lines where that can be."""
    return tuple(map(Passage, _pieces(text.strip(), _length(len(text)))))


def _length(total: int) -> int:
    return max(_LENGTH, 2 * total // MOST + 1)


def _windows(said: Iterable[tuple[int, str]], length: int) -> Iterator[Passage]:
    window: list[tuple[int, str]] = []
    size = 0
    for number, text in said:
        if window and size + len(text) > length:
            yield _passage(window)
            window, size = [], 0
        *whole, rest = _pieces(text, length) if len(text) > length else (text,)
        for piece in whole:
            yield Passage(piece, number, number)
        window.append((number, rest))
        size += len(rest)
    if window:
        yield _passage(window)


def _passage(window: Sequence[tuple[int, str]]) -> Passage:
    return Passage("\n".join(text for _, text in window if text), window[0][0], window[-1][0])


def _pieces(text: str, length: int) -> list[str]:
    """The text in pieces of about a length, cut at the end of a line, else of a word, else anywhere."""
    pieces = []
    start = 0
    while len(text) - start > length + _SHORTEST_END:
        end = start + length
        for seam in ("\n", " "):
            place = text.rfind(seam, start + length // 2, end)
            if place > 0:
                end = place
                break
        pieces.append(text[start:end])
        start = end
    return [*pieces, text[start:]] if text[start:] else pieces
