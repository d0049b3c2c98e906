"""The two sides of a mirror, and its steps, applied one file at a time.

The mirrored store is written first, the folder second, the journal last. The journal notes each write to the store
beforehand: after a crash the mirror knows its own write, and merges nothing with itself.
"""

import hashlib
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, fields
from functools import reduce
from itertools import count

from lineage.core.base import naming
from lineage.core.base.book_paths import parse_book_path
from lineage.core.base.note_paths import FOLDERS, replace_block
from lineage.core.base.times import to_date
from lineage.core.books.book import parse_book, serialize_book
from lineage.core.format.documents import Artifact, Manifest, parse_document_as
from lineage.core.format.manifest import list_artifact_paths
from lineage.core.format.resanitization import Replacement, is_recorded_change
from lineage.documents.bundle_zip import SUFFIX, read_description
from lineage.errors import FormatError, ImmutableError
from lineage.pipeline.memory.session_entries import remove_session
from lineage.pipeline.transfer.file_kinds import FileKind, classify_file, is_immutable
from lineage.pipeline.transfer.mirror.file_merge import MergedFile, conflict_name, merge_versions, validate_file
from lineage.pipeline.transfer.mirror.journal import MirrorJournal, SyncedContent
from lineage.pipeline.transfer.mirror.plan import MirrorAction, MirrorStep, SyncedStamps
from lineage.store import Blob, ConflictError, ExistsError, Store, commit, read_or_none
from lineage.workspace.workspace import Workspace

HERE, THERE, CLAIMS = "here", "there", "claims"
GATE = "mirror-notes"
"""The lock for notes, which only mirrors and people write: a deletion has no condition on the content."""

_MAX_ATTEMPTS = 10
_MAX_BASE_BYTES = 1 << 20  # a larger note is kept in two versions rather than merged
_MERGED = (FileKind.MANIFEST, FileKind.BOOK, FileKind.NOTE)


@dataclass(frozen=True, slots=True)
class MirrorPair:
    """The workspace of a folder, and the workspace that it mirrors."""

    here: Workspace
    there: Workspace

    def notice_archives(self) -> bool:
        """Choose the stores again. Return whether an archive has appeared on either side."""
        return any([self.here.documents.notice_archive(), self.there.documents.notice_archive()])

    def list_stores(self) -> tuple[Store, Store]:
        """Return the store here and the store there."""
        return self.here.documents.store, self.there.documents.store

    def list_removed_tokens(self) -> frozenset[str]:
        """Return the tokens of the sessions removed on either side by now."""
        return self.here.documents.tombstones.list_tokens() | self.there.documents.tombstones.list_tokens()


def write_if_unchanged(store: Store, key: str, data: bytes, there: Blob | None) -> str:
    """Write over the version that was read. Return the stamp of the result, "" if it has changed again since.

    Equal content is not written. Raises ConflictError if the file has changed.
    """
    if there is not None and there.data == data:
        return there.stamp
    if there is not None:
        store.replace(key, data, there.version, frozen=is_immutable(key))
    else:
        try:
            store.create(key, data, frozen=is_immutable(key))
        except ExistsError as error:
            raise ConflictError(f"{key} was made by somebody else") from error
    blob = read_or_none(store, key)
    return blob.stamp if blob and blob.data == data else ""


def drop_removed_entries(key: str, data: bytes, removed: Iterable[str]) -> bytes:
    """Return a book's file with the entries of removed sessions forgotten."""
    ref = parse_book_path(key)
    assert ref is not None
    tokens = sorted({*naming.find_tokens(data.decode("utf-8", "replace"))}.intersection(removed))
    if not tokens:
        return data
    return serialize_book(reduce(remove_session, tokens, parse_book(data, ref.scope, ref.kind)))


