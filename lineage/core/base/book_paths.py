"""Scopes and paths of books, `books/<scope>/<kind>.md`, and the gate for private sessions (format: Captures; Books)."""

import re
from typing import NamedTuple

from lineage.core.base.file_names import escape_name, unescape_name
from lineage.errors import InvalidInput

GLOBAL = "global"
"""The scope that every session sees: global books, MEMORY.md, context blocks, the default search."""

BOOKS = "books/"
PENDING = "pending"
CURATED = "curated"
CURATED_PATH = "AGENT_MEMORY.md"
SCOPES = ("project", "agent", "peer", "session")
KINDS = ("preference", "decision", "fact", "context", "finding", "lesson", "task", "note", "handoff")
OTHER_NAMES = {"rule": "preference", "rules": "preference", **{f"{kind}s": kind for kind in KINDS}}

_YEAR = re.compile(r"\d{4}")
_DAILY = re.compile(r"daily/\d{4}-\d\d-\d\d")
_FILE = re.compile(r"(.+?)(?:\.archive-(\d{4}))?\.md")


def session_scope(token: str) -> str:
    """Return the scope of a session's own books.

    >>> session_scope("h7k3n4p2m2x6q3r5")
    'session/h7k3n4p2m2x6q3r5'
    """
    return f"session/{token}"


def resolve_kind(name: str) -> str:
    """Return the kind that a person means by a name: the README speaks of rules, and many think of several.

    >>> resolve_kind("rule"), resolve_kind("Decisions"), resolve_kind("recipe")
    ('preference', 'decision', 'recipe')
    """
    return OTHER_NAMES.get(name.strip().lower(), name)


def is_allowed_in_scope(scope: str, *, private: bool, token: str) -> bool:
    """Return whether content of a session may enter a scope: a book, a row or a visible text.

    Content of a private session stays in the session's own scope. `token` is the session's, "" outside of one.

    >>> is_allowed_in_scope("global", private=True, token="h7k3n4p2m2x6q3r5")
    False
    >>> is_allowed_in_scope("session/h7k3n4p2m2x6q3r5", private=True, token="h7k3n4p2m2x6q3r5")
    True
    """
    return not private or (token != "" and scope == session_scope(token))


# A named tuple: references are sorted, and serve as keys by the thousand.
class BookRef(NamedTuple):
    """A book by scope, kind and shelf: "" for the book in use, `pending`, or the year of an archive."""

    scope: str
    kind: str
    shelf: str = ""

    @property
    def is_archive(self) -> bool:
        """Whether it is the archive of a year."""
        return self.shelf not in ("", PENDING)

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
