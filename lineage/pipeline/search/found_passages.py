"""The passages of a search result, as an agent or a program reads them: the text that holds the answer."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from lineage.core.search.query import strip_operators
from lineage.core.search.words import extract_words
from lineage.index import Hit
from lineage.index.vectors import PassageRow
from lineage.workspace.workspace import Workspace

MAX_CHARACTERS = 900
MAX_PASSAGES = 3
_MAX_READ = 2 * MAX_PASSAGES  # of a session: by meaning every passage of it may be near
_MIN_STEM = 4  # letters that two forms of a word share
_BREAKS = ("\n", ". ", " ")


class FoundPassage(NamedTuple):
    """A passage of a session: its file, the file's kind, its first and last turn if it has turns, and its text."""

    path: str
    kind: str
    turns: tuple[int, int] | None
    text: str

    def as_json(self) -> dict[str, Any]:
        """Return the passage as a JSON object."""
        return self._asdict()


def load_passages(ws: Workspace, hits: Sequence[Hit], query: str) -> list[tuple[FoundPassage, ...]]:
    """Return up to three passages of each hit, the best first, none for an entry: it is its own text.

    A passage has at most 900 characters, cut around the words of the query. One that another holds is left out.
    """
    with ws.index.open_vector_search() as engine:
        numbers = [number for hit in hits for number in hit.rows[:_MAX_READ]]
        rows = {row.number: row for row in engine.read_passage_rows(numbers)}
    words = extract_words(strip_operators(query))
    found = ([rows[number] for number in hit.rows[:_MAX_READ] if number in rows] for hit in hits)
    return [tuple(_build_passages(one, words)) for one in found]


def _build_passages(rows: Sequence[PassageRow], words: Sequence[str]) -> Iterator[FoundPassage]:
    seen: list[str] = []
    for row in rows:
        text = clip_around(row.text.strip(), words)
        if text and len(seen) < MAX_PASSAGES and not any(text in other for other in seen):
            seen.append(text)
            yield FoundPassage(row.path, row.kind, row.turns, text)


def clip_around(text: str, words: Sequence[str], most: int = MAX_CHARACTERS) -> str:
    """Return the part of a text with most of the words, of at most so many characters, cut between lines or words.

    >>> clip_around("one two three four five", ["four"], 12)
    '… four …'
    """
    if len(text) <= most:
        return text
    places = sorted(_find_words(text, words))
    room = most - len("… ") - len(" …")
    counts = [(len({word for at, word in places if start <= at < start + room}), -start) for start, _ in places]
    first = -max(counts)[1] if counts else 0
    last = max((at for at, _ in places if at < first + room), default=first)
    start = min(max(0, first - (room - (last - first)) // 3), len(text) - room)
    end = start + room
    if start:
        start = _find_break(text, start, min(first, start + room // 4)) or start
    if end < len(text):
        end = max(text.rfind(mark, max(last, end - room // 4), end) for mark in (" ", "\n")) + 1 or end
    return "… " * bool(start) + text[start:end].strip() + " …" * (end < len(text))


def _find_words(text: str, words: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the places of a word, or of a form of it with the same beginning, in a text."""
    for word in words:
        stem = word[: max(_MIN_STEM, len(word) - 2)]
        pattern = rf"\b{re.escape(stem)}" if stem[0].isalnum() and stem.isascii() else re.escape(stem)
        yield from ((match.start(), word) for match in re.finditer(pattern, text, re.IGNORECASE))


def _find_break(text: str, start: int, stop: int) -> int:
    """Return the start of a line, else a sentence, else a word between two places, 0 for none."""
    found = ((text.find(mark, start, stop), mark) for mark in _BREAKS)
    return next((at + len(mark) for at, mark in found if at >= 0), 0)
