"""Books: a hand-editable note per scope and kind, parsed and written byte for byte, damage too (format: Books)."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

from lineage.core.base.book_paths import CURATED, GLOBAL
from lineage.core.books.entry import (
    DERIVED,
    ENTRY_ID,
    HAND,
    TOMBSTONE,
    USER_STATED,
    Entry,
    compute_entry_id,
    describe_damage,
    parse_entry,
    parse_marker,
    render_entry,
    render_least_marker,
    render_tombstone,
)
from lineage.core.format import frontmatter
from lineage.core.format.body import normalize_body
from lineage.core.format.documents import FORMAT, check_format
from lineage.errors import FormatError

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_LINE_END = re.compile(r"\r\n|\r|\n")
_EMPTY_TEXT = re.compile(r"<!--.*?-->|^ {0,3}#{1,6}(?:[ \t][^\r\n]*)?$", re.DOTALL | re.MULTILINE)
UNMERGED = "git couldn't merge what stands here"
# Its three lines, in this order.
_CONFLICT_LINES = tuple(map(re.compile, (r"<{7} \S.*[\r\n]*", r"={7}[\r\n]*", r">{7} \S.*[\r\n]*")))
_HALF_MARKER = re.compile(
    r"[ \t]*(?:<!?-|!?--)[^\n]*lineage|[ \t]*lineage ?: ?en?d?\b"
)  # of an end that somebody broke
_MARKER_START = re.compile(r"<!--[ \t]*lineage:(?:entry|end|forgotten)\b")
_OWN_MARKER_WORD = re.compile(r"[ \t]*lineage:\w+(?:.*-->)?")
_FORMAT_LINE = re.compile(r"^format:.*(?:\r\n|\r|\n)", re.MULTILINE)
_HEX = re.compile(rf"(?<![0-9a-f]){ENTRY_ID.pattern}(?![0-9a-f])")


# Parts and entries are named tuples: a large book has thousands, and each edit parses it again.
class BookPart(NamedTuple):
    """A part of a book: an entry, a tombstone or free text. No edit touches an entry without its end marker.

    Free text that isn't complete is a line of git's, and says nothing.

    `forgotten_with` is the id of the entry that a tombstone was left with, "" for that entry's own.
    """

    raw: str
    entry: Entry | None = None
    forgotten_id: str = ""
    is_complete: bool = True
    forgotten_with: str = ""

    @property
    def is_free_text(self) -> bool:
        """Whether the part is text outside of entries and tombstones."""
        return self.entry is None and not self.forgotten_id


@dataclass(frozen=True, slots=True)
class Book:
    """A parsed book. `head` is the frontmatter with its delimiters. Texts hold undecodable bytes as lone surrogates."""

    scope: str
    kind: str
    head: str = ""
    parts: tuple[BookPart, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The marked entries, in the order of the file."""
        return tuple(part.entry for part in self.parts if part.entry)

    @property
    def forgotten_ids(self) -> frozenset[str]:
        """The ids of forgotten entries."""
        return frozenset(identifier for identifier, _ in self.tombstones)

    @property
    def tombstones(self) -> frozenset[tuple[str, str]]:
        """The id of each tombstone, and that of the entry that it was left with, "" for that entry's own."""
        return frozenset((part.forgotten_id, part.forgotten_with) for part in self.parts if part.forgotten_id)

    @property
    def all_ids(self) -> frozenset[str]:
        """Every id in the book, in damaged markers too: none of them is added again.

        What an entry supersedes isn't in the book for that: it may have been forgotten, and be restored.
        """
        return frozenset(identifier for part in self.parts for identifier in _list_ids(part))

    @property
    def handwritten_entries(self) -> tuple[Entry, ...]:
        """The user's free text, each part as an entry without a time. Headings and comments alone are no entry."""
        texts = (_strip_markers(part.raw) for part in self.parts if part.is_free_text and part.is_complete)
        return tuple(
            Entry(id=compute_entry_id(self.scope, self.kind, text, HAND), at="", source=HAND, text=text + "\n")
            for text in texts
            if _EMPTY_TEXT.sub("", text).strip()
        )

    @property
    def active_entries(self) -> tuple[Entry, ...]:
        """The marked entries that are neither forgotten nor superseded."""
        inactive = self.forgotten_ids | find_superseded(self.entries)
        return tuple(entry for entry in self.entries if entry.id not in inactive)

    @property
    def line_end(self) -> str:
        """The first line end of the file, LF in an empty one."""
        match = next(filter(None, map(_LINE_END.search, (self.head, *(part.raw for part in self.parts)))), None)
        return match[0] if match else "\n"


