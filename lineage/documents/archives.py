"""Archived artifacts: bundles by month, written once, read a bundle at a time. (core/archive.py)

What has to change in a bundle is written as the next revision of it, durably and read back, before the old one goes; of
two revisions the higher is in force, and `tidy` collects the other. So a reader finds the old state or the new one,
whenever a writer dies.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple

from lineage.core.transfer.archive_paths import (
    ARCHIVE,
    ArchiveRevision,
    bundles_folder,
    is_archivable,
    latest_revisions,
    month_of,
    parse_revision,
    select_members,
)
from lineage.errors import FormatError, WorkspaceError
from lineage.store import Blob, ConflictError, MissingError, Store, commit, read_or_none, update

if TYPE_CHECKING:  # zipfile and the description's tables cost a capture as much as its own imports
    from lineage.core.transfer.bundle import Bundle, Member

_MAX_ATTEMPTS = 20
_SLOT_CHARS = 16
_RESTORE_HINT = "restore the bundle from a backup or git, then run `lineage reindex`"
_NOTHING_LOST_HINT = "check the disk, then run the command again; nothing is lost"

BundleContents = Mapping[str, bytes | FormatError]
"""The members of a bundle: their bytes, or what is wrong with them."""


class Catalog(NamedTuple):
    """What a bundle in force holds. `stamp` is that of the bundle's file."""

    part: ArchiveRevision
    stamp: str
    bundle: "Bundle"
    members: Mapping[str, "Member"]


class _ReadCache:
    """What was read already, by key and stamp: catalogs, and the contents of one bundle."""

    def __init__(self) -> None:
        self.catalogs: dict[str, tuple[str, Bundle]] = {}
        self.contents: tuple[str, str, BundleContents] | None = None


