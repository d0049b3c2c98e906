"""Archived artifacts: bundles by month, written once, read a bundle at a time (core/transfer/archive_paths.py).

A bundle never changes. The next revision is written durably and read back before the old one is deleted. The highest
revision of a slot is in force; `collect_garbage` deletes the others. A reader finds the old state or the new one,
wherever a writer dies.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from lineage.core.transfer.archive_paths import (
    ARCHIVE,
    ArchiveRevision,
    bundles_folder,
    is_archivable,
    latest_revisions,
    month_of,
    parse_revision,
)
from lineage.core.transfer.bundle import Bundle, Member, parse_bundle, select_members, serialize_bundle
from lineage.documents.bundle_zip import OWN_LIMITS, build_members, pack, salvage
from lineage.errors import FormatError, WorkspaceError
from lineage.store import Blob, ConflictError, MissingError, Store, commit, read_or_none, update

_MAX_ATTEMPTS = 20
_SLOT_CHARS = 16
_RESTORE_HINT = "restore the bundle from a backup or git, then run `lineage reindex`"
_NOTHING_LOST_HINT = "check the disk, then run the command again; nothing is lost"

BundleContents = Mapping[str, bytes | FormatError]
"""The members of a bundle by path: the bytes, or the error of a damaged one."""

_Stamps = Mapping[tuple[ArchiveRevision, bool], str]
"""The stamp of every bundle (True) and catalog (False)."""


@dataclass(frozen=True, slots=True)
class Catalog:
    """The contents of a bundle in force. `stamp` is that of the bundle's file."""

    revision: ArchiveRevision
    stamp: str
    bundle: Bundle
    members: Mapping[str, Member]


class _CachedContents(NamedTuple):
    path: str
    stamp: str
    contents: BundleContents


