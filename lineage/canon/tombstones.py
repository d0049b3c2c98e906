"""Tombstones: removed sessions, read by every writer. (spec: deletion/removal)"""

import contextlib
from dataclasses import dataclass

from lineage.core import naming
from lineage.core.documents import Tombstone, parsed_as, serialized
from lineage.errors import FormatError, RemovedError
from lineage.store import ExistsError, Store, read_or_none


@dataclass(frozen=True, slots=True)
class Tombstones:
    store: Store

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
        turns: set[str] = set()
        for token in self.tokens():
            with contextlib.suppress(FormatError):
                tombstone = self.get(token)
                turns.update(tombstone.removed_turns if tombstone else ())
        return frozenset(turns)

    def tokens(self) -> frozenset[str]:
        """The tokens of all removed sessions."""
        names = (entry.key.removeprefix(naming.TOMBSTONES) for entry in self.store.list(naming.TOMBSTONES))
        return frozenset(name.removesuffix(".md") for name in names if name.endswith(".md"))

    def _when(self, token: str) -> str:
        try:
            tombstone = self.get(token)
        except FormatError:
            return ""
        return f" at {tombstone.removed_at}" if tombstone else ""
