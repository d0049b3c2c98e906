"""Passages of long texts, about 150 words each: the units that search finds and shows (format: Commands)."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import NamedTuple

from lineage.core.base.sequences import Replayable
from lineage.core.base.templates import split_template
from lineage.core.format.turns import ASSISTANT, USER, TurnText
from lineage.core.search.index_sql import MAX_OF_KIND
from lineage.core.search.segmentation import remove_separators
from lineage.core.search.speakers import NARRATED, REPLIED, TYPED, format_speaker

_MIN_LENGTH = 900  # characters: about 150 words; measured, see scripts/eval
_SPEAKERS = (USER, ASSISTANT)  # what a harness adds is found among what tools gave, and told to nobody unasked
_MIN_REMAINDER = 300  # a shorter rest joins the passage before it


# A named tuple: a reindex makes one for every 900 characters.
class Passage(NamedTuple):
    """A text and the numbers of its first and last turn, 0 outside of transcripts.

    `of_tools` is the text that tools were given and gave, and that a harness added. `speakers` tells who speaks
    where, as `core/search/speakers.py` reads it.
    """

    text: str
    first: int = 0
    last: int = 0
    of_tools: bool = False
    speakers: str = ""


class _Text(NamedTuple):
    """A text to pack, the number of its turn, and the sign of who speaks, "" for a tool."""

    text: str
    number: int
    sign: str = ""


def split_turns(turn_texts: Sequence[TurnText], *, is_typed: bool = True) -> Iterable[Passage]:
    """Return the passages of turns: the speech, at least one, then those of tools; streamed if the turns are.

    A passage holds consecutive texts of its kind that fit, or a chunk of a long one. A person typed the prompts if
    `is_typed`, an agent those of its sub-agent.
    """
    make = partial(_iter_passages, turn_texts, TYPED if is_typed else NARRATED)
    return tuple(make()) if isinstance(turn_texts, tuple | list) else Replayable(make)


def split_text(text: str) -> tuple[Passage, ...]:
    """Return the passages of a text without turns, cut between lines if possible."""
    return tuple(map(Passage, _split_chunks(text.strip(), _passage_length(len(text)))))


def _passage_length(total: int) -> int:
    return max(_MIN_LENGTH, 2 * total // MAX_OF_KIND + 1)


def _iter_passages(turn_texts: Sequence[TurnText], asked: str) -> Iterator[Passage]:
    length = _passage_length(sum(len(one.text) for one in turn_texts))
    said = _pack(_iter_said(turn_texts, asked), length, of_tools=False)
    yield next(said, Passage(""))
    yield from said
    yield from _pack(_iter_rest(turn_texts), length, of_tools=True)


def _iter_said(turn_texts: Iterable[TurnText], asked: str) -> Iterator[_Text]:
    """Yield what was said, with its speaker; the agent replies in the last message before a prompt."""
    said = (one for one in turn_texts if one.role == USER or (one.role == ASSISTANT and one.text))
    for one, following in pairwise(chain(said, [TurnText(0, USER, "")])):
        text = split_template(one.text)[0] if one.role == USER else one.text
        if text := remove_separators(text):  # the index would lose them, and what follows be out of place
            said_by_agent = REPLIED if following.role == USER else NARRATED
            yield _Text(text, one.number, asked if one.role == USER else said_by_agent)


def _iter_rest(turn_texts: Iterable[TurnText]) -> Iterator[_Text]:
    """Yield the texts of tools, and of a person's prompts what a program made of them."""
    for one in turn_texts:
        made = split_template(one.text)[1] if one.role == USER else ""
        if made or one.role not in _SPEAKERS:
            yield _Text(made or one.text, one.number)


def _pack(texts: Iterable[_Text], length: int, *, of_tools: bool) -> Iterator[Passage]:
    window, speakers, first, last, size = list[str](), list[str](), 0, 0, 0
    for text, number, sign in texts:
        if window and size + len(text) > length:
            yield Passage("\n".join(window), first, last, of_tools, " ".join(speakers))
            window, speakers, size = [], [], 0
        *chunks, rest = _split_chunks(text, length) if len(text) > length else (text,)
        before = 0
        for chunk in chunks:
            yield Passage(chunk, number, number, of_tools, format_speaker(sign, -before) if sign else "")
            before += len(chunk)
        first, last = first if window else number, number
        # Of a message that began in an earlier passage the beginning stands before this one's.
        speakers += [format_speaker(sign, size + len(window) - before)] if sign else []
        window.append(rest)
        size += len(rest)
    if window:
        yield Passage("\n".join(window), first, last, of_tools, " ".join(speakers))


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
