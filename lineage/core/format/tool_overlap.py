"""Overlap with tool output: the one definition for all of lineage (reliability: poisoned memory, overlap).

A sentence overlaps if it shares a run of six words, or half of its runs of three words, with a tool result that is not
the echo of the agent's own input. A path or an identifier is one word, and a sign of a script without spaces is a part
of one, unless the agent joined what a tool printed apart: else each sentence about a file that a tool listed would be
the tool's. The first speaker decides, run by run: words that the agent gave a tool before any tool printed them are its
own, and a result taints the statements after it, never those before it. Of text that a transcript left out only
fingerprints are known, of what tools printed elsewhere only what the index holds: there a run of eight words decides,
of five beside a path, of twelve signs; shorter ones may. What stands between the words of a page's source counts as
little as what stands between those of a sentence: both are compared as they are, and as they are read.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import NamedTuple

from lineage.core.base import word_runs
from lineage.core.base.normalize import tokenize, tokenize_folded
from lineage.core.base.unwrap import fold_readings, list_readings
from lineage.core.format import fingerprints as prints
from lineage.core.format.clipping import is_overlong
from lineage.core.format.foreign_names import find_first, find_names
from lineage.core.format.turns import ASSISTANT, TOOL, USER, Turn, TurnText

SHINGLE_WORDS = 3
RUN_WORDS = 6
_RUN_SHINGLES = RUN_WORDS - SHINGLE_WORDS + 1

_PATH_SIGNS = re.compile(r"[\\/]+")

_MAX_RUNS = 1 << 18  # of an artifact: those of a few megabytes of text
_PIECES = re.compile(r"((?<=[.!?…])[\"'”’»)\]*_`]*\s+|(?<=[。！？]))")
_WORD = re.compile(r"\w")

# Claude Code writes a person's reason for refusing a call as that call's result. Its own tools' errors begin otherwise.
_REFUSAL = "The user doesn't want to proceed with this tool use."
_SERVER = "mcp__"

Shingle = tuple[str, ...]


class Statement(NamedTuple):
    """A text to look for in tool results: the position of its turn, and whether a person typed it."""

    position: int
    text: str
    is_typed: bool = False


class ToolText(NamedTuple):
    """A text that a tool was given, or gave. `fingerprints` are those of its cut."""

    position: int
    text: str
    is_result: bool
    name: str = TOOL
    fingerprints: str = ""


class FoldedTexts(dict[str, str]):
    """The readings of texts: a capture looks through each several times."""

    def __missing__(self, text: str) -> str:
        """Return the readings of a text, and keep them."""
        self[text] = folded = fold_readings(text)
        return folded


def fold_once(texts: Sequence[object], folded: FoldedTexts | None = None) -> Callable[[str], str]:
    """Return a function that folds a text. It keeps the results of texts in memory, and of others none."""
    return (FoldedTexts() if folded is None else folded).__getitem__ if isinstance(texts, tuple) else fold_readings


@dataclass(frozen=True, slots=True)
class ToolEvidence:
    """The printed texts of tools in a session's turns, to judge statements by.

    `offset` is the position of the first turn whose statements count.
    """

    turns: Sequence[Turn]
    offset: int = 0
    _folded: FoldedTexts = field(default_factory=FoldedTexts, kw_only=True, compare=False, repr=False)

    def find_tools(self, statements: Sequence[Statement]) -> list[str]:
        """Return for each statement the name of the tool that it repeats, "" for none."""
        moved = [one._replace(position=one.position + self.offset) for one in statements]
        return find_repeated_tools(moved, iter_tool_texts(self.turns), fold_once(self.turns, self._folded))

    def find_waiting(self, statements: Sequence[Statement]) -> list[bool]:
        """Return for each statement of an agent whether a person has to confirm it.

        It has a name that a tool brought first, or a result was too long to compare all of it.
        """
        if statements and has_overlong_result(self.turns):
            return [True] * len(statements)
        names = [find_names(one.text) for one in statements]
        brought = dict(find_first(frozenset().union(*names), map(_to_named, range(len(self.turns)), self.turns)))
        return [
            any(brought.get(name, len(self.turns)) < one.position + self.offset for name in own)
            for one, own in zip(statements, names, strict=True)
        ]

    def find_call(self, text: str) -> int | None:
        """Return the position of the last call of a tool that was given a text, None for none."""
        given = (one._replace(is_result=True) for one in iter_tool_texts(self.turns) if not one.is_result)
        sought = [Statement(len(self.turns), text)]
        return max((one.position for one in given if any(find_repeated_tools(sought, [one]))), default=None)

    def clean(self, text: str, position: int | None = None) -> str:
        """Return a text by the agent without the sentences that repeat a tool; by default one after all turns."""
        return self.clean_all([text], position)[0]

    def clean_all(self, texts: Sequence[str], position: int | None = None) -> list[str]:
        """Return texts as `clean` does, after one look at the tools' texts."""
        place = len(self.turns) if position is None else position
        parts = [part for text in texts for part in split_pieces(text)]
        windows = list(_iter_windows(parts))
        joined = (" ".join(parts[index] for index in window) for window in windows)
        tools = self.find_tools([Statement(place, part) for part in (*parts, *joined)])
        repeated = {
            index for window, tool in zip(windows, tools[len(parts) :], strict=True) if tool for index in window
        }
        flags = (bool(tool) or index in repeated for index, tool in enumerate(tools[: len(parts)]))
        return [_drop_sentences(text, flags) for text in texts]


