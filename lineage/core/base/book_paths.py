"""Where books lie: `books/<scope>/<kind>.md`, with names escaped so that each has one path on every file system.

(format: Books)
"""

import re
import unicodedata
from typing import NamedTuple

from lineage.errors import InvalidInput

BOOKS = "books/"
PENDING = "pending"
GLOBAL = "global"
CURATED = "curated"
CURATED_PATH = "AGENT_MEMORY.md"
SCOPES = ("project", "agent", "peer", "session")
KINDS = ("preference", "decision", "fact", "context", "finding", "lesson", "task", "note", "handoff")

_MAX_BYTES = 200
_YEAR = re.compile(r"\d{4}")
_DAILY = re.compile(r"daily/\d{4}-\d\d-\d\d")
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._-")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)
_ESCAPED = re.compile(r"~(?:0([0-9a-f]+)~|([a-z])|(_)|(-))")
_FILE = re.compile(r"(.+?)(?:\.archive-(\d{4}))?\.md")


class BookRef(NamedTuple):
    """Which book: scope and kind, and the shelf it stands on: "" while in use, `pending`, or the year of an archive."""

    scope: str
    kind: str
    shelf: str = ""

    @property
    def path(self) -> str:
        """Relative to the workspace. Raises InvalidInput for a scope, kind or shelf that there can't be."""
        if (self.scope, self.kind, self.shelf) == (GLOBAL, CURATED, ""):
            return CURATED_PATH
        folder = _scope_folder(self.scope)
        name = self.kind if _DAILY.fullmatch(self.kind) else escape_name(self.kind, dots=False)
        if self.shelf == PENDING:
            return f"{BOOKS}{PENDING}/{folder}/{name}.md"
        if self.shelf and not _YEAR.fullmatch(self.shelf):
            raise InvalidInput(f"not a shelf: {self.shelf[:80]!r}", hint="a shelf is `pending` or a year")
        return f"{BOOKS}{folder}/{name}.archive-{self.shelf}.md" if self.shelf else f"{BOOKS}{folder}/{name}.md"


def parse_book_path(path: str) -> BookRef | None:
    """The book at a path; None for any other file, as a sync client's copy of a book.

    >>> parse_book_path("books/project/~lineage/daily/2026-03-28.md")
    BookRef(scope='project/Lineage', kind='daily/2026-03-28', shelf='')
    >>> parse_book_path("books/global/note 2.md")
    """
    if path == CURATED_PATH:
        return BookRef(GLOBAL, CURATED)
    rest = path.removeprefix(BOOKS)
    shelf = PENDING if rest.startswith(f"{PENDING}/") else ""
    scope, _, name = rest.removeprefix(f"{shelf}/").partition("/")
    if scope != GLOBAL:
        folder, _, name = name.partition("/")
        scope = f"{scope}/{unescape_name(folder)}"
    match = _FILE.fullmatch(name)
    if match is None or rest == path:
        return None
    kind = match[1] if _DAILY.fullmatch(match[1]) else unescape_name(match[1])
    try:
        ref = BookRef(scope, kind, match[2] or shelf)
        return ref if ref.path == path else None
    except InvalidInput:
        return None


def _scope_folder(scope: str) -> str:
    sort, _, name = scope.partition("/")
    if scope == GLOBAL:
        return scope
    if sort not in SCOPES or not name:
        raise InvalidInput(
            f"not a scope: {scope[:80]!r}",
            hint="a scope is global, project/NAME, agent/ID, peer/ID or session/TOKEN",
        )
    return f"{sort}/{escape_name(name)}"


def escape_name(name: str, *, dots: bool = True) -> str:
    """A name as one part of a path, escaped where it is none of its own everywhere: file systems ignore case, know
    devices by name, and compose letters. Without `dots` these are escaped too. Raises InvalidInput for an empty or
    overlong name.

    >>> [escape_name(name) for name in ("ann", "Ann", "ann.", "con.x", "..", "a/b", "日本")]
    ['ann', '~ann', 'ann~_', '~-con.x', '~02e~~_', 'a~02f~b', '日本']
    """
    composed = unicodedata.is_normalized("NFC", name)
    last = len(name.rstrip("."))
    parts = [_escape_character(char, index, last, dots, composed) for index, char in enumerate(name)]
    escaped = ("~-" if _RESERVED.match(name) else "") + "".join(parts)
    if not name or len(escaped.encode()) > _MAX_BYTES:
        raise InvalidInput(f"not a name for a book: {name[:60]!r}", hint="use a name of 1–60 characters")
    return escaped


def _escape_character(char: str, index: int, last: int, dots: bool, composed: bool) -> str:
    if char == "." and (index == 0 or not dots):
        return "~02e~"
    if char == ".":
        return char if index < last else "~_"
    if char.isascii() and char.isupper():
        return "~" + char.lower()
    if char in _PLAIN or (composed and not char.isascii() and char.isalpha() and char.casefold() == char):
        return char
    return f"~0{ord(char):x}~"


def unescape_name(part: str) -> str:
    """The inverse of `escape_name`; of anything else, anything."""

    def plain(match: re.Match[str]) -> str:
        code, letter, dot, _ = match.groups()
        if code:
            return chr(int(code, 16)) if len(code) < 7 and int(code, 16) <= 0x10FFFF else match[0]
        return letter.upper() if letter else "." if dot else ""

    return _ESCAPED.sub(plain, part)
