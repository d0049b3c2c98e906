"""Paths of books: `books/<scope>/<kind>.md`, with escaped names (format: Books)."""

import re
from typing import NamedTuple

from lineage.core.base.file_names import escape_name, unescape_name
from lineage.core.base.privacy import GLOBAL
from lineage.errors import InvalidInput

BOOKS = "books/"
PENDING = "pending"
CURATED = "curated"
CURATED_PATH = "AGENT_MEMORY.md"
SCOPES = ("project", "agent", "peer", "session")
KINDS = ("preference", "decision", "fact", "context", "finding", "lesson", "task", "note", "handoff")

_YEAR = re.compile(r"\d{4}")
_DAILY = re.compile(r"daily/\d{4}-\d\d-\d\d")
_FILE = re.compile(r"(.+?)(?:\.archive-(\d{4}))?\.md")


# A named tuple: references are sorted, and serve as keys by the thousand.
class BookRef(NamedTuple):
    """A book by scope, kind and shelf: "" for the book in use, `pending`, or the year of an archive."""

    scope: str
    kind: str
    shelf: str = ""

    @property
    def path(self) -> str:
        """The path in the workspace. Raises InvalidInput for an impossible scope, kind or shelf."""
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
    """Return the book at a path, or None for any other file, such as the copy of a book by a sync client.

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
            f"not a scope: {scope[:80]!r}", hint="a scope is global, project/NAME, agent/ID, peer/ID or session/TOKEN"
        )
    return f"{sort}/{escape_name(name)}"
