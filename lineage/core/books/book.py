"""Books: one hand-editable note per scope and kind, read without ever losing a word of it. (format: Books)

Every file can be read, and writing a book that was read gives the same bytes. What stands between no markers is the
human's; what lineage cannot make out is kept, and named in `problems`.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from lineage.core.base.book_paths import CURATED
from lineage.core.base.privacy import GLOBAL
from lineage.core.books.entry import (
    DERIVED,
    ENTRY_ID,
    HAND,
    USER_STATED,
    Entry,
    compute_entry_id,
    parse_entry,
    parse_marker,
    render_entry,
    render_tombstone,
    with_text,
)
from lineage.core.format import frontmatter
from lineage.core.format.body import normalize_body
from lineage.core.format.frontmatter import block
from lineage.errors import FormatError

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_LINE_END = re.compile(r"\r\n|\r|\n")
_EMPTY_TEXT = re.compile(r"<!--.*?-->|^ {0,3}#{1,6}(?:[ \t][^\r\n]*)?$", re.DOTALL | re.MULTILINE)
_MARKER_START = re.compile(r"<!--[ \t]*lineage:(?:entry|end|forgotten)\b")
_OWN_MARKER_WORD = re.compile(r"[ \t]*lineage:\w+(?:.*-->)?")
_HEX = re.compile(rf"(?<![0-9a-f]){ENTRY_ID.pattern}(?![0-9a-f])")


class BookPart(NamedTuple):
    """A stretch of a book, `raw` as it stands in the file: an entry, the mark of a forgotten one, or free text.

    An entry is `sound` where its end was found; one that isn't may hold words of the human's, and is left alone."""

    raw: str
    entry: Entry | None = None
    forgotten_id: str = ""
    is_complete: bool = True

    @property
    def is_free_text(self) -> bool:
        return self.entry is None and not self.forgotten_id


class Book(NamedTuple):
    """`head` is the frontmatter with its delimiters. Texts hold undecodable bytes as lone surrogates."""

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
        return frozenset(part.forgotten_id for part in self.parts if part.forgotten_id)

    @property
    def all_ids(self) -> frozenset[str]:
        """Every id that the book names, in a marker that may be damaged too: none of them is added again."""
        return frozenset(identifier for part in self.parts for identifier in _HEX.findall(part.raw))

    @property
    def handwritten_entries(self) -> tuple[Entry, ...]:
        """The human's free text, each stretch of it as an entry; it has no time. Headings and comments alone say
        nothing."""
        texts = (_strip_markers(part.raw) for part in self.parts if part.is_free_text)
        return tuple(self._handwritten_entry(text) for text in texts if _EMPTY_TEXT.sub("", text).strip())

    @property
    def active_entries(self) -> tuple[Entry, ...]:
        """The marked entries that are in force: neither forgotten nor superseded."""
        gone = self.forgotten_ids | find_superseded(self.entries)
        return tuple(entry for entry in self.entries if entry.id not in gone)

    @property
    def line_end(self) -> str:
        match = next(filter(None, map(_LINE_END.search, (self.head, *(part.raw for part in self.parts)))), None)
        return match[0] if match else "\n"

    def _handwritten_entry(self, text: str) -> Entry:
        return Entry(id=compute_entry_id(self.scope, self.kind, text, HAND), at="", source=HAND, text=text + "\n")


def find_superseded(entries: Iterable[Entry]) -> frozenset[str]:
    """The ids that an entry of them takes the place of. An older one never does, nor a derived one where the user has
    spoken, whatever its comment says."""
    listed = list(entries)
    places = {entry.id: (entry.at, number, entry.trust) for number, entry in enumerate(listed)}
    return frozenset(
        old
        for number, entry in enumerate(listed)
        for old in entry.supersedes
        if old in places and places[old][:2] < (entry.at, number) and can_supersede(entry.trust, places[old][2])
    )


def can_supersede(new: str, old: str) -> bool:
    """Whether an entry of one trust may take the place of one of another."""
    return new == USER_STATED or old == DERIVED


def new_book(scope: str, kind: str) -> Book:
    """A book without a file yet. The curated one is the human's, and gets no frontmatter."""
    if (scope, kind) == (GLOBAL, CURATED):
        return Book(scope, kind)
    return Book(
        scope, kind, frontmatter.dump(frontmatter.build_post({"kind": "book", "scope": scope, "book": kind}, ""))
    )


def parse_book(data: bytes, scope: str, kind: str) -> Book:
    """The book that a file holds. Never raises: what can't be made out is free text, and a problem."""
    text = data.decode("utf-8", "surrogateescape")
    head, problems = _parse_head(text, scope, kind)
    reader = _BookParser(problems)
    for number, line in enumerate(_LINE.findall(text[len(head) :]), start=len(_LINE.findall(head)) + 1):
        reader.feed(number, line)
    parts = reader.finish()
    return Book(scope, kind, head, parts, (*reader.problems, *_find_problems(parts)))


def serialize_book(book: Book) -> bytes:
    """The file of a book, byte for byte what it was where nothing changed."""
    text = book.head + "".join(part.raw for part in book.parts)
    return text.encode("utf-8", "surrogateescape")


def with_parts(book: Book, parts: Iterable[BookPart]) -> Book:
    """The book with other parts, as it would be read back."""
    return parse_book(serialize_book(book._replace(parts=tuple(parts))), book.scope, book.kind)