def _to_named(position: int, turn: Turn) -> tuple[int, bool, str]:
    inputs = (text for part in turn.parts for text in (part.old or "", part.text))
    return position, turn.role == TOOL, "\n".join((turn.unclipped or turn.text, turn.input, *inputs))


@dataclass(frozen=True, slots=True)
class _Sought:
    """A statement's words with their units, and its runs of three, in order.

    `min_shared` is the least number of runs of three words that makes a result its source, `rare_words` are (longest
    word of a run, number of runs with it), the longest first. `threes` are the runs of three units: each the runs of
    words in it that cross from one unit into the next, and what it counts. `names` are the runs of words with two and
    more of one name, each with what stands there.
    """

    statement: Statement
    words: Sequence[str]
    units: Sequence[int]
    shingles: Sequence[Shingle]
    threes: Sequence[tuple[frozenset[Shingle], int]]
    names: Sequence[tuple[str, Shingle]]
    min_shared: int
    rare_words: Sequence[tuple[str, int]]

    def may_repeat(self, result: str) -> bool:
        """Return whether a folded result can share enough, judged by single words before it is tokenized."""
        spare = len(set(self.shingles)) - self.min_shared
        for word, count in self.rare_words:
            if word not in result:
                spare -= count
                if spare < 0:
                    return False
        return bool(self.shingles)

    def repeats(self, shared: set[Shingle], result: str) -> bool:
        """Return whether a folded result that shares these runs of three words is the statement's source."""
        wanted = set(self.shingles)
        if not wanted or self.statement.is_typed:
            return bool(wanted) and wanted <= shared  # typed words are the user's, unless all of them are copied
        if _are_enough(self.threes, shared):
            return True
        # What a tool printed apart and the agent joined is no name: its words count.
        joined = [name for name, shingle in self.names if shingle in shared]
        plain = _PATH_SIGNS.sub("/", result) if joined else ""
        words = _list_threes(self.words, range(len(self.words)), self.shingles) if joined else ()
        return any(name not in plain for name in joined) and _are_enough(words, shared)

    def has_fingerprint(self, fingerprints: frozenset[int], own: set[Shingle]) -> bool:
        """Return whether a run of five words that are not the agent's `own` is among the fingerprints."""
        runs = word_runs.SentenceRuns()
        for place in range(len(self.words) - word_runs.RUN_WORDS + 1):
            if not own.issuperset(self.shingles[place : place + SHINGLE_WORDS]):
                run = slice(place, place + word_runs.RUN_WORDS)
                runs.add(self.words[run], self.units[run])
        return not self.statement.is_typed and runs.are_in(fingerprints)


def iter_tool_texts(turns: Iterable[Turn]) -> Iterator[ToolText]:
    """Yield the inputs and the whole results of tools, with the positions of their turns."""
    for position, (turn, following) in enumerate(pairwise(chain(turns, (None,)))):
        if turn and turn.role == TOOL:
            fingerprints = "" if turn.unclipped else turn.fingerprints
            text = turn.unclipped or turn.text
            if following and following.role == USER and _is_refusal(turn):
                text = text.replace(following.text, "")
            yield ToolText(position, text, True, turn.name or TOOL, fingerprints)
        elif turn and turn.role == ASSISTANT and (turn.name or turn.parts):
            texts = (turn.input, *(part.text for part in turn.parts))
            yield ToolText(position, "\n".join(texts), is_result=False)


