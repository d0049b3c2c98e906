"""Parser of flat notes that agents keep, without losing a line (format: Books; lessons: 26, 27).

The text below a heading of the first or second level is a section, and so is the text above the first one. A section is
one entry with its heading, of the kind that the heading names. Open tasks are entries of their own. So are the items of
a list, if the list is all of its section and the heading says nothing but a kind.

Notes of the five-layer format mark their own entries with an id, a time in milliseconds:

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
from lineage.extraction.sections import find_section_kind
from lineage.extraction.sentence_kinds import DECISION, LESSON, PREFERENCE, TASK

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
_MAX_CLOCK_DIFFERENCE = timedelta(days=2)  # a dated heading has the local date of its machine, the id is UTC


@dataclass(frozen=True, slots=True)
class NoteBlock:
    """A paragraph, a list item with its continuation, or a heading.

    `raw` holds its lines and the empty ones below, `line` is the number of the first in the file. `box` is the mark in
    a task's box, "" without a box.
    """

    line: int
    raw: str
    is_item: bool = False
    box: str = ""

    @property
    def is_open(self) -> bool:
        """Whether it is a task with an empty box."""
        return self.box == " "

    @property
    def content(self) -> str:
        """The text, an item's without its bullet and box."""
        return _ITEM.sub("", self.raw, count=1).strip("\n") if self.is_item else self.raw.strip("\n")


@dataclass(frozen=True, slots=True)
class NoteEntry:
    """Consecutive blocks that become one entry of a kind. `at` is its canonical time, None if the note has none."""

    kind: str
    blocks: tuple[NoteBlock, ...]
    at: str | None = None
    tags: tuple[str, ...] = ()
    is_content: bool = False

    @property
    def line(self) -> int:
        """The line of the file at its beginning."""
        return self.blocks[0].line

    @property
    def text(self) -> str:
        """The entry's text."""
        return join_blocks(self.blocks, is_content=self.is_content)


def join_blocks(blocks: Sequence[NoteBlock], *, is_content: bool = False) -> str:
    """Return the text of blocks, as it stands in the file or without bullets and boxes."""
    return "\n".join(block.content if is_content else block.raw for block in blocks).strip("\n")


def parse_notes(text: str, kind: str | None, fallback: str) -> list[NoteEntry]:
    r"""Return the entries of a note, by time, then in the order of the file. Together they hold every non-blank line.

    `kind` applies to the whole file, `fallback` to sections without a kind in their heading.

    >>> [(entry.kind, entry.text) for entry in parse_notes("Hi.\n# Tasks\n- [ ] Ship\n# X\nY", None, "lesson")]
    [('note', 'Hi.'), ('task', 'Ship'), ('lesson', '# X\nY')]
    """
    parts = _split_by_marker(text.split("\n"))
    entries = [entry for part in parts for entry in _SectionParser(part, kind, fallback).parse()]
    return sorted(entries, key=lambda entry: entry.at or "")


@dataclass(frozen=True, slots=True)
class _TimedPart:
    """A stretch of the file from line `first` on: a five-layer entry, or the text before the first, without time."""

    first: int
    lines: Sequence[str]
    at: str | None = None
    tags: tuple[str, ...] = ()


def _split_by_marker(lines: Sequence[str]) -> Iterator[_TimedPart]:
    markers = [(number, match) for number, line in enumerate(lines) if (match := _ID_MARKER.fullmatch(line))]
    yield _TimedPart(1, lines[: markers[0][0]] if markers else lines)
    for (start, match), (end, _) in pairwise([*markers, (len(lines), None)]):
        if match:
            yield _parse_timed_part(start, int(match[1]) / 1000, lines[start:end])


def _parse_timed_part(start: int, moment: float, lines: Sequence[str]) -> _TimedPart:
    """Blank an entry's marker, closing rule, and heading, if it has the same date and text below it."""
    body = ["", *lines[1:]]
    filled = [number for number, line in enumerate(body) if line.strip()]
    if filled and _RULE.fullmatch(body[filled[-1]]):
        body[filled.pop()] = ""
    if not filled:
        return _TimedPart(start + 1, lines, from_epoch(moment))
    heading = _DATED_HEADING.fullmatch(body[filled[0]])
    tags: tuple[str, ...] = ()
    if heading and len(filled) > 1 and _is_same_date(heading[1], moment):
        tags, body[filled[0]] = tuple(_TAG.findall(heading["tags"] or "")), ""
    return _TimedPart(start + 1, body, from_epoch(moment), tags)


