"""Tombstones: removed sessions, read by every writer. (spec: deletion/removal)"""

import contextlib

from lineage.core import naming
from lineage.core.documents import Tombstone, parsed_as, serialized
from lineage.errors import FormatError, RemovedError
from lineage.store import Entry, ExistsError, Store, read_or_none, together


class Tombstones:
    """`store` is the workspace. What a tombstone lists is read once."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._turns: dict[Entry, frozenset[str]] = {}

    def has(self, token: str) -> bool:
        """Whether the session was removed. A damaged tombstone counts: what is in doubt stays removed."""
        return read_or_none(self.store, naming.tombstone_path(token)) is not None

    def get(self, token: str) -> Tombstone | None:
        path = naming.tombstone_path(token)
        blob = read_or_none(self.store, path)
        return parsed_as(Tombstone, blob.data, path) if blob else None

    def refuse(self, token: str) -> None:
        """Raises RemovedError where the session was removed."""
        if self.has(token):
            raise RemovedError(f"session {token} was removed{self._when(token)}; it is not captured again")

    def put(self, tombstone: Tombstone) -> bool:
        """Buries a session, durably; False where it is buried already: the first tombstone stays."""
        try:
            self.store.create(tombstone.path, serialized(tombstone), frozen=True)
        except ExistsError:
            return False
        return True

    def removed_turns(self) -> frozenset[str]:
        """The ids of all removed turns: a fork that was not captured yet must not bring them back."""
        there = self._entries()
        unread = [entry for entry in there if entry not in self._turns]
        self._turns.update(zip(unread, together(self.store, self._turns_in, unread), strict=True))
        return frozenset[str]().union(*(self._turns[entry] for entry in there))

    def tokens(self) -> frozenset[str]:
        """The tokens of all removed sessions."""
        return frozenset(map(_token, self._entries()))

    def _entries(self) -> list[Entry]:
        return [entry for entry in self.store.list(naming.TOMBSTONES) if naming.is_register(entry.key)]

    def _turns_in(self, entry: Entry) -> frozenset[str]:
        """The ids of the turns that a tombstone lists; none where it is damaged."""
        with contextlib.suppress(FormatError):
            tombstone = self.get(_token(entry))
            return frozenset(tombstone.removed_turns if tombstone else ())
        return frozenset()

    def _when(self, token: str) -> str:
        try:
            tombstone = self.get(token)
        except FormatError:
            return ""
        return f" at {tombstone.removed_at}" if tombstone else ""


def _token(entry: Entry) -> str:
    return entry.key.removeprefix(naming.TOMBSTONES).removesuffix(".md")
