"""What search in an export reads: scripts with words and pages, split so that a browser loads only those it needs.

Words are collected in memory up to a bound, written as sorted runs to a scratch folder, and merged at the end. Each
line is a word and the numbers of its pages, as differences to base 36; `search.js` reads them.
"""

import heapq
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

INDEX = "search/index.js"
MAX_WORDS_BYTES = 60_000
_MAX_NUMBERS = 400_000  # in memory
_MAX_LETTERS = 40
_PAGES_PER_FILE = 200
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
# Scripts without spaces between words: pairs of their letters are the words. `search.js` has the same.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORD = re.compile(rf"[{_UNSPACED}]+|(?:(?![{_UNSPACED}])[^\W_])+")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")

Posting = tuple[bytes, str, list[int]]


class SearchData:
    """The words and pages of one export."""

    def __init__(self, scratch: Path) -> None:
        self._scratch, self._runs = scratch, list[Path]()
        self._words = dict[str, list[int]]()
        self._numbers = 0
        self.pages: list[list[str]] = []

    def add(self, page: list[str], names: Iterable[str], texts: Iterable[str]) -> None:
        """Add a page with what search shows of it; words of its names weigh more than those of its texts."""
        number = 2 * len(self.pages)
        self.pages.append(page)
        strong = {word for name in names for word in split_words(name)}
        weak = {word for text in texts for word in split_words(text)} - strong
        for place, words in ((number, weak), (number + 1, strong)):
            for word in words:
                self._words.setdefault(word, []).append(place)
        self._numbers += len(strong) + len(weak)
        if self._numbers > _MAX_NUMBERS:
            self._spill()

    def iter_files(self) -> Iterator[tuple[str, bytes]]:
        """Yield the scripts; the index is the last."""
        firsts = list[str]()
        for number, lines in enumerate(_split_lines(self._merge())):
            firsts.append(lines[0].partition(" ")[0])
            yield f"search/words-{number}.js", _format_script(f"words-{number}", "\n".join(lines))
        for number in range(0, len(self.pages), _PAGES_PER_FILE):
            name = f"pages-{number // _PAGES_PER_FILE}"
            yield f"search/{name}.js", _format_script(name, self.pages[number : number + _PAGES_PER_FILE])
        yield INDEX, _format_script("index", {"words": firsts, "pages": _PAGES_PER_FILE})

    def _spill(self) -> None:
        run = self._scratch / f"words-{len(self._runs)}"
        with run.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{word} {' '.join(map(str, numbers))}\n" for _, word, numbers in self._sorted_words())
        self._runs.append(run)
        self._words, self._numbers = {}, 0

    def _sorted_words(self) -> list[Posting]:
        return sorted((_build_key(word), word, numbers) for word, numbers in self._words.items())

    def _merge(self) -> Iterator[tuple[str, list[int]]]:
        runs = (*map(_read_run, self._runs), iter(self._sorted_words()))
        for _, group in groupby(heapq.merge(*runs), key=lambda one: one[0]):
            same = list(group)
            yield same[0][1], sorted(number for _, _, numbers in same for number in numbers)


def split_words(text: str) -> Iterator[str]:
    """Yield the words of a text as search compares them: small letters without marks.

    >>> list(split_words("Où est parse_turns? 日本語"))
    ['ou', 'est', 'parse', 'turns', '日本', '本語']
    """
    text = text.lower()
    if not text.isascii():
        text = "".join(char for char in unicodedata.normalize("NFKD", text) if unicodedata.category(char)[0] != "M")
    for word in _WORD.findall(text):
        if len(word) > 2 and _IS_UNSPACED.match(word):
            yield from (word[at : at + 2] for at in range(len(word) - 1))
        else:
            yield word[:_MAX_LETTERS]


def _build_key(word: str) -> bytes:
    """Return what sorts words as JavaScript does: by UTF-16."""
    return word.encode("utf-16-be", "surrogatepass")


def _read_run(run: Path) -> Iterator[Posting]:
    with run.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            word, *numbers = line.split()
            yield _build_key(word), word, list(map(int, numbers))


def _split_lines(words: Iterable[tuple[str, list[int]]]) -> Iterator[list[str]]:
    lines, size = list[str](), 0
    for word, numbers in words:
        steps = (after - before for before, after in zip([0, *numbers], numbers, strict=False))
        lines.append(f"{word} {' '.join(map(_to_base_36, steps))}")
        size += len(lines[-1])
        if size > MAX_WORDS_BYTES:
            yield lines
            lines, size = [], 0
    if lines:
        yield lines


def _to_base_36(number: int) -> str:
    digits = _DIGITS[number % 36]
    while number := number // 36:
        digits = _DIGITS[number % 36] + digits
    return digits


def _format_script(name: str, value: Any) -> bytes:
    return f"lineageData({json.dumps(name)}, {json.dumps(value, separators=(',', ':'))});\n".encode("ascii")
