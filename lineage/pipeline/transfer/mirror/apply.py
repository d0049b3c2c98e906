"""The steps of a mirror, carried out one file at a time.

The store that is mirrored is written first, the folder second, the journal last. What this mirror is about to write
there is noted before: after a crash it is known again, and nothing is merged with itself.
"""

from contextlib import nullcontext
from dataclasses import dataclass, fields
from itertools import count

from lineage.core.base.times import to_date
from lineage.core.format.documents import Artifact, Manifest, parse_document_as
from lineage.core.format.manifest import list_artifact_paths
from lineage.core.format.resanitization import Replacement, is_recorded_change
from lineage.documents.bundle_zip import SUFFIX, read_description
from lineage.errors import FormatError, ImmutableError
from lineage.pipeline.transfer.file_kinds import FileKind, classify_file
from lineage.pipeline.transfer.mirror.file_merge import MergedFile, conflict_name, merge_versions, validate_file
from lineage.pipeline.transfer.mirror.journal import MirrorJournal, SyncedContent
from lineage.pipeline.transfer.mirror.pair import (
    CLAIMS,
    GATE,
    HERE,
    THERE,
    MirrorPair,
    drop_removed_entries,
    hash_bytes,
    write_if_unchanged,
)
from lineage.pipeline.transfer.mirror.plan import MirrorAction, MirrorStep, SyncedStamps
from lineage.store import Blob, ConflictError, commit, read_or_none

_MAX_ATTEMPTS = 10
_MAX_BASE_BYTES = 1 << 20
_MERGED = (FileKind.MANIFEST, FileKind.BOOK, FileKind.NOTE)


@dataclass(slots=True)
class MirrorCounts:
    """How many files came from there (`pulled`), went there (`pushed`), were brought together (`merged`), deleted where
    the other side had, and put back where they had gone without a removal (`restored`)."""

    pulled: int = 0
    pushed: int = 0
    merged: int = 0
    deleted: int = 0
    restored: int = 0

    def __iadd__(self, other: "MirrorCounts") -> "MirrorCounts":
        for one in fields(MirrorCounts):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))
        return self


