"""Flat notes that agents keep, taken apart into entries without losing a line. (format: Books; lessons: 26, 27)

A section is what stands below a heading of the first or second level, and so is what stands above the first one. It
is one entry, heading and all, of the kind that its heading names. Two things are entries of their own: tasks that are
open, and, where a heading that says nothing but a kind stands over nothing but a list, the items of the list.

Notes of the five-layer format hold entries of their own, which begin with an id that is a time in milliseconds:

    <!-- id:1773679871839 -->
    ## 2026-03-16T16:51 · #react #auto-extract

    Text, in which a rule ends nothing.

    ---
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from lineage.core.base.times import from_epoch
from lineage.extraction.admission_policy import MAX_NOTE_LENGTH, NOTE
from lineage.extraction.cues import DECISION, LESSON, PREFERENCE, TASK
from lineage.extraction.sections import find_section_kind

_LIST_KINDS = frozenset({DECISION, LESSON, PREFERENCE, TASK})
_TASK_BEARING_KINDS = _LIST_KINDS | {NOTE}
_HEADING = re.compile(r" {0,3}#{1,2}[ \t]+(?P<title>.*?)[ \t]*#*[ \t]*")
_SUBHEADING = re.compile(r" {0,3}#{3,6}[ \t]")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[(?P<box>[ xX-])\][ \t]+)?(?=\S)")
_FENCE = re.compile(r"[ \t>]*(?:[-*+][ \t]+|\d{1,9}[.)][ \t]+)*(`{3,}(?=[^`]*$)|~{3,})(.*)")
_ID_MARKER = re.compile(r"[ \t]*<!--[ \t]*id:[ \t]*([1-3]\d{12})[ \t]*-->[ \t]*")
_DATED_HEADING = re.compile(r"##[ \t]+(\d{4}-\d\d-\d\d)(?:T[\d:.]+Z?)?[ \t]*(?:·(?P<tags>(?:[ \t]*#[^\s#]+)*)[ \t]*)?")
_TAG = re.compile(r"#([^\s#]+)")
_RULE = re.compile(r"-{3,}[ \t]*")
_MAX_CLOCK_DIFFERENCE = timedelta(days=2)
"""The date of an entry is that of the clock of its machine, the id is UTC."""


@dataclass(frozen=True, slots=True)
class NoteBlock:
    """A paragraph, an item of a list with what belongs to it, or a heading: `raw` lines, with the empty ones below,
    the first being `line` of the file. `box` is that of a task, "" without one."""

    line: int
    raw: str
    is_item: bool = False
    box: str = ""

    @property
    def is_open(self) -> bool:
        return self.box == " "

    @property
    def content(self) -> str:
        """What an item says, without its bullet and box."""
        return _ITEM.sub("", self.raw, count=1).strip("\n") if self.is_item else self.raw.strip("\n")


@dataclass(frozen=True, slots=True)
class NoteEntry:
    """What becomes an entry of a kind: blocks that follow each other. `at` is its time, None where none is noted."""

    kind: str
    blocks: tuple[NoteBlock, ...]
    at: str | None = None
    tags: tuple[str, ...] = ()
    is_content: bool = False

    @property
    def line(self) -> int:
        return self.blocks[0].line

    @property
    def text(self) -> str:
        return join_blocks(self.blocks, is_content=self.is_content)


def join_blocks(blocks: Sequence[NoteBlock], *, is_content: bool = False) -> str:
    """The text of blocks as it stands in the file, or what a single item says."""
    return "\n".join(block.content if is_content else block.raw for block in blocks).strip("\n")


def parse_notes(text: str, kind: str | None, fallback: str) -> list[NoteEntry]:
    """The entries-to-be of a note, oldest time first, then in the order of the file; together they hold every line that
    says something. `kind` is that of the whole file, `fallback` that of sections whose headings name none.

    >>> [(piece.kind, piece.text) for piece in parse_notes("Hi.\\n# Tasks\\n- [ ] Ship\\n# X\\nY", None, "lesson")]
    [('note', 'Hi.'), ('task', 'Ship'), ('lesson', '# X\\nY')]
    """
    found: list[NoteEntry] = []
    for part in _split_by_marker(text.split("\n")):
        found += _SectionParser(part, kind, fallback).parse()
    return sorted(found, key=lambda piece: piece.at or "")


@dataclass(frozen=True, slots=True)
class _TimedPart:
    """A stretch of the file, from line `first` on: an entry of the five-layer format, or what stands before the first
    of them, which has no time."""

    first: int
    lines: Sequence[str]
    at: str | None = None
    tags: tuple[str, ...] = ()


def _split_by_marker(lines: Sequence[str]) -> Iterator[_TimedPart]:
    marks = [number for number, line in enumerate(lines) if _ID_MARKER.fullmatch(line)]
    yield _TimedPart(1, lines[: marks[0]] if marks else lines)
    for start, end in pairwise([*marks, len(lines)]):
        yield _parse_timed_part(start, lines[start:end])


def _parse_timed_part(start: int, lines: Sequence[str]) -> _TimedPart:
    """An entry without its marker, its head and the rule that sets it apart from the next one. A head that isn't of
    this entry's time is text, and so is what there is of an entry that says nothing else."""
    mark = _ID_MARKER.fullmatch(lines[0])
    assert mark is not None
    moment, body = int(mark[1]) / 1000, ["", *lines[1:]]
    last = _last_nonblank(body)
    if last is not None and _RULE.fullmatch(body[last]):
        body[last] = ""
    first = next((number for number, line in enumerate(body) if line.strip()), None)
    if first is None:
        return _TimedPart(start + 1, lines, from_epoch(moment))
    head = _DATED_HEADING.fullmatch(body[first])
    is_alone = _last_nonblank(body) == first
    tags: tuple[str, ...] = ()
    if head and not is_alone and _is_same_date(head[1], moment):
        tags, body[first] = tuple(_TAG.findall(head["tags"] or "")), ""
    return _TimedPart(start + 1, body, from_epoch(moment), tags)


