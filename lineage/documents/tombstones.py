"""Tombstones over a store: every writer asks them for removed sessions (spec: deletion/removal)."""

import contextlib

from lineage.core.base import naming
from lineage.core.format.documents import Tombstone, parse_document_as, serialize_document
from lineage.errors import FormatError, RemovedError
from lineage.store import ExistsError, Store, StoredKey, map_concurrently, read_or_none


class Tombstones:
    """The tombstones of a workspace. Each is read for its removed turns once."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._turns_by_entry: dict[StoredKey, frozenset[str]] = {}

    def has(self, token: str) -> bool:
        """Return whether the session was removed. A damaged tombstone counts: a doubtful session stays removed."""
        return read_or_none(self.store, naming.tombstone_path(token)) is not None

    def get(self, token: str) -> Tombstone | None:
        """Return the tombstone of a session, None if there is none. Raises FormatError if it is damaged."""
        path = naming.tombstone_path(token)
        blob = read_or_none(self.store, path)
        return parse_document_as(Tombstone, blob.data, path) if blob else None

    def raise_if_removed(self, token: str) -> None:
        """Raise RemovedError if the session was removed."""
        if self.has(token):
            when = ""
            with contextlib.suppress(FormatError):
                tombstone = self.get(token)
                when = f" at {tombstone.removed_at}" if tombstone else ""
            raise RemovedError(f"session {token} was removed{when}; it is not captured again")

    def put(self, tombstone: Tombstone) -> bool:
        """Write a tombstone, durably. Return False if the session has one: the first one stays."""
        try:
            self.store.create(tombstone.path, serialize_document(tombstone), frozen=True)
        except ExistsError:
            return False
        return True

    def read_removed_turns(self) -> frozenset[str]:
        """Return the ids of all removed turns: a fork captured later must not bring them back."""
        entries = self._list_entries()
        unread = [entry for entry in entries if entry not in self._turns_by_entry]
        self._turns_by_entry.update(zip(unread, map_concurrently(self.store, self._read_turns, unread), strict=True))
        return frozenset[str]().union(*(self._turns_by_entry[entry] for entry in entries))

    def list_tokens(self) -> frozenset[str]:
        """Return the tokens of all removed sessions."""
        return frozenset(map(_token_of, self._list_entries()))

    def _list_entries(self) -> list[StoredKey]:
        return [entry for entry in self.store.list(naming.TOMBSTONES) if naming.is_claim_or_tombstone(entry.key)]

    def _read_turns(self, entry: StoredKey) -> frozenset[str]:
        with contextlib.suppress(FormatError):
            tombstone = self.get(_token_of(entry))
            return frozenset(tombstone.removed_turns if tombstone else ())
        return frozenset()


def _token_of(entry: StoredKey) -> str:
    return entry.key.removeprefix(naming.TOMBSTONES).removesuffix(".md")
