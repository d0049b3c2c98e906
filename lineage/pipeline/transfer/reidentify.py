"""Fresh ids for an imported session: tokens and entry ids are replaced everywhere at once.

A token is 80 bits of a hash, an entry's id 64: each occurrence is a reference. So renaming is one reversible
substitution over a whole text, and leaves no old id by construction (lesson 24).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from lineage.core.base import naming
from lineage.core.base.links import escape_markdown
from lineage.core.base.naming import Identity
from lineage.core.books.book import Book
from lineage.core.books.entry import ENTRY_ID, compute_entry_id
from lineage.core.format.documents import Artifact, Manifest, with_body

AnyFile = TypeVar("AnyFile", Artifact, Manifest)

_SESSION_OPENING = re.compile(r"In session (\S+),")
_SHORT_LENGTH = 12
_LENGTH = 16
_RUN = re.compile(r"[0-9a-z]{16,}")
_MARKER = re.compile(r"<!--[ \t]*lineage:(?:entry|end|forgotten)\b[^\r\n]*")


def replace_ids(text: str, new_ids: Mapping[str, str]) -> str:
    """Replace every old id in a text by its new one, all at once. Ids are tokens and entry ids.

    >>> replace_ids("memory/aaaaaaaaaaaaaaaa.md", {"aaaaaaaaaaaaaaaa": "bbbbbbbbbbbbbbbb"})
    'memory/bbbbbbbbbbbbbbbb.md'
    """
    return _RUN.sub(lambda match: _replace_in_run(match[0], new_ids), text) if new_ids else text


def contains_ids(text: str, ids: Iterable[str]) -> bool:
    """Return whether one of the ids occurs in a text."""
    return replace_ids(text, dict.fromkeys(ids, "")) != text


def _replace_in_run(run: str, new_ids: Mapping[str, str]) -> str:
    """Replace the ids anywhere in a run of letters and digits."""
    if len(run) == _LENGTH:
        return new_ids.get(run, run)
    parts, at = [], 0
    while at < len(run):
        name = run[at : at + _LENGTH]
        parts.append(new_ids.get(name, run[at]))
        at += _LENGTH if name in new_ids else 1
    return "".join(parts)


@dataclass(frozen=True, slots=True)
class Reidentification:
    """A fresh identity. `tokens` and `sessions` map the old tokens and ids of the bundle's sessions to the new."""

    old: Identity
    new: Identity
    tokens: Mapping[str, str]
    sessions: Mapping[str, str] = field(default_factory=dict)

    def reidentify_document(self, document: AnyFile) -> AnyFile:
        """Return an artifact or manifest under the new identity, in every field and the body.

        Its key and lane are dropped. A parent's id changes only if the parent is in the bundle.
        """
        changed: dict[str, Any] = {
            name: self._replace_value(value) for name, value in document._asdict().items() if name != "content_sha256"
        }
        known_as = replace_ids(document.title, self.tokens)
        title = self._replace_session_name(known_as)
        changed |= {
            "session_id": self.new.session_id,
            "session_key": self.new.session_key,
            "lane": None,
            "forked_from": self._new_parent(document.forked_from),
            "parent_session": self._new_parent(document.parent_session),
            "title": title,
            "aliases": [naming.build_alias(title, document.kind)] if title != known_as else changed["aliases"],
        }
        moved = document._replace(**changed)
        return self._reidentify_text(moved, known_as) if isinstance(moved, Artifact) else moved

    def _reidentify_text(self, artifact: Artifact, old_title: str) -> Artifact:
        """Rename the session in an artifact's sentence and heading."""
        heading, fresh = (f"\n# {escape_markdown(title)}\n" for title in (old_title, artifact.title))
        is_headed = artifact.kind != naming.TRANSCRIPT and heading != fresh
        body = str(artifact.body).replace(heading, fresh, 1) if is_headed else artifact.body
        place = _SESSION_OPENING.match(artifact.memory_sentence)
        is_short = place and re.sub(r"[^\w-]+", "-", self.old.session_id).strip("-_").startswith(place[1])
        sentence = self._replace_session_name(artifact.memory_sentence)
        if is_short:
            sentence = _SESSION_OPENING.sub(f"In session {self.new.session_id[:_SHORT_LENGTH]},", sentence, count=1)
        return with_body(artifact._replace(memory_sentence=sentence), body)

    def _replace_value(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._replace_value(item) for item in value]
        return replace_ids(value, self.tokens) if isinstance(value, str) else value

    def _new_parent(self, session: str | None) -> str | None:
        return self.sessions.get(session, session) if session else session

    def _replace_session_name(self, text: str) -> str:
        """Rename the session in a title or sentence with its id."""
        pattern = rf"\bsession {re.escape(self.old.session_id)}(?![\w-])"
        return re.sub(pattern, lambda _: f"session {self.new.session_id}", text)


def map_entry_ids(books: Mapping[str, Book], new_ids: Mapping[str, str]) -> dict[str, str]:
    """Return new ids for the ids in the books of one scope: in use, forgotten, superseded or in a damaged marker.

    `books` are those of each kind and shelf, by any key; `new_ids` renames their scope. An id that hashes its entry's
    text becomes the hash of the renamed text; the id of an edited or deleted entry becomes a hash of the old id.
    """
    result: dict[str, str] = {}
    for _, book in sorted(books.items()):
        # The ids in the markers, damaged ones too; a number in the text is none.
        markers = (marker for part in book.parts for marker in _MARKER.findall(part.raw))
        for old in sorted({entry_id for marker in markers for entry_id in ENTRY_ID.findall(marker)}):
            result.setdefault(old, compute_entry_id(replace_ids(book.scope, new_ids), book.kind, old, None))
    for _, book in sorted(books.items()):
        for entry in book.entries:
            if entry.id == compute_entry_id(book.scope, book.kind, entry.body, entry.origin):
                origin = replace_ids(entry.origin, new_ids) if entry.origin else entry.origin
                scope, body = replace_ids(book.scope, new_ids), replace_ids(entry.body, new_ids)
                result[entry.id] = compute_entry_id(scope, book.kind, body, origin)
    return result


def replace_ids_in_file(data: bytes, new_ids: Mapping[str, str]) -> bytes:
    """Replace the ids in a book's file. Every other byte stays."""
    return replace_ids(data.decode("utf-8", "surrogateescape"), new_ids).encode("utf-8", "surrogateescape")