class Archives:
    """The bundles below `archive/` in a store. Artifacts keep the paths they had in `memory/`."""

    def __init__(self, store: Store) -> None:
        self.store = store
        # by key, with the stamp each was read at: every description, but the contents of the last bundle only
        self._descriptions: dict[str, tuple[str, Bundle]] = {}
        self._contents: _CachedContents | None = None

    def iter_catalogs(self, month: str | None = None) -> Iterator[Catalog]:
        """Yield the catalog of each readable bundle in force, of one month or of all, in order."""
        return (catalog for catalog in self._read_catalogs(month) if isinstance(catalog, Catalog))

    def find_damaged(self) -> dict[str, str]:
        """Return the bundles in force without a readable description, by path with the error's message."""
        results = (result for result in self._read_catalogs(None) if not isinstance(result, Catalog))
        return {revision.path: error.message for revision, error in results}

    def list_members(self, month: str | None = None) -> dict[str, Member]:
        """Return every archived artifact by path, of one month or of all, in order."""
        members: dict[str, Member] = {}
        for catalog in reversed(list(self.iter_catalogs(month))):  # the first catalog with a path wins, as in `read`
            members.update(catalog.members)
        return dict(sorted(members.items()))

    def has(self, path: str) -> bool:
        """Return whether an artifact is archived."""
        return self._find_catalog(path) is not None

    def read(self, path: str) -> Blob | None:
        """Return an archived artifact, its version a hash, or None. Raises FormatError for a damaged one."""
        for _ in range(_MAX_ATTEMPTS):
            catalog = self._find_catalog(path)
            if catalog is None:
                return None
            try:
                data = self.read_contents(catalog)[path]
            except MissingError:  # rewritten in the meantime
                continue
            member = catalog.members[path]
            return Blob(_raise_if_damaged(data), member.sha256, format_stamp(member))
        raise ConflictError(f"the bundle of {path} kept changing while it was being read")

    def read_contents(self, catalog: Catalog) -> BundleContents:
        """Return a bundle's checked members. Raises MissingError if it is gone, FormatError if unopenable."""
        path = catalog.revision.path
        cached = self._contents
        if cached and (cached.path, cached.stamp) == (path, catalog.stamp):
            return cached.contents
        blob = self.store.read(path)
        contents = dict(_unpack(path, blob))
        # a member in the catalog that the bundle lacks is damage to that one artifact
        for member in catalog.members.keys() - contents.keys():
            contents[member] = FormatError(f"{member} is not in {path}, which should hold it", hint=_RESTORE_HINT)
        self._contents = _CachedContents(path, blob.stamp, contents)
        return contents

    def write_bundle(self, month: str, bundle: Bundle, files: Mapping[str, bytes]) -> ArchiveRevision:
        """Write a bundle of a month, durably, and read it back. `bundle` describes the sessions of its files."""
        bundle = replace(bundle, members=build_members(files))
        data = pack(bundle, files)
        # named by content: a run that died and begins again writes the same bundle to the same slot
        revision = ArchiveRevision(month, hashlib.sha256(data).hexdigest()[:_SLOT_CHARS], 1)
        with self.store.lock("archive"):
            self._write_revision(revision, bundle, data, files)
        return revision

    def remove(self, paths: Iterable[str]) -> None:
        """Rewrite the bundles with artifacts at these paths, without them."""
        removed = set(filter(is_archivable, paths))

        def change(files: BundleContents) -> BundleContents:
            return {path: data for path, data in files.items() if path not in removed}

        self._rewrite_bundles(removed, change)

    def replace(self, path: str, data: bytes, version: str) -> None:
        """Rewrite the bundle of an artifact with new content. Raises ConflictError unless it still has `version`."""

        def change(files: BundleContents) -> BundleContents:
            if hashlib.sha256(_raise_if_damaged(files[path])).hexdigest() != version:
                raise ConflictError(f"{path} was changed by somebody else")
            return {**files, path: data}

        if not self._rewrite_bundles({path}, change):
            raise ConflictError(f"{path} was removed by somebody else")

    def delete_if_archived(self, path: str) -> bool:
        """Delete the plain file if the archive holds its bytes, read back. Return whether it is gone."""
        plain = read_or_none(self.store, path)
        if plain is None:
            return True
        archived = self.read(path)
        if archived is None or archived.data != plain.data:
            return False
        self.store.delete(path)
        return True

    def collect_garbage(self) -> int:
        """Delete superseded revisions that a readable one replaces; mend catalogs. Return how many files."""
        with self.store.lock("archive"):
            stamps = self._list_stamps(None)
            current = latest_revisions(revision for revision, is_bundle in stamps if is_bundle)
            superseded = sorted(key for key in stamps if key[0] not in current)
            deleted = [key for key in superseded if self._is_readable(key[0], current)]
            for revision, is_bundle in deleted:
                self.store.delete(revision.path if is_bundle else revision.catalog_path)
            lost = [
                catalog
                for catalog in self.iter_catalogs()
                if self._read_catalog(catalog.revision.catalog_path, stamps.get((catalog.revision, False), "")) is None
            ]
            for catalog in lost:
                self._write_catalog(catalog.revision, catalog.bundle)
            return len(deleted) + len(lost)

    def find_superseded(self) -> list[ArchiveRevision]:
        """Return the bundles no longer in force: a writer died, or a sync brought them back."""
        revisions = [revision for revision, is_bundle in self._list_stamps(None) if is_bundle]
        return sorted(set(revisions) - set(latest_revisions(revisions)))

    def _read_catalogs(self, month: str | None) -> Iterator[Catalog | tuple[ArchiveRevision, FormatError]]:
        stamps = self._list_stamps(month)
        for revision in latest_revisions(revision for revision, is_bundle in stamps if is_bundle):
            try:
                bundle = self._read_description(revision, stamps)
            except MissingError:  # rewritten or removed since the listing
                continue
            except FormatError as error:
                yield revision, error
                continue
            yield Catalog(revision, stamps[revision, True], bundle, {member.path: member for member in bundle.members})

    def _list_stamps(self, month: str | None) -> _Stamps:
        entries = self.store.list(bundles_folder(month) if month else ARCHIVE)
        return {key: entry.stamp for entry in entries if (key := parse_revision(entry.key))}

    def _read_description(self, revision: ArchiveRevision, stamps: _Stamps) -> Bundle:
        """Return the description in a bundle's catalog; in the bundle itself if that is lost or damaged."""
        if (revision, False) in stamps:
            bundle = self._read_catalog(revision.catalog_path, stamps[revision, False])
            if bundle is not None:
                return bundle
        stamp, cached = self._descriptions.get(revision.path, ("", None))
        if cached is None or stamp != stamps[revision, True]:
            cached = salvage(self.store.read(revision.path).data, OWN_LIMITS)[0]
            self._descriptions[revision.path] = (stamps[revision, True], cached)
        return cached

    def _read_catalog(self, key: str, stamp: str) -> Bundle | None:
        """Return the description in a catalog, None if it is damaged or gone by now."""
        cached_stamp, bundle = self._descriptions.get(key, ("", None))
        if bundle is not None and cached_stamp == stamp:
            return bundle
        blob = read_or_none(self.store, key)
        if blob is None:
            return None
        try:
            bundle = parse_bundle(blob.data)
        except FormatError:
            return None
        self._descriptions[key] = (stamp, bundle)
        return bundle

    def _find_catalog(self, path: str) -> Catalog | None:
        return next((catalog for catalog in self.iter_catalogs(month_of(path)) if path in catalog.members), None)

    def _rewrite_bundles(self, paths: set[str], change: Callable[[BundleContents], BundleContents]) -> bool:
        """Rewrite every bundle with one of the paths. Return whether there was one."""
        months = sorted({month_of(path) for path in paths})
        # asked before the lock: nearly every removal is of a session without archived artifacts
        if not any(paths & catalog.members.keys() for month in months for catalog in self.iter_catalogs(month)):
            return False
        with self.store.lock("archive"):
            for month in months:
                for catalog in [found for found in self.iter_catalogs(month) if paths & found.members.keys()]:
                    self._write_next_revision(catalog, change(self.read_contents(catalog)))
        return True

    def _write_next_revision(self, catalog: Catalog, files: BundleContents) -> None:
        """Write the next revision of a bundle, then delete this one. Raises FormatError if a file is damaged."""
        sound = {path: _raise_if_damaged(data) for path, data in files.items()}
        if sound:
            bundle = select_members(catalog.bundle, build_members(sound))
            self._write_revision(catalog.revision.next_revision, bundle, pack(bundle, sound), sound)
        # oldest first: a revision left by a writer that died must never be in force again
        slot = {revision for revision, _ in self._list_stamps(catalog.revision.month)}
        for old in sorted(one for one in slot if one.slot == catalog.revision.slot and one <= catalog.revision):
            self.store.delete(old.path)
            self.store.delete(old.catalog_path)
        self._contents = None

    def _write_revision(
        self, revision: ArchiveRevision, bundle: Bundle, data: bytes, files: Mapping[str, bytes]
    ) -> None:
        # the catalog first: a bundle is in force from its own write on, and a catalog alone counts for nothing
        self._write_catalog(revision, bundle)
        commit(self.store, revision.path, data)
        blob = self.store.read(revision.path)
        try:
            contents = _unpack(revision.path, blob)
        except FormatError:
            contents = {}  # unreadable, so not what was written
        if contents != files:
            self.store.delete(revision.path)
            raise WorkspaceError(f"{revision.path} was not read back as it was written", hint=_NOTHING_LOST_HINT)
        self._contents = _CachedContents(revision.path, blob.stamp, contents)

    def _write_catalog(self, revision: ArchiveRevision, bundle: Bundle) -> None:
        update(self.store, revision.catalog_path, lambda _: serialize_bundle(bundle))

    def _is_readable(self, old: ArchiveRevision, current: Iterable[ArchiveRevision]) -> bool:
        """Return whether all of the current revision of an old one's slot can be read; True without one."""
        newest = next((one for one in current if (one.month, one.slot) == (old.month, old.slot)), None)
        try:
            contents = _unpack(newest.path, self.store.read(newest.path)) if newest else {}
        except (FormatError, MissingError):
            return False
        return all(isinstance(data, bytes) for data in contents.values())


def format_stamp(member: Member) -> str:
    """Return the stamp of an archived artifact in a listing: its content's hash, the same in every bundle."""
    return f"archived-{member.sha256}"


def _unpack(path: str, blob: Blob) -> BundleContents:
    try:
        return salvage(blob.data, OWN_LIMITS)[1]
    except FormatError as error:
        raise FormatError(f"{path}: {error.message}", hint=_RESTORE_HINT) from error


def _raise_if_damaged(data: bytes | FormatError) -> bytes:
    if isinstance(data, FormatError):
        raise data
    return data