def _is_refusal(turn: Turn) -> bool:
    """Return whether a harness, in a tool's place, quotes a person. A server's error may only claim to."""
    return turn.error and turn.text.startswith(_REFUSAL) and not turn.name.startswith(_SERVER)


def tool_texts_of(texts: Iterable[TurnText]) -> Iterator[ToolText]:
    """Yield the tools' among the searchable texts of turns, by number."""
    return (ToolText(one.number, one.text, one.is_result, TOOL, one.fingerprints) for one in texts if one.role == TOOL)


def find_repeated_tools(
    statements: Sequence[Statement], tool_texts: Iterable[ToolText], fold: Callable[[str], str] = fold_readings
) -> list[str]:
    """Return for each statement the name of the tool that printed it earlier, "" for none."""
    sought = [_build_sought(statement) for statement in statements]
    wanted = frozenset(shingle for one in sought for shingle in one.shingles)
    tools, own, foreign = [""] * len(sought), set[Shingle](), set[Shingle]()
    for given in tool_texts if wanted else ():
        folded = fold(given.text)
        if not (given.fingerprints or any(one.may_repeat(folded) for one in sought)):
            continue
        shared = set(wanted.intersection(_shingles(tokenize_folded(folded))))
        if not given.is_result:
            own |= shared - foreign
            continue
        shared -= own
        foreign |= shared
        fingerprints = prints.decode_fingerprints(given.fingerprints)
        for index, one in enumerate(sought):
            if one.statement.position > given.position and not tools[index]:
                is_repeated = one.repeats(shared, folded) or (fingerprints and one.has_fingerprint(fingerprints, own))
                tools[index] = given.name if is_repeated else ""
    return tools


def collect_runs(tool_texts: Iterable[ToolText], fold: Callable[[str], str] = fold_readings) -> frozenset[int]:
    """Return the fingerprints of all that tools printed, without echoes of the agent's own input.

    `word_runs.OVERLONG` is among them if they don't cover all.
    """
    own, foreign = set[int](), set[int]()
    for given in tool_texts:
        folded = fold(given.text)
        words, short = tokenize_folded(folded), prints.hash_short_sentences(folded)
        if len(foreign) > _MAX_RUNS or is_overlong(given.text):
            foreign.add(word_runs.OVERLONG)
        if len(foreign) > _MAX_RUNS:
            break
        if given.is_result:
            known = prints.decode_fingerprints(given.fingerprints)
            foreign |= known.union(prints.winnow(words), short) - own
        else:
            own |= {*word_runs.hash_runs(words), *short} - foreign
    return frozenset(foreign)


def has_overlong_result(turns: Iterable[Turn]) -> bool:
    """Return whether fingerprints cover some result of these turns in part only."""
    results = (turn for turn in turns if turn.role == TOOL)
    return any(len(turn.unclipped) > prints.MAX_CHARS or is_overlong(turn.text) for turn in results)


def split_pieces(text: str) -> list[str]:
    """Return the sentences of a text, line by line."""
    return [piece for line in text.split("\n") for piece in _PIECES.split(line)[::2]]


def _iter_windows(pieces: Sequence[str]) -> Iterator[list[int]]:
    """Yield the indexes of short sentences in a row that have the words of a run together, each row as short as can be.

    So a sentence in lines of two words is found like a whole one.
    """
    window, counts = list[int](), list[int]()
    for index, piece in enumerate(pieces):
        count = sum(not word.isdigit() for word in tokenize(piece))  # "1." is a piece of its own in a list
        if count >= RUN_WORDS:
            window, counts = [], []
        elif count:
            window, counts = [*window, index], [*counts, count]
            while sum(counts[1:]) >= RUN_WORDS:
                window, counts = window[1:], counts[1:]
            if sum(counts) >= RUN_WORDS:
                yield window