def _is_same_date(date: str, moment: float) -> bool:
    try:
        heading_date = datetime.fromisoformat(date).replace(tzinfo=UTC)
    except ValueError:
        return False
    return abs(datetime.fromtimestamp(moment, UTC) - heading_date) < _MAX_CLOCK_DIFFERENCE


@dataclass(slots=True)
class _SectionParser:
    """The sections of a part, parsed one by one. `_headings` collects headings without text until text follows."""

    part: _TimedPart
    kind: str | None
    fallback: str
    _headings: tuple[NoteBlock, ...] = ()

    def parse(self) -> list[NoteEntry]:
        """Return the entries of the part."""
        sections = _split_sections(_split_blocks(self.part))
        entries = [entry for section in sections for entry in self._parse_section(section)]
        return entries + self._section_entries(self.kind or NOTE, self._headings)

    def _parse_section(self, blocks: Sequence[NoteBlock]) -> Iterator[NoteEntry]:
        match = _HEADING.fullmatch(blocks[0].raw.rstrip("\n")) if blocks else None
        heading, body = (blocks[:1], blocks[1:]) if match else ((), blocks)
        kind, is_exact = self._classify_section(match["title"] if match else None)
        tags = (match["title"],) if match and is_exact else ()
        is_list = bool(body) and all(block.is_item and block.box in ("", " ") for block in body)
        if is_exact and is_list and kind in _LIST_KINDS:
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
        """Return the kind of a section, and whether its heading, if any, says nothing else."""
        if self.kind:
            return self.kind, title is None
        if title is None:
            return (NOTE if self.part.at is None else self.fallback), False
        return find_section_kind(title) or (self.fallback, False)

    def _item_entry(self, kind: str, block: NoteBlock, tags: tuple[str, ...]) -> NoteEntry:
        return NoteEntry(kind, (block,), self.part.at, (*self.part.tags, *tags), is_content=True)

    def _section_entries(self, kind: str, blocks: Sequence[NoteBlock]) -> list[NoteEntry]:
        # Open tasks were taken out before. A done one is a note of the work, not a task.
        kind = NOTE if kind == TASK else kind
        return [NoteEntry(kind, group, self.part.at, self.part.tags) for group in _group_by_size(blocks)]


def _group_by_size(blocks: Sequence[NoteBlock]) -> Iterator[tuple[NoteBlock, ...]]:
    """Yield groups of blocks that fit into a note. A block that is too long stands alone."""
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
    """Yield the blocks of each section, its heading first."""
    starts = [number for number, block in enumerate(blocks) if _HEADING.fullmatch(block.raw.rstrip("\n"))]
    for start, end in pairwise([0, *starts, len(blocks)]):
        if start < end:
            yield blocks[start:end]


def _split_blocks(part: _TimedPart) -> list[NoteBlock]:
    """Return the blocks of a part, which together are its lines."""
    blocks = []
    for start, end in pairwise([*_block_starts(part.lines), len(part.lines)]):
        raw = "\n".join(part.lines[start:end])
        item = _ITEM.match(raw)
        blocks.append(NoteBlock(part.first + start, raw, item is not None, (item["box"] or "") if item else ""))
    return blocks


def _block_starts(lines: Sequence[str]) -> Iterator[int]:
    """Yield the number of each line that begins a block. None begins within a fence."""
    fence, previous_line = "", ""
    is_first = True
    for number, line in enumerate(lines):
        match = _FENCE.fullmatch(line)
        if not fence and line.strip() and (is_first or _is_block_start(line, previous_line)):
            is_first = False
            yield number
        if match and not fence:
            fence = match[1]
        elif match and match[1].startswith(fence) and not match[2].strip():
            fence = ""
        previous_line = line


def _is_block_start(line: str, previous_line: str) -> bool:
    if any(pattern.match(line) for pattern in (_HEADING, _SUBHEADING, _ITEM)) or _HEADING.fullmatch(previous_line):
        return True
    return not previous_line.strip() and not line.startswith((" ", "\t"))
