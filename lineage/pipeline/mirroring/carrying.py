"""The steps of a mirror, carried out one file at a time.

The store that is mirrored is written first, the folder second, the journal last. What this mirror is about to write
there is noted before: after a crash it is known again, and nothing is merged with itself.
"""

from contextlib import nullcontext
from dataclasses import dataclass, fields
from itertools import count

from lineage.canon.bundles import SUFFIX, description_of
from lineage.core.documents import Artifact, Manifest, parsed_as
from lineage.core.mirror_contents import Met, checked, conflict_name, met
from lineage.core.mirror_plan import Action, Step, Synced
from lineage.core.mirrored import Sort, sort_of
from lineage.core.replacement import Replacement, leads
from lineage.core.times import day
from lineage.errors import FormatError, ImmutableError
from lineage.pipeline.mirroring.journal import Agreed, Journal
from lineage.pipeline.mirroring.sides import CLAIMS, GATE, HERE, THERE, Sides, book_without, put, sha256
from lineage.pipeline.reading import named_by
from lineage.store import Blob, ConflictError, commit, read_or_none

_MOST_ATTEMPTS = 10
_MOST_BASE_BYTES = 1 << 20
_MERGED = (Sort.MANIFEST, Sort.BOOK, Sort.NOTE)


@dataclass(slots=True)
class Counts:
    """How many files came from there (`pulled`), went there (`pushed`), were brought together (`merged`), deleted where
    the other side had, and put back where they had gone without a removal (`restored`)."""

    pulled: int = 0
    pushed: int = 0
    merged: int = 0
    deleted: int = 0
    restored: int = 0

    def __iadd__(self, other: "Counts") -> "Counts":
        for one in fields(Counts):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))
        return self