def _list_ids(part: BookPart) -> set[str]:
    names = {*_HEX.findall(part.raw)}
    return names.difference(part.entry.supersedes) if part.entry and part.is_complete else names


def find_superseded(entries: Iterable[Entry]) -> frozenset[str]:
    """Return the superseded ids: an older entry supersedes nothing, a derived one none of the user's.

    A pinned entry is superseded by none: a person keeps it in use.
    """
    listed = list(entries)
    pinned = {entry.id for entry in listed if entry.pinned}
    ages = {entry.id: (entry.at, position) for position, entry in enumerate(listed) if entry.id not in pinned}
    trusts = {entry.id: entry.trust for entry in listed}
    return frozenset(
        old
        for position, entry in enumerate(listed)
        for old in entry.supersedes
        if old in ages and ages[old] < (entry.at, position) and can_supersede(entry.trust, trusts[old])
    )


def can_supersede(new: str, old: str) -> bool:
    """Return whether an entry of trust `new` may supersede one of trust `old`."""
    return new == USER_STATED or old == DERIVED


def new_book(scope: str, kind: str) -> Book:
    """Return an empty book. The curated one is the user's and gets no frontmatter."""
    if (scope, kind) == (GLOBAL, CURATED):
        return Book(scope, kind)
    post = frontmatter.build_post({"kind": "book", "scope": scope, "book": kind, "format": FORMAT}, "")
    return Book(scope, kind, frontmatter.dump(post))


@lru_cache(maxsize=4)  # an edit parses what the one before it wrote
def parse_book(data: bytes, scope: str, kind: str) -> Book:
    """Return the book in a file. Never raises: a damaged part is free text, and a problem.

    A file without properties of which that is the only problem is a note that somebody wrote, and has none.
    """
    text = data.decode("utf-8", "surrogateescape")
    head, problems = _parse_head(text, scope, kind)
    lines = _LINE.findall(text[len(head) :])
    first = len(_LINE.findall(head)) + 1
    parser = _BookParser(problems, {first + place for place in _find_conflicts(lines)})
    for number, line in enumerate(lines, start=first):
        parser.feed(number, line)
    parts = parser.finish()
    found = (*parser.problems, *_find_problems(parts))
    is_note = not head and len(found) == 1 and not text.lstrip("\ufeff").startswith("---")
    return Book(scope, kind, head, parts, () if is_note else found)


def read_properties(book: Book) -> dict[str, Any]:
    """Return the properties in a book's head, none without one."""
    return frontmatter.load(book.head.removeprefix("\ufeff")).metadata if book.head else {}


def check_writable(book: Book) -> None:
    """Raise FormatError for a book of a newer format. Anything else that a hand left there stops no capture."""
    number = read_properties(book).get("format")
    if type(number) is int and number > FORMAT:
        check_format(number)


def upgrade_book(book: Book) -> Book:
    """Return the book with today's format in its head. A note that has no properties of a book stays as it is.

    Raises FormatError for a newer format.
    """
    properties = read_properties(book)
    if properties.get("kind") != "book" or properties.get("format") == FORMAT:
        return book
    check_format(properties.get("format", 1))
    before, mark, after = _FORMAT_LINE.sub("", book.head).rpartition("---")
    return replace(book, head=f"{before}format: {FORMAT}{book.line_end}{mark}{after}")


def serialize_book(book: Book) -> bytes:
    """Return the file of a book, byte for byte the parsed one if nothing changed."""
    return (book.head + "".join(part.raw for part in book.parts)).encode("utf-8", "surrogateescape")