def _drop_sentences(text: str, repeated: Iterator[bool]) -> str:
    """Return a text without the sentences that are repeated, in order, and without lines left empty."""
    kept = []
    for line in text.split("\n"):
        pieces = _PIECES.split(line)  # every second one is the blank between two sentences
        sentences = [(piece, next(repeated)) for piece in pieces[::2]]
        blanks = [*pieces[1::2], ""]
        rest = "".join(piece + blank for (piece, drop), blank in zip(sentences, blanks, strict=True) if not drop)
        is_whole = not any(drop for _, drop in sentences)
        if _WORD.search(rest) or is_whole:
            kept.append(rest if is_whole else rest.rstrip())
    return "\n".join(kept)


def hash_sentences(sentences: Sequence[str]) -> list[word_runs.SentenceRuns]:
    """Return the hashes to look for in the index, by sentence; runs that cross from one into the next count too."""
    runs = [word_runs.SentenceRuns() for _ in sentences]
    for own, sentence in zip(runs, sentences, strict=True):
        for words, units in map(_split_units, list_readings(sentence)):
            if word_runs.is_short(words):
                own.add(words, units)
    word_runs.hash_sentences([_split_units(fold_readings(one)) for one in sentences], runs)
    return runs


def _split_units(folded: str) -> tuple[list[str], list[int]]:
    return word_runs.split_units(folded, tokenize_folded)


def _build_sought(statement: Statement) -> _Sought:
    folded = fold_readings(statement.text)
    words, units = _split_units(folded)
    shingles = tuple(_shingles(words))
    distinct = set(shingles)
    counts = Counter(max(shingle, key=lambda word: (len(word), word)) for shingle in distinct)
    rarest_first = sorted(counts.items(), key=lambda item: (-len(item[0]), item))
    least = min((len(distinct) + 1) // 2, _RUN_SHINGLES) if len(set(units)) == len(units) else 1
    min_shared = len(distinct) if statement.is_typed else least
    threes = _list_threes(words, units, shingles)
    return _Sought(statement, words, units, shingles, threes, _list_names(folded, words), min_shared, rarest_first)


def _list_names(folded: str, words: Sequence[str]) -> list[tuple[str, Shingle]]:
    """Return the runs of three words that hold two or three of one name, and before each those as they stand."""
    names, before = set[tuple[str, Shingle]](), 0
    for piece, is_name in word_runs.iter_pieces(folded):
        own, spans, end = tokenize_folded(piece), list[tuple[int, int]](), 0
        for word in own:
            start = piece.index(word, end)
            end = start + len(word)
            spans.append((start, end))
        for place in range(max(0, before - 1), before + len(own) - 1) if is_name else ():
            first, last = max(0, place - before), min(len(own), place - before + SHINGLE_WORDS) - 1
            if last > first and not any(map(str.isdigit, own[first : last + 1])):
                spelled = _PATH_SIGNS.sub("/", piece[spans[first][0] : spans[last][1]])
                names.add((spelled, tuple(words[place : place + SHINGLE_WORDS])))
        before += len(own)
    return sorted(one for one in names if len(one[1]) == SHINGLE_WORDS)


def _are_enough(threes: Sequence[tuple[frozenset[Shingle], int]], shared: set[Shingle]) -> bool:
    """Return whether a result has a run of six units, or half of the runs of three."""
    in_a_row = 0
    for three, weight in threes:
        in_a_row = in_a_row + weight if three <= shared else 0
        if in_a_row >= _RUN_SHINGLES * word_runs.WORD:
            return True
    distinct = {three for three, _ in threes}
    return bool(distinct) and sum(three <= shared for three in distinct) * 2 >= len(distinct)


def _list_threes(
    words: Sequence[str], units: Sequence[int], shingles: Sequence[Shingle]
) -> list[tuple[frozenset[Shingle], int]]:
    """Return the runs of three units."""
    starts = [place for place, unit in enumerate(units) if place == 0 or unit != units[place - 1]] + [len(units)]
    return [
        (
            frozenset(shingles[at] for at in range(start, end - 2) if units[at] != units[at + 2]),
            word_runs.weigh(words[start:end]),
        )
        for start, end in zip(starts, starts[SHINGLE_WORDS:], strict=False)
    ]


def _shingles(words: Sequence[str]) -> Iterable[Shingle]:
    return zip(*(words[start:] for start in range(SHINGLE_WORDS)), strict=False)