class Carrier:
    """Carries out the steps of one pass. `present` are the keys on each side, here first."""

    def __init__(self, sides: Sides, journal: Journal, present: tuple[set[str], set[str]]) -> None:
        self.counts = Counts()
        self.is_overtaken = False
        self._sides, self._journal, self._present = sides, journal, present

    def carry_out(self, step: Step) -> list[str]:
        """Does what a step says, as far as it still holds; the names under which versions were kept beside others.

        Raises ConflictError for a file that keeps changing, FormatError for one that nobody may copy.
        """
        if step.action is Action.FORGET:
            self._journal.forget(step.key)
            return []
        if step.action is Action.DELETE:
            self._delete(step)
            return []
        for _ in range(_MOST_ATTEMPTS):
            try:
                return self._settle(step.key, is_restored=step.action is Action.RESTORE)
            except ConflictError:
                continue
        raise ConflictError(f"{step.key} kept changing while it was being copied")

    def _settle(self, key: str, *, is_restored: bool = False) -> list[str]:
        """Makes a file the same on both sides, whatever it is on each by now."""
        here, there = (read_or_none(store, key) for store in self._sides.stores())
        if here is None and there is None:
            return []
        result = self._met(key, here.data if here else None, there.data if there else None)
        if result is None:
            return []
        if sort_of(key) is Sort.MANIFEST:
            self._bring_named(parsed_as(Manifest, result.data, key))
        beside = [self._kept_beside(key, result.beside)] if result.beside is not None else []
        self._write(key, result.data, here, there, is_restored=is_restored)
        return beside

    def _met(self, key: str, here: bytes | None, there: bytes | None) -> Met | None:
        """What both sides shall hold; None where a note was deleted meanwhile, which the next round sees."""
        sort, agreed, base = sort_of(key), self._journal.agreed(key), self._base(key, there)
        if here is None or there is None:
            return self._lone(key, here, there, base) if agreed else self._copied(key, here, there)
        if here == there:
            return Met(here)
        if sort is Sort.ARTIFACT:
            return Met(self._replacement(key, here, there))
        if sort in _MERGED and base:
            if sha256(here) == base.sha256:
                return Met(checked(key, there))
            if sha256(there) == base.sha256:
                return Met(checked(key, here))
        if sort is Sort.CLAIM:
            self._journal.owe(CLAIMS)
        return met(key, base.base if base else None, here, there)

    def _base(self, key: str, there: bytes | None) -> Agreed | None:
        """What both sides began from: after a crash that is what went from here into the version there."""
        went = self._journal.expected(key, sha256(there)) if there is not None else None
        return self._journal.agreed(key) if went is None else Agreed(sha256(went), went)

    def _lone(self, key: str, here: bytes | None, there: bytes | None, base: Agreed | None) -> Met | None:
        """A file that one side has lost. A book is emptied of what it had; a changed note is put back, and so is what
        goes by a removal only."""
        if sort_of(key) is Sort.BOOK:
            return met(key, base.base if base else None, here, there)
        data = here if there is None else there
        if sort_of(key) is Sort.NOTE and base and data is not None and sha256(data) == base.sha256:
            return None
        return self._copied(key, here, there)

    def _copied(self, key: str, here: bytes | None, there: bytes | None) -> Met:
        data = checked(key, there if here is None else here)  # type: ignore[arg-type]
        bundle = description_of(data) if key.lower().endswith(SUFFIX) else None
        if bundle and not self._sides.removed().isdisjoint(bundle.came_from):
            raise FormatError(f"{key}: holds a removed session", hint="delete it")
        return Met(data)

    def _replacement(self, key: str, here: bytes, there: bytes) -> bytes:
        """The newer of two versions of an artifact, where its manifest says that it was replaced under new rules."""
        stems = {parsed_as(Artifact, data, key).manifest_path for data in (here, there)}
        records = [record for path in sorted(stems) for record in self._records(path)]
        if leads(records, key, sha256(here), sha256(there)):
            return there
        if leads(records, key, sha256(there), sha256(here)):
            return here
        raise FormatError(f"{key}: is another file on each side", hint="restore the right one from a backup")

    def _records(self, path: str) -> list[Replacement]:
        blobs = (read_or_none(store, path) for store in self._sides.stores())
        found = [parsed_as(Manifest, blob.data, path).replacements() for blob in blobs if blob]
        return list(dict.fromkeys(record for records in found for record in records))

    def _bring_named(self, manifest: Manifest) -> None:
        """A manifest names only what is there: what came after the listing comes before it."""
        for path in named_by(manifest):
            if not all(path in keys for keys in self._present):
                self._settle(path)
            if not all(path in keys for keys in self._present):
                raise FormatError(f"{manifest.stem}: names {path}, which is on neither side", hint="lineage verify")

    def _kept_beside(self, key: str, data: bytes) -> str:
        """Keeps a version under another name here; it goes to the other side as any note."""
        for number in count(1):
            name = conflict_name(key, day(self._sides.here.now), number)
            try:
                commit(self._sides.of(is_here=True), name, data)
            except ImmutableError:
                continue
            break
        self._settle(name)
        return name

    def _write(self, key: str, data: bytes, here: Blob | None, there: Blob | None, *, is_restored: bool) -> None:
        if sort_of(key) is Sort.BOOK:
            data = book_without(key, data, self._sides.removed())
        is_new_here, is_new_there = (blob is None or blob.data != data for blob in (here, there))
        local, remote = self._sides.stores()
        for side in [HERE] * is_new_here + [THERE] * is_new_there:
            self._journal.owe(side)
        if is_new_there:
            self._journal.expect(key, sha256(data), here.data if here else b"")
        gated = is_new_there and there is not None and sort_of(key) is Sort.NOTE
        with remote.mutex(GATE) if gated else nullcontext():
            stamp = put(remote, key, data, there)
        self._note(key, Synced(put(local, key, data, here), stamp), data)
        self.counts.restored += is_restored
        self.counts.pulled += is_new_here and not is_new_there and not is_restored
        self.counts.pushed += is_new_there and not is_new_here and not is_restored
        self.counts.merged += is_new_here and is_new_there

    def _note(self, key: str, stamps: Synced, data: bytes) -> None:
        keeps = sort_of(key) in _MERGED and len(data) <= _MOST_BASE_BYTES
        self._journal.record(key, stamps, Agreed(sha256(data), data if keeps else None))
        for keys in self._present:
            keys.add(key)

    def _delete(self, step: Step) -> None:
        """Deletes a note that the other side has deleted, where it is still what it was in step."""
        store, other = (self._sides.of(is_here=is_here) for is_here in (step.to_here, not step.to_here))
        agreed = self._journal.agreed(step.key)
        with nullcontext() if step.to_here else store.mutex(GATE):
            blob = read_or_none(store, step.key)
            if agreed is None or read_or_none(other, step.key) or (blob and sha256(blob.data) != agreed.sha256):
                raise ConflictError(f"{step.key} came back while it was being deleted")
            self._journal.owe(HERE if step.to_here else THERE)
            store.delete(step.key)
        self._journal.forget(step.key)
        self.counts.deleted += 1