def with_parts(book: Book, parts: Iterable[BookPart]) -> Book:
    """Return the book with other parts, parsed again."""
    return parse_book(serialize_book(replace(book, parts=tuple(parts))), book.scope, book.kind)


def redact_book(book: Book, clean: Callable[[str], str], *, include_handwritten: bool) -> Book:
    """Return the book with redacted entries; `include_handwritten` adds free text and unclosed entries."""

    def clean_json(text: str) -> str:
        value = json.loads(text)
        return json.dumps(clean(value) if isinstance(value, str) else value)

    parts = []
    for part in book.parts:
        if part.entry and part.is_complete:
            more = tuple((key, clean_json(value)) for key, value in part.entry.more)
            about = tuple(map(clean, part.entry.about))
            entry = part.entry._replace(text=clean(part.entry.text), about=about, more=more)
            parts.append(part if entry == part.entry else make_entry_part(book, entry))
        else:
            parts.append(part._replace(raw=clean(part.raw)) if include_handwritten and not part.forgotten_id else part)
    return book if tuple(parts) == book.parts else with_parts(book, parts)


def make_entry_part(book: Book, entry: Entry) -> BookPart:
    """Return the part of an entry, with the book's line ends."""
    return BookPart(_LINE_END.sub(book.line_end, render_entry(entry)), entry)


def make_tombstone_part(book: Book, identifier: str, forgotten_with: str = "") -> BookPart:
    """Return the part of a forgotten entry, with the book's line ends."""
    line = _LINE_END.sub(book.line_end, render_tombstone(identifier, forgotten_with))
    return BookPart(line, forgotten_id=identifier, forgotten_with=forgotten_with)


def append_parts(book: Book, *parts: BookPart) -> Book:
    """Return the book with parts at its end, each after an empty line."""
    all_parts = list(book.parts)
    for part in parts:
        tail = (book.head + "".join(known.raw for known in all_parts))[-4:]  # two line ends of Windows have four
        ends = len(_LINE_END.findall(tail[len(tail.rstrip("\r\n")) :]))
        all_parts += [BookPart(book.line_end * max(0, 2 - ends if tail else 0)), part]
    return with_parts(book, all_parts)


def _strip_markers(text: str) -> str:
    lines = (_strip_marker(line) if _MARKER_START.search(line) else line for line in _LINE.findall(text))
    return normalize_body("".join(lines)).strip("\n\ufeff \t")


def _strip_marker(line: str) -> str:
    """Return a line without its damaged markers, "" if nothing else is left."""
    text, *comments = line.split("<!--")
    for comment in comments:
        if not _MARKER_START.match("<!--" + comment):
            text += "<!--" + comment
        else:
            # Without its end a marker goes on to the end of the line, and the user's words may be in it.
            text += comment.partition("-->")[2] or _OWN_MARKER_WORD.sub("", comment, count=1)
    return text if text.strip() else ""


def _parse_head(text: str, scope: str, kind: str) -> tuple[str, list[str]]:
    start = 1 if text.startswith("\ufeff") else 0
    try:
        body = frontmatter.split_block(text[start:])[1]
        head = text[: len(text) - len(body)]
        meta = frontmatter.load(head[start:]).metadata
    except FormatError as error:
        is_expected = (scope, kind) != (GLOBAL, CURATED) or text.startswith("---", start)
        return "", [f"frontmatter: {error.message}"] if is_expected else []
    if not meta or _MARKER_START.search(head):
        return "", ["frontmatter: it holds no properties of this note"]
    problems = []
    if (meta.get("scope", scope), meta.get("book", kind)) != (scope, kind):
        problems.append("frontmatter: it is that of another book")
    if type(number := meta.get("format", 1)) is not int or number < 1:
        problems.append("frontmatter: 'format' is not a number from 1")
    return head, problems


def _find_problems(parts: tuple[BookPart, ...]) -> list[str]:
    counts = Counter(part.entry.id for part in parts if part.entry)
    forgotten = {part.forgotten_id for part in parts}
    return [
        *(f"entry {identifier} is there {count} times" for identifier, count in counts.items() if count > 1),
        *(f"entry {identifier} was forgotten, and is there again" for identifier in counts if identifier in forgotten),
    ]