def _last_nonblank(lines: Sequence[str]) -> int | None:
    return next((number for number in reversed(range(len(lines))) if lines[number].strip()), None)


def _is_same_date(date: str, moment: float) -> bool:
    try:
        noted = datetime.fromisoformat(date).replace(tzinfo=UTC)
    except ValueError:
        return False
    return abs(datetime.fromtimestamp(moment, UTC) - noted) < _MAX_CLOCK_DIFFERENCE


@dataclass(slots=True)
class _SectionParser:
    """Takes the sections of a part one by one; `_headings` are those that have nothing below them yet."""

    part: _TimedPart
    kind: str | None
    fallback: str
    _headings: tuple[NoteBlock, ...] = ()

    def parse(self) -> list[NoteEntry]:
        found = [
            piece for section in _split_sections(_split_blocks(self.part)) for piece in self._parse_section(section)
        ]
        return found + self._section_entries(self.kind or NOTE, self._headings)

    def _parse_section(self, blocks: Sequence[NoteBlock]) -> Iterator[NoteEntry]:
        match = _HEADING.fullmatch(blocks[0].raw.rstrip("\n")) if blocks else None
        heading, body = (blocks[:1], blocks[1:]) if match else ((), blocks)
        kind, says_it_all = self._classify_section(match["title"] if match else None)
        tags = (match["title"],) if match and says_it_all else ()
        if says_it_all and body and kind in _LIST_KINDS and all(map(_is_open_item, body)):
            yield from (self._item_entry(TASK if block.is_open else kind, block, tags) for block in body)
            return
        tasks = [block for block in body if kind in _TASK_BEARING_KINDS and block.is_open]
        yield from (self._item_entry(TASK, block, ()) for block in tasks)
        self._headings += tuple(heading)
        rest = [block for block in body if block not in tasks]
        if rest:
            yield from self._section_entries(kind, (*self._headings, *rest))
            self._headings = ()

    def _classify_section(self, title: str | None) -> tuple[str, bool]:
        """The kind of a section, and whether its heading, if it has one, says nothing else."""
        if self.kind:
            return self.kind, title is None
        if title is None:
            return (NOTE if self.part.at is None else self.fallback), False
        return find_section_kind(title) or (self.fallback, False)

    def _item_entry(self, kind: str, block: NoteBlock, tags: tuple[str, ...]) -> NoteEntry:
        return NoteEntry(kind, (block,), self.part.at, (*self.part.tags, *tags), is_content=True)

    def _section_entries(self, kind: str, blocks: Sequence[NoteBlock]) -> list[NoteEntry]:
        """What isn't an open task is no task: one that is done is a note of what was done."""
        kind = NOTE if kind == TASK else kind
        return [NoteEntry(kind, group, self.part.at, self.part.tags) for group in _group_by_size(blocks)]


def _is_open_item(block: NoteBlock) -> bool:
    return block.is_item and block.box in ("", " ")


def _group_by_size(blocks: Sequence[NoteBlock]) -> Iterator[tuple[NoteBlock, ...]]:
    """Blocks in groups as long as a note may be; one that is longer stands alone."""
    group: list[NoteBlock] = []
    size = 0
    for block in blocks:
        if group and size + len(block.raw) >= MAX_NOTE_LENGTH:
            yield tuple(group)
            group, size = [], 0
        group.append(block)
        size += len(block.raw) + 1
    if group:
        yield tuple(group)


def _split_sections(blocks: Sequence[NoteBlock]) -> Iterator[Sequence[NoteBlock]]:
    """Blocks by section: each begins with its heading, except for what stands above the first one."""
    starts = [number for number, block in enumerate(blocks) if _HEADING.fullmatch(block.raw.rstrip("\n"))]
    for start, end in pairwise([0, *starts, len(blocks)]):
        if start < end:
            yield blocks[start:end]


def _split_blocks(part: _TimedPart) -> list[NoteBlock]:
    """The blocks of a part, which together are its lines. Nothing begins within a fence."""
    bounds = [*_block_starts(part.lines), len(part.lines)]
    return [_parse_block(part.first + start, "\n".join(part.lines[start:end])) for start, end in pairwise(bounds)]


def _parse_block(line: int, raw: str) -> NoteBlock:
    match = _ITEM.match(raw)
    return NoteBlock(line, raw, match is not None, (match["box"] or "") if match else "")


def _block_starts(lines: Sequence[str]) -> Iterator[int]:
    fence, before = "", ""
    is_begun = False
    for number, line in enumerate(lines):
        match = _FENCE.fullmatch(line)
        if not fence and line.strip() and (not is_begun or _is_block_start(line, before)):
            is_begun = True
            yield number
        if match and not fence:
            fence = match[1]
        elif match and match[1].startswith(fence) and not match[2].strip():
            fence = ""
        before = line


def _is_block_start(line: str, previous_line: str) -> bool:
    """Whether a block begins with this line."""
    if any(pattern.match(line) for pattern in (_HEADING, _SUBHEADING, _ITEM)) or _HEADING.fullmatch(previous_line):
        return True
    return not previous_line.strip() and not line.startswith((" ", "\t"))
