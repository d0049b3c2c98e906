"""Passages of long texts, about 150 words each: the units that search finds and shows (format: Commands)."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from lineage.core.base.sequences import Replayable
from lineage.core.base.templates import split_template
from lineage.core.format.turns import ASSISTANT, USER, TurnText
from lineage.core.search.index_sql import MAX_OF_KIND

_MIN_LENGTH = 900  # characters: about 150 words; measured, see scripts/eval
_SPEAKERS = (USER, ASSISTANT)  # what a harness adds is found among what tools gave, and told to nobody unasked
_MIN_REMAINDER = 300  # a shorter rest joins the passage before it


# A named tuple: a reindex makes one for every 900 characters.
class Passage(NamedTuple):
    """A text and the numbers of its first and last turn, 0 outside of transcripts.

    `of_tools` is the text that tools were given and gave, and that a harness added.
    """

    text: str
    first: int = 0
    last: int = 0
    of_tools: bool = False


def split_turns(turn_texts: Sequence[TurnText]) -> Iterable[Passage]:
    """Return the passages of turns: the speech, at least one, then those of tools; streamed if the turns are.

    A passage holds consecutive texts of its kind that fit, or a chunk of a long one.
    """
    is_held = isinstance(turn_texts, tuple | list)
    return tuple(_iter_passages(turn_texts)) if is_held else Replayable(partial(_iter_passages, turn_texts))


def split_text(text: str) -> tuple[Passage, ...]:
    """Return the passages of a text without turns, cut between lines if possible."""
    return tuple(map(Passage, _split_chunks(text.strip(), _passage_length(len(text)))))


def _passage_length(total: int) -> int:
    return max(_MIN_LENGTH, 2 * total // MAX_OF_KIND + 1)


def _iter_passages(turn_texts: Sequence[TurnText]) -> Iterator[Passage]:
    length = _passage_length(sum(len(one.text) for one in turn_texts))
    said = _pack(_iter_texts(turn_texts, of_tools=False), length, of_tools=False)
    yield next(said, Passage(""))
    yield from said
    yield from _pack(_iter_texts(turn_texts, of_tools=True), length, of_tools=True)


def _iter_texts(turn_texts: Iterable[TurnText], *, of_tools: bool) -> Iterator[TurnText]:
    """Yield what was said, or the rest: texts of tools, and of a person's prompts what a program made of them."""
    for one in turn_texts:
        typed, made = split_template(one.text) if one.role == USER else (one.text, "")
        if one.role in _SPEAKERS and typed and not of_tools:
            yield one._replace(text=typed)
        elif of_tools and (made or one.role not in _SPEAKERS):
            yield one._replace(text=made or one.text)


def _pack(turn_texts: Iterable[TurnText], length: int, *, of_tools: bool) -> Iterator[Passage]:
    window, first, last, size = list[str](), 0, 0, 0
    for one in turn_texts:
        number, text = one.number, one.text
        if window and size + len(text) > length:
            yield Passage("\n".join(window), first, last, of_tools)
            window, size = [], 0
        *chunks, rest = _split_chunks(text, length) if len(text) > length else (text,)
        for chunk in chunks:
            yield Passage(chunk, number, number, of_tools)
        first, last = first if window else number, number
        window.append(rest)
        size += len(rest)
    if window:
        yield Passage("\n".join(window), first, last, of_tools)


def _split_chunks(text: str, length: int) -> list[str]:
    """Return the text in chunks of about a length, cut at the end of a line, else of a word, else anywhere."""
    chunks = []
    start = 0
    while len(text) - start > length + _MIN_REMAINDER:
        end = start + length
        for separator in ("\n", " "):
            position = text.rfind(separator, start + length // 2, end)
            if position > 0:
                end = position
                break
        chunks.append(text[start:end])
        start = end
    return [*chunks, text[start:]] if text[start:] else chunks