class Archives:
    """The bundles below `archive/` in a store. Paths are those that the artifacts had in `memory/`."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._cache = _ReadCache()

    def iter_catalogs(self, month: str | None = None) -> Iterator[Catalog]:
        """What the readable bundles in force hold, of one month or of all, in order; `damaged` names the others."""
        return (found for found in self._read_catalogs(month) if isinstance(found, Catalog))

    def find_damaged(self) -> dict[str, str]:
        """Bundles in force that don't even say what they hold, with what is wrong with them."""
        found = (found for found in self._read_catalogs(None) if not isinstance(found, Catalog))
        return {part.path: error.message for part, error in found}

    def list_members(self, month: str | None = None) -> "dict[str, Member]":
        """Every archived artifact by its path, of one month or of all, in order."""
        found: dict[str, Member] = {}
        for catalog in reversed(list(self.iter_catalogs(month))):  # the first that holds one is in force, as in `read`
            found.update(catalog.members)
        return dict(sorted(found.items()))

    def has(self, path: str) -> bool:
        return self._find_holding(path) is not None

    def read(self, path: str) -> Blob | None:
        """An archived artifact, None where there is none. Its version is the hash of its content.

        Raises FormatError where its bundle or its part of that is damaged.
        """
        for _ in range(_MAX_ATTEMPTS):
            found = self._find_holding(path)
            if found is None:
                return None
            try:
                data = self.read_contents(found)[path]
            except MissingError:  # rewritten in the meantime
                continue
            if isinstance(data, FormatError):
                raise data
            return Blob(data, found.members[path].sha256, format_stamp(found.members[path]))
        raise ConflictError(f"the bundle of {path} kept changing while it was being read")

    def read_contents(self, catalog: Catalog) -> BundleContents:
        """The members of a bundle, each held against its hash. Raises MissingError where the bundle is gone by now, and
        FormatError where it can't be opened."""
        seen = self._cache.contents
        if seen and seen[:2] == (catalog.part.path, catalog.stamp):
            return seen[2]
        blob = self.store.read(catalog.part.path)
        contents = self._unpack(catalog.part, blob)
        # what a catalog names and its bundle lacks is damage of that one artifact
        missing = {path: _missing_member_error(path, catalog.part) for path in catalog.members.keys() - contents.keys()}
        self._cache.contents = (catalog.part.path, blob.stamp, {**contents, **missing})
        return self._cache.contents[2]

    def write_bundle(self, month: str, bundle: "Bundle", files: Mapping[str, bytes]) -> ArchiveRevision:
        """Writes a bundle of a month; durable and read back on return. `bundle` says what its sessions are."""
        from lineage.documents.bundle_zip import build_members, pack  # noqa: PLC0415

        whole = bundle._replace(members=build_members(files))
        data = pack(whole, files)
        part = ArchiveRevision(month, hashlib.sha256(data).hexdigest()[:_SLOT_CHARS], 1)
        with self._write_lock():
            self._write_revision(part, whole, data, files)
        return part

    def remove(self, paths: Iterable[str]) -> None:
        """Rewrites the bundles that hold artifacts at these paths without them; nothing happens where none does."""
        gone = set(filter(is_archivable, paths))

        def change(files: dict[str, bytes | FormatError]) -> dict[str, bytes | FormatError]:
            return {path: data for path, data in files.items() if path not in gone}

        self._rewrite_bundles(gone, change)

    def replace(self, path: str, data: bytes, version: str) -> None:
        """Rewrites the bundle of an artifact with other content, where it has `version` still, else ConflictError."""

        def change(files: dict[str, bytes | FormatError]) -> dict[str, bytes | FormatError]:
            if _version_of(files[path]) != version:
                raise ConflictError(f"{path} was changed by somebody else")
            return {**files, path: data}

        if not self._rewrite_bundles({path}, change):
            raise ConflictError(f"{path} was removed by somebody else")

    def delete_if_archived(self, path: str) -> bool:
        """Deletes the plain file of an artifact whose very bytes are archived, durably and as they were read back; True
        where it is gone. False where it holds something else: it stays."""
        plain = read_or_none(self.store, path)
        if plain is None:
            return True
        kept = self.read(path)
        if kept is None or kept.data != plain.data:
            return False
        self.store.delete(path)
        return True

    def collect_garbage(self) -> int:
        """Collects revisions that a whole one has superseded, and catalogs without a bundle; writes catalogs that are
        lost. How many files it was."""
        with self._write_lock():
            stamps = self._list_stamps(None)
            parts = latest_revisions(part for part, is_bundle in stamps if is_bundle)
            old = {(part, is_bundle) for part, is_bundle in stamps if part not in parts}
            due = {one for one in old if self._is_readable(one[0], parts)}
            for part, is_bundle in sorted(due):
                self.store.delete(part.path if is_bundle else part.catalog_path)
            lost = [
                found
                for found in self.iter_catalogs()
                if self._read_catalog(found.part.catalog_path, stamps.get((found.part, False), "")) is None
            ]
            for catalog in lost:
                self._write_catalog(catalog.part, catalog.bundle)
            return len(due) + len(lost)

    def find_superseded(self) -> list[ArchiveRevision]:
        """Revisions that are no longer in force and lie there still: a writer died, or a sync brought them back."""
        parts = [part for part, is_bundle in self._list_stamps(None) if is_bundle]
        return sorted(set(parts) - set(latest_revisions(parts)))

    def _read_catalogs(self, month: str | None) -> Iterator[Catalog | tuple[ArchiveRevision, FormatError]]:
        stamps = self._list_stamps(month)
        for part in latest_revisions(part for part, is_bundle in stamps if is_bundle):
            stamp = stamps[part, True]
            try:
                bundle = self._read_description(part, stamps)
            except MissingError:
                continue
            except FormatError as error:
                yield part, error
                continue
            yield Catalog(part, stamp, bundle, {member.path: member for member in bundle.members})

    def _list_stamps(self, month: str | None) -> dict[tuple[ArchiveRevision, bool], str]:
        """The stamp of every bundle (True) and catalog (False) that there is."""
        entries = self.store.list(bundles_folder(month) if month else ARCHIVE)
        return {found: entry.stamp for entry in entries if (found := parse_revision(entry.key))}

    def _read_description(self, part: ArchiveRevision, stamps: Mapping[tuple[ArchiveRevision, bool], str]) -> "Bundle":
        """What a bundle holds, as its catalog says; where that is lost or damaged, as it says itself."""
        if (part, False) in stamps:
            blob = self._read_catalog(part.catalog_path, stamps[part, False])
            if blob is not None:
                return blob
        known = self._cache.catalogs.get(part.path)
        if known is None or known[0] != stamps[part, True]:
            bundle = _salvage(self.store.read(part.path).data)[0]
            self._cache.catalogs[part.path] = known = (stamps[part, True], bundle)
        return known[1]

    def _read_catalog(self, key: str, stamp: str) -> "Bundle | None":
        """The description in a catalog, None where it is damaged or gone by now."""
        from lineage.core.transfer.bundle import parse_bundle  # noqa: PLC0415

        known = self._cache.catalogs.get(key)
        if known is None or known[0] != stamp:
            blob = read_or_none(self.store, key)
            try:
                bundle = parse_bundle(blob.data) if blob else None
            except FormatError:
                bundle = None
            if blob is None or bundle is None:
                return None
            self._cache.catalogs[key] = known = (stamp, bundle)
        return known[1]

    def _find_holding(self, path: str) -> Catalog | None:
        return next((catalog for catalog in self.iter_catalogs(month_of(path)) if path in catalog.members), None)

    def _write_lock(self) -> AbstractContextManager[None]:
        return self.store.lock("archive")

    def _rewrite_bundles(
        self,
        paths: set[str],
        change: Callable[[dict[str, bytes | FormatError]], dict[str, bytes | FormatError]],
    ) -> bool:
        """Rewrites every bundle that holds one of the paths; whether there was one."""
        months = sorted({month_of(path) for path in paths})
        if not any(paths & catalog.members.keys() for month in months for catalog in self.iter_catalogs(month)):
            return False
        with self._write_lock():
            for month in months:
                for catalog in [found for found in self.iter_catalogs(month) if paths & found.members.keys()]:
                    self._write_next_revision(catalog, change(dict(self.read_contents(catalog))))
        return True

    def _write_next_revision(self, catalog: Catalog, files: Mapping[str, bytes | FormatError]) -> None:
        """The next revision of a bundle, then the end of this one. Raises FormatError where a part of it that is to be
        kept is damaged."""
        from lineage.documents.bundle_zip import build_members, pack  # noqa: PLC0415

        kept = {path: _raise_if_damaged(data) for path, data in files.items()}
        if kept:
            whole = select_members(catalog.bundle, build_members(kept))
            self._write_revision(catalog.part.next_revision, whole, pack(whole, kept), kept)
        self._delete_revisions(catalog.part)
        self._cache.contents = None

    def _delete_revisions(self, part: ArchiveRevision) -> None:
        """Deletes a revision, after those before it that a writer who died left: none of them may be in force again."""
        slot = {found for found, _ in self._list_stamps(part.month) if found.slot == part.slot}
        for found in sorted(found for found in slot if found <= part):
            self.store.delete(found.path)
            self.store.delete(found.catalog_path)

    def _write_revision(self, part: ArchiveRevision, bundle: "Bundle", data: bytes, files: Mapping[str, bytes]) -> None:
        self._write_catalog(part, bundle)
        commit(self.store, part.path, data)
        blob = self.store.read(part.path)
        try:
            contents = self._unpack(part, blob)
        except FormatError:
            contents = {}
        if contents != files:
            self.store.delete(part.path)
            raise WorkspaceError(f"{part.path} was not read back as it was written", hint=_NOTHING_LOST_HINT)
        self._cache.contents = (part.path, blob.stamp, contents)

    def _write_catalog(self, part: ArchiveRevision, bundle: "Bundle") -> None:
        from lineage.core.transfer.bundle import serialize_bundle  # noqa: PLC0415

        update(self.store, part.catalog_path, lambda _: serialize_bundle(bundle))

    def _unpack(self, part: ArchiveRevision, blob: Blob) -> BundleContents:
        try:
            return _salvage(blob.data)[1]
        except FormatError as error:
            raise FormatError(f"{part.path}: {error.message}", hint=_RESTORE_HINT) from error

    def _is_readable(self, old: ArchiveRevision, parts: Iterable[ArchiveRevision]) -> bool:
        """Whether the revision in force of an old one's slot can be read, every byte of it; so it can where there is
        none: then only a catalog is left."""
        part = next((part for part in parts if (part.month, part.slot) == (old.month, old.slot)), None)
        try:
            contents = self._unpack(part, self.store.read(part.path)) if part else {}
        except (FormatError, MissingError):
            return False
        return all(isinstance(data, bytes) for data in contents.values())


def _salvage(data: bytes) -> "tuple[Bundle, BundleContents]":
    from lineage.documents.bundle_zip import OWN_LIMITS, salvage  # noqa: PLC0415

    return salvage(data, OWN_LIMITS)


def format_stamp(member: "Member") -> str:
    """What a listing shows for an archived artifact: its content's hash, in whichever bundle it lies by now."""
    return f"archived-{member.sha256}"


def _missing_member_error(path: str, part: ArchiveRevision) -> FormatError:
    return FormatError(f"{path} is not in {part.path}, which should hold it", hint=_RESTORE_HINT)


def _raise_if_damaged(data: bytes | FormatError) -> bytes:
    if isinstance(data, FormatError):
        raise data
    return data


def _version_of(data: bytes | FormatError) -> str:
    return hashlib.sha256(_raise_if_damaged(data)).hexdigest()