def hash_bytes(data: bytes) -> str:
    """Return the SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()


@dataclass(slots=True)
class MirrorCounts:
    """The number of files by the change: `pulled` from there, `pushed` to there, `merged` on both sides.

    `deleted` files follow the other side's deletion; `restored` ones were lost on one side without a removal.
    """

    pulled: int = 0
    pushed: int = 0
    merged: int = 0
    deleted: int = 0
    restored: int = 0

    def __iadd__(self, other: "MirrorCounts") -> "MirrorCounts":
        for count_field in fields(MirrorCounts):
            setattr(self, count_field.name, getattr(self, count_field.name) + getattr(other, count_field.name))
        return self


class MirrorApplier:
    """Applies the steps of one pass. `present` are the keys on each side, here first."""

    def __init__(self, pair: MirrorPair, journal: MirrorJournal, present: tuple[set[str], set[str]]) -> None:
        self.counts = MirrorCounts()
        self.is_overtaken = False
        self._pair, self._journal, self._present = pair, journal, present

    def apply(self, step: MirrorStep) -> list[str]:
        """Apply a step if it still holds; return the names of conflict copies. Raises ConflictError and FormatError."""
        if step.action is MirrorAction.FORGET or self._is_made_by_one_side(step.key):
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

    def _is_made_by_one_side(self, key: str) -> bool:
        """Return whether a file is a note of one side's sessions without a word of a person's.

        The other side archived these sessions, and has no note of them: copied there, it would be deleted again.
        """
        here, there = self._present
        if not key.startswith(FOLDERS) or (key in here) == (key in there):
            return False
        blob = next(filter(None, self._read_both(key)), None)
        own = replace_block(blob.data, None) if blob else None
        return own is not None and not own.strip()

    def _sync_file(self, key: str, *, is_restored: bool = False) -> list[str]:
        """Make a file the same on both sides, from its present state."""
        here, there = self._read_both(key)
        if here is None and there is None:
            return []
        result = self._merge(key, here.data if here else None, there.data if there else None)
        if result is None:
            return []
        if classify_file(key) is FileKind.MANIFEST:
            self._sync_named(parse_document_as(Manifest, result.data, key))
        copies = [self._write_conflict_copy(key, result.conflict_copy)] if result.conflict_copy is not None else []
        self._write(key, result.data, here, there, is_restored=is_restored)
        return copies

    def _read_both(self, key: str) -> tuple[Blob | None, Blob | None]:
        here, there = (read_or_none(store, key) for store in self._pair.list_stores())
        # a file that another process archived since this round began is not lost: no twin is written beside its bundle
        if (here is None or there is None) and self._pair.notice_archives():
            here, there = (read_or_none(store, key) for store in self._pair.list_stores())
        return here, there

    def _merge(self, key: str, here: bytes | None, there: bytes | None) -> MergedFile | None:
        """Return the content for both sides; None for a note deleted meanwhile, left to the next round."""
        kind, synced = classify_file(key), self._journal.find_content(key)
        # The common ancestor is the last synced version; after a crash, the one here that went into the one there.
        sent = self._journal.find_expected(key, hash_bytes(there)) if there is not None else None
        base = synced if sent is None else SyncedContent(hash_bytes(sent), sent)
        if here is None or there is None:
            return self._resolve_missing(key, here, there, base) if synced else self._copy(key, here, there)
        if here == there:
            return MergedFile(here)
        if kind is FileKind.ARTIFACT:
            return MergedFile(self._choose_replacement(key, here, there))
        if kind in _MERGED and base:
            if hash_bytes(here) == base.sha256:
                return MergedFile(validate_file(key, there))
            if hash_bytes(there) == base.sha256:
                return MergedFile(validate_file(key, here))
        if kind is FileKind.CLAIM:
            self._journal.mark_owed(CLAIMS)
        return merge_versions(key, base.base if base else None, here, there)

    def _resolve_missing(
        self, key: str, here: bytes | None, there: bytes | None, base: SyncedContent | None
    ) -> MergedFile | None:
        """Return the content of a file lost on one side: a book loses its old entries, a changed note returns."""
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
        """Return the newer of two versions of an artifact, by its manifest's records of resanitization."""
        records = list[Replacement]()
        for path in sorted({parse_document_as(Artifact, data, key).manifest_path for data in (here, there)}):
            blobs = (read_or_none(store, path) for store in self._pair.list_stores())
            manifests = [parse_document_as(Manifest, blob.data, path) for blob in blobs if blob]
            records += dict.fromkeys(record for manifest in manifests for record in manifest.replacements())
        if is_recorded_change(records, key, hash_bytes(here), hash_bytes(there)):
            return there
        if is_recorded_change(records, key, hash_bytes(there), hash_bytes(here)):
            return here
        raise FormatError(f"{key}: is another file on each side", hint="restore the right one from a backup")

    def _sync_named(self, manifest: Manifest) -> None:
        """Sync the artifacts that a manifest names before the manifest: some may be newer than the listing."""
        for path in list_artifact_paths(manifest):
            if not all(path in keys for keys in self._present):
                self._sync_file(path)
            if not all(path in keys for keys in self._present):
                raise FormatError(
                    f"{manifest.stem}: names {path}, which is on neither side", hint="run `lineage verify`"
                )

    def _write_conflict_copy(self, key: str, data: bytes) -> str:
        """Write a version under another name, and sync it like any note."""
        for number in count(1):
            name = conflict_name(key, to_date(self._pair.here.now), number)
            try:
                commit(self._pair.here.documents.store, name, data)
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
        # marked before the writes: a crash then costs a needless reindex, and no side misses one
        for side in [HERE] * is_new_here + [THERE] * is_new_there:
            self._journal.mark_owed(side)
        if is_new_there:
            # a crash after this write must not make the next round merge this version with itself
            self._journal.note_expected(key, hash_bytes(data), here.data if here else b"")
        replaces_note = is_new_there and there is not None and classify_file(key) is FileKind.NOTE
        with remote.lock(GATE) if replaces_note else nullcontext():
            stamp = write_if_unchanged(remote, key, data, there)
        stamps = SyncedStamps(write_if_unchanged(local, key, data, here), stamp)
        keeps_base = classify_file(key) in _MERGED and len(data) <= _MAX_BASE_BYTES
        self._journal.record(key, stamps, SyncedContent(hash_bytes(data), data if keeps_base else None))
        for keys in self._present:
            keys.add(key)
        self.counts.restored += is_restored
        self.counts.pulled += is_new_here and not is_new_there and not is_restored
        self.counts.pushed += is_new_there and not is_new_here and not is_restored
        self.counts.merged += is_new_here and is_new_there

    def _delete(self, step: MirrorStep) -> None:
        """Delete a note that the other side has deleted, if it has not changed since."""
        local, remote = self._pair.list_stores()
        store, other = (local, remote) if step.to_here else (remote, local)
        synced = self._journal.find_content(step.key)
        with nullcontext() if step.to_here else store.lock(GATE):
            blob = read_or_none(store, step.key)
            if synced is None or read_or_none(other, step.key) or (blob and hash_bytes(blob.data) != synced.sha256):
                raise ConflictError(f"{step.key} came back while it was being deleted")
            self._journal.mark_owed(HERE if step.to_here else THERE)
            store.delete(step.key)
        self._journal.forget(step.key)
        self.counts.deleted += 1
