"""Fresh names for what came from elsewhere: tokens and entry ids, replaced everywhere at once.

A token is 80 bits of a hash, an entry's id 64: wherever one stands, it is a reference. So renaming is one substitution
over the whole of a text, it can be taken back, and nothing of the old names is left by construction. (lesson 24)
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from lineage.core import naming
from lineage.core.book import Book
from lineage.core.documents import Artifact, Manifest, with_body
from lineage.core.entry import ID, Entry, entry_id
from lineage.core.identity import Identity
from lineage.core.links import escaped

AnyFile = TypeVar("AnyFile", Artifact, Manifest)

_PLACE = re.compile(r"In session (\S+),")
_SHORT = 12
_LENGTH = 16
_RUN = re.compile(r"[0-9a-z]{16,}")
_MARKER = re.compile(r"<!--[ \t]*lineage:(?:entry|end|forgotten)\b[^\r\n]*")


def renamed(text: str, names: Mapping[str, str]) -> str:
    """The text with every old name replaced by its new one, all at once. Names are tokens and entry ids.

    >>> renamed("memory/aaaaaaaaaaaaaaaa.md", {"aaaaaaaaaaaaaaaa": "bbbbbbbbbbbbbbbb"})
    'memory/bbbbbbbbbbbbbbbb.md'
    """
    return _RUN.sub(lambda match: _renamed_run(match[0], names), text) if names else text


def names_in(text: str, names: Iterable[str]) -> bool:
    """Whether one of the names stands anywhere in a text."""
    return renamed(text, dict.fromkeys(names, "")) != text


def _renamed_run(run: str, names: Mapping[str, str]) -> str:
    """A run of letters and digits in which a name may stand anywhere."""
    if len(run) == _LENGTH:
        return names.get(run, run)
    parts, at = [], 0
    while at < len(run):
        name = run[at : at + _LENGTH]
        parts.append(names.get(name, run[at]))
        at += _LENGTH if name in names else 1
    return "".join(parts)


@dataclass(frozen=True, slots=True)
class Move:
    """A session that gets a fresh identity. Of all that move together, it too, `tokens` are the new tokens and
    `sessions` the new ids, by the old."""

    old: Identity
    new: Identity
    tokens: Mapping[str, str]
    sessions: Mapping[str, str] = field(default_factory=dict)

    def document(self, document: AnyFile) -> AnyFile:
        """The artifact or manifest under the new identity: every field, and the body. Its key and lane were those of
        the old one, and go; the id of a parent stays, unless that moves too."""
        changed: dict[str, Any] = {
            name: self._value(value) for name, value in document._asdict().items() if name != "content_sha256"
        }
        known_as = renamed(document.title, self.tokens)
        title = self._said(known_as)
        changed |= {
            "session_id": self.new.session_id,
            "session_key": self.new.session_key,
            "lane": None,
            "forked_from": self._parent(document.forked_from),
            "parent_session": self._parent(document.parent_session),
            "title": title,
            "aliases": [naming.alias(title, document.kind)] if title != known_as else changed["aliases"],
        }
        moved = document._replace(**changed)
        return self._told(moved, known_as) if isinstance(moved, Artifact) else moved

    def _told(self, artifact: Artifact, old_title: str) -> Artifact:
        """The artifact whose sentence and heading name the new session where they named the old one."""
        heading, fresh = (f"\n# {escaped(title)}\n" for title in (old_title, artifact.title))
        is_headed = artifact.kind != naming.TRANSCRIPT and heading != fresh
        body = str(artifact.body).replace(heading, fresh, 1) if is_headed else artifact.body
        place = _PLACE.match(artifact.memory_sentence)
        is_short = place and re.sub(r"[^\w-]+", "-", self.old.session_id).strip("-_").startswith(place[1])
        sentence = self._said(artifact.memory_sentence)
        if is_short:
            sentence = _PLACE.sub(f"In session {self.new.session_id[:_SHORT]},", sentence, count=1)
        return with_body(artifact._replace(memory_sentence=sentence), body)

    def _value(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._value(item) for item in value]
        return renamed(value, self.tokens) if isinstance(value, str) else value

    def _parent(self, session: str | None) -> str | None:
        return self.sessions.get(session, session) if session else session

    def _said(self, text: str) -> str:
        """A title or sentence that calls the session by its id."""
        pattern = rf"\bsession {re.escape(self.old.session_id)}(?![\w-])"
        return re.sub(pattern, lambda _: f"session {self.new.session_id}", text)


def entry_names(books: Mapping[str, Book], names: Mapping[str, str]) -> dict[str, str]:
    """New ids for all that the books of one scope name, by the old: in use, forgotten, superseded, or in a damaged
    marker. `books` are those of each kind and shelf before they are renamed, by any key; `names` renames their scope.

    An id that is the hash of what its entry says becomes the hash of what it says under the new name; any other one
    (the entry was edited since, or is gone) a hash of the old id.
    """
    found: dict[str, str] = {}
    for _, book in sorted(books.items()):
        for old in sorted(_ids(book)):
            found.setdefault(old, entry_id(renamed(book.scope, names), book.kind, old, None))
    for _, book in sorted(books.items()):
        for entry in book.entries:
            if entry.id == entry_id(book.scope, book.kind, entry.body, entry.origin):
                found[entry.id] = _fresh(book, entry, names)
    return found


def _ids(book: Book) -> set[str]:
    """The ids in the markers of a book, damaged ones too; a number in somebody's words is none."""
    return {found for part in book.parts for line in _MARKER.findall(part.raw) for found in ID.findall(line)}


def _fresh(book: Book, entry: Entry, names: Mapping[str, str]) -> str:
    origin = renamed(entry.origin, names) if entry.origin else entry.origin
    return entry_id(renamed(book.scope, names), book.kind, renamed(entry.body, names), origin)


def renamed_file(data: bytes, names: Mapping[str, str]) -> bytes:
    """A book's file with its references renamed; every other byte stays."""
    return renamed(data.decode("utf-8", "surrogateescape"), names).encode("utf-8", "surrogateescape")