def _find_conflicts(lines: Sequence[str]) -> Iterator[int]:
    """Yield the places of the lines that git left: all three of one, and none without the others."""
    found = list[int]()
    for place, line in enumerate(lines):
        if line[:1] in "<=>" and _CONFLICT_LINES[len(found)].fullmatch(line):
            found.append(place)
            if len(found) == len(_CONFLICT_LINES):
                yield from found
                found.clear()


class _BookParser:
    """A parser that takes the lines of a book one by one."""

    def __init__(self, problems: list[str], conflicts: Set[int]) -> None:
        self.problems = problems
        self._conflicts = conflicts  # the numbers of git's lines
        self._parts: list[BookPart] = []
        self._lines: list[str] = []
        self._entry: Entry | None = None
        self._first_line = 0  # of the open entry
        self._damaged_lines: dict[str, int] = {}  # of an entry's first marker, by the ids in it

    def feed(self, number: int, line: str) -> None:
        if number in self._conflicts:
            self._feed_conflict(number, line)
            return
        word, value = parse_marker(line) or ("", "")
        if word == "entry" and (entry := parse_entry(value)):
            self._end_unclosed(number)
            self._entry, self._first_line = entry, number
            self._lines.append(line)
        elif word == "forgotten" and (found := TOMBSTONE.fullmatch(value)):
            self._end_unclosed(number)
            self._parts.append(BookPart(line, forgotten_id=found[1], forgotten_with=found[2] or ""))
        elif word == "end" and self._entry and self._entry.id == value:
            self._lines.append(line)
            self._close(sound=True)
        else:
            open_id = self._entry.id if self._entry else ""
            if word == "end" and self._entry:
                self._end_unclosed(number)
            if _MARKER_START.search(line):
                what = self._describe_half(value, open_id) if word == "end" else describe_damage(word, value)
                self.problems.append(f"line {number}: {what}")
                self._damaged_lines.update(dict.fromkeys(_HEX.findall(line) if word != "end" else (), number))
            self._lines.append(line)

    def _feed_conflict(self, number: int, line: str) -> None:
        """Take a line of git's: no text of the user's, but for an entry that it stands in."""
        if line.startswith("<"):
            self.problems.append(f"line {number}: {UNMERGED}")
        if self._entry:
            self._lines.append(line)
        else:
            self._close(sound=False)
            self._parts.append(BookPart(line, is_complete=False))

    def finish(self) -> tuple[BookPart, ...]:
        self._end_unclosed(0)
        return tuple(self._parts)

    def _describe_half(self, identifier: str, open_id: str) -> str:
        """Return the problem of an end marker that closes no open entry."""
        if number := self._damaged_lines.get(identifier):
            return f"a damaged marker, or one without its other half: it belongs to that of line {number}"
        if open_id:
            return f"a damaged marker, or one without its other half: the entry above it is {open_id}"
        first = render_least_marker(identifier if ENTRY_ID.fullmatch(identifier) else "")
        return f"a damaged marker, or one without its other half: above its text belongs `{first}`"

    def _end_unclosed(self, number: int) -> None:
        if self._entry:
            where = f"before line {number}" if number else "at the end of the file"
            end = f"<!-- lineage:end {self._entry.id} -->"
            halves = (place for place, line in enumerate(self._lines) if _HALF_MARKER.match(line))
            half = next((place for place in halves if not _MARKER_START.search(self._lines[place])), 0)
            where = f", in place of line {self._first_line + half}" if half else f" {where}"
            self.problems.append(f"entry {self._entry.id}: its end is missing{where}: `{end}`")
        self._close(sound=False)

    def _close(self, *, sound: bool) -> None:
        raw = "".join(self._lines)
        if self._entry:
            text = "".join(self._lines[1:-1] if sound else self._lines[1:])
            self._parts.append(BookPart(raw, self._entry._replace(text=text), is_complete=sound))
        elif raw:
            self._parts.append(BookPart(raw))
        self._entry, self._lines = None, []