class MirrorApplier:
    """Carries out the steps of one pass. `present` are the keys on each side, here first."""

    def __init__(self, pair: MirrorPair, journal: MirrorJournal, present: tuple[set[str], set[str]]) -> None:
        self.counts = MirrorCounts()
        self.is_overtaken = False
        self._pair, self._journal, self._present = pair, journal, present

    def apply(self, step: MirrorStep) -> list[str]:
        """Does what a step says, as far as it still holds; the names under which versions were kept beside others.

        Raises ConflictError for a file that keeps changing, FormatError for one that nobody may copy.
        """
        if step.action is MirrorAction.FORGET:
            self._journal.forget(step.key)
            return []
        if step.action is MirrorAction.DELETE:
            self._delete(step)
            return []
        for _ in range(_MAX_ATTEMPTS):
            try:
                return self._sync_file(step.key, is_restored=step.action is MirrorAction.RESTORE)
            except ConflictError:
                continue
        raise ConflictError(f"{step.key} kept changing while it was being copied")

    def _sync_file(self, key: str, *, is_restored: bool = False) -> list[str]:
        """Makes a file the same on both sides, whatever it is on each by now."""
        here, there = (read_or_none(store, key) for store in self._pair.list_stores())
        if here is None and there is None:
            return []
        result = self._merge(key, here.data if here else None, there.data if there else None)
        if result is None:
            return []
        if classify_file(key) is FileKind.MANIFEST:
            self._sync_named(parse_document_as(Manifest, result.data, key))
        beside = [self._keep_beside(key, result.conflict_copy)] if result.conflict_copy is not None else []
        self._write(key, result.data, here, there, is_restored=is_restored)
        return beside

    def _merge(self, key: str, here: bytes | None, there: bytes | None) -> MergedFile | None:
        """What both sides shall hold; None where a note was deleted meanwhile, which the next round sees."""
        sort, agreed, base = classify_file(key), self._journal.find_content(key), self._find_base(key, there)
        if here is None or there is None:
            return self._resolve_missing(key, here, there, base) if agreed else self._copy(key, here, there)
        if here == there:
            return MergedFile(here)
        if sort is FileKind.ARTIFACT:
            return MergedFile(self._choose_replacement(key, here, there))
        if sort in _MERGED and base:
            if hash_bytes(here) == base.sha256:
                return MergedFile(validate_file(key, there))
            if hash_bytes(there) == base.sha256:
                return MergedFile(validate_file(key, here))
        if sort is FileKind.CLAIM:
            self._journal.mark_owed(CLAIMS)
        return merge_versions(key, base.base if base else None, here, there)

    def _find_base(self, key: str, there: bytes | None) -> SyncedContent | None:
        """What both sides began from: after a crash that is what went from here into the version there."""
        went = self._journal.find_expected(key, hash_bytes(there)) if there is not None else None
        return self._journal.find_content(key) if went is None else SyncedContent(hash_bytes(went), went)

    def _resolve_missing(
        self, key: str, here: bytes | None, there: bytes | None, base: SyncedContent | None
    ) -> MergedFile | None:
        """A file that one side has lost. A book is emptied of what it had; a changed note is put back, and so is what
        goes by a removal only."""
        if classify_file(key) is FileKind.BOOK:
            return merge_versions(key, base.base if base else None, here, there)
        data = here if there is None else there
        if classify_file(key) is FileKind.NOTE and base and data is not None and hash_bytes(data) == base.sha256:
            return None
        return self._copy(key, here, there)

    def _copy(self, key: str, here: bytes | None, there: bytes | None) -> MergedFile:
        data = validate_file(key, there if here is None else here)  # type: ignore[arg-type]
        bundle = read_description(data) if key.lower().endswith(SUFFIX) else None
        if bundle and not self._pair.list_removed_tokens().isdisjoint(bundle.all_tokens):
            raise FormatError(f"{key}: holds a removed session", hint="delete it")
        return MergedFile(data)

    def _choose_replacement(self, key: str, here: bytes, there: bytes) -> bytes:
        """The newer of two versions of an artifact, where its manifest says that it was replaced under new rules."""
        stems = {parse_document_as(Artifact, data, key).manifest_path for data in (here, there)}
        records = [record for path in sorted(stems) for record in self._load_records(path)]
        if is_recorded_change(records, key, hash_bytes(here), hash_bytes(there)):
            return there
        if is_recorded_change(records, key, hash_bytes(there), hash_bytes(here)):
            return here
        raise FormatError(f"{key}: is another file on each side", hint="restore the right one from a backup")

    def _load_records(self, path: str) -> list[Replacement]:
        blobs = (read_or_none(store, path) for store in self._pair.list_stores())
        found = [parse_document_as(Manifest, blob.data, path).replacements() for blob in blobs if blob]
        return list(dict.fromkeys(record for records in found for record in records))

    def _sync_named(self, manifest: Manifest) -> None:
        """A manifest names only what is there: what came after the listing comes before it."""
        for path in list_artifact_paths(manifest):
            if not all(path in keys for keys in self._present):
                self._sync_file(path)
            if not all(path in keys for keys in self._present):
                raise FormatError(f"{manifest.stem}: names {path}, which is on neither side", hint="lineage verify")

    def _keep_beside(self, key: str, data: bytes) -> str:
        """Keeps a version under another name here; it goes to the other side as any note."""
        for number in count(1):
            name = conflict_name(key, to_date(self._pair.here.now), number)
            try:
                commit(self._pair.select_store(is_here=True), name, data)
            except ImmutableError:
                continue
            break
        self._sync_file(name)
        return name

    def _write(self, key: str, data: bytes, here: Blob | None, there: Blob | None, *, is_restored: bool) -> None:
        if classify_file(key) is FileKind.BOOK:
            data = drop_removed_entries(key, data, self._pair.list_removed_tokens())
        is_new_here, is_new_there = (blob is None or blob.data != data for blob in (here, there))
        local, remote = self._pair.list_stores()
        for side in [HERE] * is_new_here + [THERE] * is_new_there:
            self._journal.mark_owed(side)
        if is_new_there:
            self._journal.note_expected(key, hash_bytes(data), here.data if here else b"")
        gated = is_new_there and there is not None and classify_file(key) is FileKind.NOTE
        with remote.lock(GATE) if gated else nullcontext():
            stamp = write_if_unchanged(remote, key, data, there)
        self._record(key, SyncedStamps(write_if_unchanged(local, key, data, here), stamp), data)
        self.counts.restored += is_restored
        self.counts.pulled += is_new_here and not is_new_there and not is_restored
        self.counts.pushed += is_new_there and not is_new_here and not is_restored
        self.counts.merged += is_new_here and is_new_there

    def _record(self, key: str, stamps: SyncedStamps, data: bytes) -> None:
        keeps = classify_file(key) in _MERGED and len(data) <= _MAX_BASE_BYTES
        self._journal.record(key, stamps, SyncedContent(hash_bytes(data), data if keeps else None))
        for keys in self._present:
            keys.add(key)

    def _delete(self, step: MirrorStep) -> None:
        """Deletes a note that the other side has deleted, where it is still what it was in step."""
        store, other = (self._pair.select_store(is_here=is_here) for is_here in (step.to_here, not step.to_here))
        agreed = self._journal.find_content(step.key)
        with nullcontext() if step.to_here else store.lock(GATE):
            blob = read_or_none(store, step.key)
            if agreed is None or read_or_none(other, step.key) or (blob and hash_bytes(blob.data) != agreed.sha256):
                raise ConflictError(f"{step.key} came back while it was being deleted")
            self._journal.mark_owed(HERE if step.to_here else THERE)
            store.delete(step.key)
        self._journal.forget(step.key)
        self.counts.deleted += 1