def redact_book(book: Book, clean: Callable[[str], str], *, include_handwritten: bool) -> Book:
    """The book with its entries as `clean` leaves them, quotes too; `by_hand` says whether what stands between no
    markers is cleaned as well. An entry that lost its end is the human's."""
    parts = []
    for part in book.parts:
        if part.entry and part.is_complete:
            entry = part.entry._replace(text=clean(part.entry.text), more=_clean_values(part.entry.more, clean))
            parts.append(part if entry == part.entry else make_entry_part(book, entry))
        else:
            parts.append(part._replace(raw=clean(part.raw)) if include_handwritten and not part.forgotten_id else part)
    return book if tuple(parts) == book.parts else with_parts(book, parts)


def _clean_values(values: Iterable[tuple[str, str]], clean: Callable[[str], str]) -> tuple[tuple[str, str], ...]:
    def cleaned(value: Any) -> Any:
        return clean(value) if isinstance(value, str) else value

    return tuple((key, json.dumps(cleaned(json.loads(text)))) for key, text in values)


def make_entry_part(book: Book, entry: Entry) -> BookPart:
    return BookPart(_convert_line_ends(book, render_entry(entry)), entry)


def make_tombstone_part(book: Book, identifier: str) -> BookPart:
    return BookPart(_convert_line_ends(book, render_tombstone(identifier)), forgotten_id=identifier)


def append_parts(book: Book, *parts: BookPart) -> Book:
    """The book with parts at its end, each set apart by an empty line."""
    end, found = book.line_end, list(book.parts)
    for part in parts:
        before = (book.head + "".join(known.raw for known in found))[-4:]
        lines = len(_LINE_END.findall(before[len(before.rstrip("\r\n")) :]))
        found += [BookPart(end * max(0, 2 - lines if before else 0)), part]
    return with_parts(book, found)


def _convert_line_ends(book: Book, text: str) -> str:
    return _LINE_END.sub(book.line_end, text)


def _strip_markers(text: str) -> str:
    kept = (line if not _MARKER_START.search(line) else _strip_marker(line) for line in _LINE.findall(text))
    return normalize_body("".join(kept)).strip("\n\ufeff \t")


def _strip_marker(line: str) -> str:
    """What else stands in a line with a damaged marker; nothing where that is all."""
    first, *comments = line.split("<!--")
    for comment in comments:
        is_own = _MARKER_START.match("<!--" + comment)
        first += (
            "<!--" + comment
            if not is_own
            else comment.partition("-->")[2] or _OWN_MARKER_WORD.sub("", comment, count=1)
        )
    return first if first.strip() else ""


def _parse_head(text: str, scope: str, kind: str) -> tuple[str, list[str]]:
    start = 1 if text.startswith("\ufeff") else 0
    try:
        body = block.split_block(text[start:])[1]
        head = text[: len(text) - len(body)]
        meta = frontmatter.load(head[start:]).metadata
    except FormatError as error:
        is_expected = (scope, kind) != (GLOBAL, CURATED) or text.startswith("---", start)
        return "", [f"frontmatter: {error.message}"] if is_expected else []
    if not meta or _MARKER_START.search(head):
        return "", ["frontmatter: it holds no properties of this note"]
    other = {meta.get("scope", scope) != scope, meta.get("book", kind) != kind}
    return head, ["frontmatter: it is that of another book"] if True in other else []


def _find_problems(parts: tuple[BookPart, ...]) -> list[str]:
    counts = Counter(part.entry.id for part in parts if part.entry)
    gone = {part.forgotten_id for part in parts if part.forgotten_id}
    twice = [f"entry {identifier} is there {count} times" for identifier, count in counts.items() if count > 1]
    return twice + [
        f"entry {identifier} was forgotten, and is there again" for identifier in counts if identifier in gone
    ]


class _BookParser:
    """Takes the lines of a book one by one."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        self._parts: list[BookPart] = []
        self._lines: list[str] = []
        self._entry: Entry | None = None

    def feed(self, number: int, line: str) -> None:
        word, value = parse_marker(line) or ("", "")
        if word == "entry" and (entry := parse_entry(value)):
            self._end_unclosed(number)
            self._entry = entry
            self._lines.append(line)
        elif word == "forgotten" and ENTRY_ID.fullmatch(value):
            self._end_unclosed(number)
            self._parts.append(BookPart(line, forgotten_id=value))
        elif word == "end" and self._entry and self._entry.id == value:
            self._lines.append(line)
            self._close(sound=True)
        else:
            if word == "end" and self._entry:
                self._end_unclosed(number)
            if _MARKER_START.search(line):
                self.problems.append(f"line {number}: a damaged marker, or one without its other half")
            self._lines.append(line)

    def finish(self) -> tuple[BookPart, ...]:
        self._end_unclosed(0)
        return tuple(self._parts)

    def _end_unclosed(self, number: int) -> None:
        if self._entry:
            where = f"before line {number}" if number else "at the end of the file"
            self.problems.append(f"entry {self._entry.id}: its end is missing {where}")
        self._close(sound=False)

    def _close(self, *, sound: bool) -> None:
        raw = "".join(self._lines)
        if self._entry:
            text = "".join(self._lines[1:-1] if sound else self._lines[1:])
            self._parts.append(BookPart(raw, with_text(self._entry, text), is_complete=sound))
        elif raw:
            self._parts.append(BookPart(raw))
        self._entry, self._lines = None, []
