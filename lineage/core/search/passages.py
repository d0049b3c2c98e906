"""Passages: what search finds and shows of a long text, some hundred words each. (format: Commands)"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

MAX_PASSAGES = 1 << 20
"""How many passages a text has at most; those of a longer one are longer."""

_MIN_LENGTH = 900  # characters: about 150 words; measured, see scripts/eval
_MIN_REMAINDER = 300  # what is left over joins the passage before it


class Passage(NamedTuple):
    """Some text and the numbers of the first and the last turn in it, 0 where it isn't of turns."""

    text: str
    first: int = 0
    last: int = 0


def split_turns(turn_texts: Sequence[tuple[int, str]]) -> Iterable[Passage]:
    """The passages of a transcript, whose turns say this by number: consecutive turns as far as they fit, and the
    pieces of one that doesn't. A tuple, or made again each time where what is said isn't held."""
    if not isinstance(turn_texts, tuple | list):
        return _StreamedPassages(turn_texts)
    return tuple(_iter_passages(turn_texts, _passage_length(sum(len(text) for _, text in turn_texts))))


class _StreamedPassages:
    def __init__(self, turn_texts: Sequence[tuple[int, str]]) -> None:
        self._turn_texts = turn_texts

    def __iter__(self) -> Iterator[Passage]:
        return _iter_passages(self._turn_texts, _passage_length(sum(len(text) for _, text in self._turn_texts)))


def split_text(text: str) -> tuple[Passage, ...]:
    """The passages of a text without turns, cut between lines where that can be."""
    return tuple(map(Passage, _split_chunks(text.strip(), _passage_length(len(text)))))


def _passage_length(total: int) -> int:
    return max(_MIN_LENGTH, 2 * total // MAX_PASSAGES + 1)


def _iter_passages(turn_texts: Iterable[tuple[int, str]], length: int) -> Iterator[Passage]:
    window: list[tuple[int, str]] = []
    size = 0
    for number, text in turn_texts:
        if window and size + len(text) > length:
            yield _build_passage(window)
            window, size = [], 0
        *whole, rest = _split_chunks(text, length) if len(text) > length else (text,)
        for piece in whole:
            yield Passage(piece, number, number)
        window.append((number, rest))
        size += len(rest)
    if window:
        yield _build_passage(window)


def _build_passage(window: Sequence[tuple[int, str]]) -> Passage:
    return Passage("\n".join(text for _, text in window if text), window[0][0], window[-1][0])


def _split_chunks(text: str, length: int) -> list[str]:
    """The text in pieces of about a length, cut at the end of a line, else of a word, else anywhere."""
    pieces = []
    start = 0
    while len(text) - start > length + _MIN_REMAINDER:
        end = start + length
        for seam in ("\n", " "):
            place = text.rfind(seam, start + length // 2, end)
            if place > 0:
                end = place
                break
        pieces.append(text[start:end])
        start = end
    return [*pieces, text[start:]] if text[start:] else pieces
