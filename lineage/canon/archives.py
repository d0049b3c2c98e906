"""Archived artifacts: bundles by month, written once, read a bundle at a time. (core/archive.py)

What has to change in a bundle is written as the next revision of it, durably and read back, before the old one goes; of
two revisions the higher is in force, and `tidy` collects the other. So a reader finds the old state or the new one,
whenever a writer dies.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple

from lineage.core.archive import ARCHIVE, Part, bundles_folder, in_force, is_archivable, month_of, narrowed, parse_part
from lineage.errors import FormatError, WorkspaceError
from lineage.store import Blob, ConflictError, MissingError, Store, commit, read_or_none, update

if TYPE_CHECKING:  # zipfile and the description's tables cost a capture as much as its own imports
    from lineage.core.bundle import Bundle, Member

_MOST_ATTEMPTS = 20
_SLOT = 16
_RESTORE = "restore the bundle from a backup or git, then run `lineage reindex`"
_LOST_NOTHING = "check the disk, then run the command again; nothing is lost"

Contents = Mapping[str, bytes | FormatError]
"""The members of a bundle: their bytes, or what is wrong with them."""


class Catalog(NamedTuple):
    """What a bundle in force holds. `stamp` is that of the bundle's file."""

    part: Part
    stamp: str
    bundle: "Bundle"
    members: Mapping[str, "Member"]


class _Seen:
    """What was read already, by key and stamp: catalogs, and the contents of one bundle."""

    def __init__(self) -> None:
        self.catalogs: dict[str, tuple[str, Bundle]] = {}
        self.contents: tuple[str, str, Contents] | None = None


class Archives:
    """The bundles below `archive/` in a store. Paths are those that the artifacts had in `memory/`."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._seen = _Seen()

    def catalogs(self, month: str | None = None) -> Iterator[Catalog]:
        """What the readable bundles in force hold, of one month or of all, in order; `damaged` names the others."""
        return (found for found in self._catalogs(month) if isinstance(found, Catalog))

    def damaged(self) -> dict[str, str]:
        """Bundles in force that don't even say what they hold, with what is wrong with them."""
        found = (found for found in self._catalogs(None) if not isinstance(found, Catalog))
        return {part.path: error.message for part, error in found}

    def members(self, month: str | None = None) -> "dict[str, Member]":
        """Every archived artifact by its path, of one month or of all, in order."""
        found: dict[str, Member] = {}
        for catalog in reversed(list(self.catalogs(month))):  # the first that holds one is in force, as in `read`
            found.update(catalog.members)
        return dict(sorted(found.items()))

    def holds(self, path: str) -> bool:
        return self._holding(path) is not None

    def read(self, path: str) -> Blob | None:
        """An archived artifact, None where there is none. Its version is the hash of its content.

        Raises FormatError where its bundle or its part of that is damaged.
        """
        for _ in range(_MOST_ATTEMPTS):
            found = self._holding(path)
            if found is None:
                return None
            try:
                data = self.contents(found)[path]
            except MissingError:  # rewritten in the meantime
                continue
            if isinstance(data, FormatError):
                raise data
            return Blob(data, found.members[path].sha256, stamp_of(found.members[path]))
        raise ConflictError(f"the bundle of {path} kept changing while it was being read")

    def contents(self, catalog: Catalog) -> Contents:
        """The members of a bundle, each held against its hash. Raises MissingError where the bundle is gone by now, and
        FormatError where it can't be opened."""
        seen = self._seen.contents
        if seen and seen[:2] == (catalog.part.path, catalog.stamp):
            return seen[2]
        blob = self.store.read(catalog.part.path)
        contents = self._opened(catalog.part, blob)
        # what a catalog names and its bundle lacks is damage of that one artifact
        missing = {path: _lacking(path, catalog.part) for path in catalog.members.keys() - contents.keys()}
        self._seen.contents = (catalog.part.path, blob.stamp, {**contents, **missing})
        return self._seen.contents[2]

    def put(self, month: str, bundle: "Bundle", files: Mapping[str, bytes]) -> Part:
        """Writes a bundle of a month; durable and read back on return. `bundle` says what its sessions are."""
        from lineage.canon.bundles import members_of, packed  # noqa: PLC0415

        whole = bundle._replace(members=members_of(files))
        data = packed(whole, files)
        part = Part(month, hashlib.sha256(data).hexdigest()[:_SLOT], 1)
        with self._writing():
            self._write(part, whole, data, files)
        return part

    def drop(self, paths: Iterable[str]) -> None:
        """Rewrites the bundles that hold artifacts at these paths without them; nothing happens where none does."""
        gone = set(filter(is_archivable, paths))

        def change(files: dict[str, bytes | FormatError]) -> dict[str, bytes | FormatError]:
            return {path: data for path, data in files.items() if path not in gone}

        self._change(gone, change)

    def swap(self, path: str, data: bytes, version: str) -> None:
        """Rewrites the bundle of an artifact with other content, where it has `version` still, else ConflictError."""

        def change(files: dict[str, bytes | FormatError]) -> dict[str, bytes | FormatError]:
            if _version(files[path]) != version:
                raise ConflictError(f"{path} was changed by somebody else")
            return {**files, path: data}

        if not self._change({path}, change):
            raise ConflictError(f"{path} was removed by somebody else")

    def give_way(self, path: str) -> bool:
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

    def tidy(self) -> int:
        """Collects revisions that a whole one has superseded, and catalogs without a bundle; writes catalogs that are
        lost. How many files it was."""
        with self._writing():
            stamps = self._stamps(None)
            parts = in_force(part for part, is_bundle in stamps if is_bundle)
            old = {(part, is_bundle) for part, is_bundle in stamps if part not in parts}
            due = {one for one in old if self._is_whole_now(one[0], parts)}
            for part, is_bundle in sorted(due):
                self.store.delete(part.path if is_bundle else part.catalog)
            lost = [
                found
                for found in self.catalogs()
                if self._known(found.part.catalog, stamps.get((found.part, False), "")) is None
            ]
            for catalog in lost:
                self._describe(catalog.part, catalog.bundle)
            return len(due) + len(lost)

    def superseded(self) -> list[Part]:
        """Revisions that are no longer in force and lie there still: a writer died, or a sync brought them back."""
        parts = [part for part, is_bundle in self._stamps(None) if is_bundle]
        return sorted(set(parts) - set(in_force(parts)))

    def _catalogs(self, month: str | None) -> Iterator[Catalog | tuple[Part, FormatError]]:
        stamps = self._stamps(month)
        for part in in_force(part for part, is_bundle in stamps if is_bundle):
            stamp = stamps[part, True]
            try:
                bundle = self._described(part, stamps)
            except MissingError:
                continue
            except FormatError as error:
                yield part, error
                continue
            yield Catalog(part, stamp, bundle, {member.path: member for member in bundle.members})

    def _stamps(self, month: str | None) -> dict[tuple[Part, bool], str]:
        """The stamp of every bundle (True) and catalog (False) that there is."""
        entries = self.store.list(bundles_folder(month) if month else ARCHIVE)
        return {found: entry.stamp for entry in entries if (found := parse_part(entry.key))}

    def _described(self, part: Part, stamps: Mapping[tuple[Part, bool], str]) -> "Bundle":
        """What a bundle holds, as its catalog says; where that is lost or damaged, as it says itself."""
        if (part, False) in stamps:
            blob = self._known(part.catalog, stamps[part, False])
            if blob is not None:
                return blob
        known = self._seen.catalogs.get(part.path)
        if known is None or known[0] != stamps[part, True]:
            bundle = _salvaged(self.store.read(part.path).data)[0]
            self._seen.catalogs[part.path] = known = (stamps[part, True], bundle)
        return known[1]

    def _known(self, key: str, stamp: str) -> "Bundle | None":
        """The description in a catalog, None where it is damaged or gone by now."""
        from lineage.core.bundle import parsed_bundle  # noqa: PLC0415

        known = self._seen.catalogs.get(key)
        if known is None or known[0] != stamp:
            blob = read_or_none(self.store, key)
            try:
                bundle = parsed_bundle(blob.data) if blob else None
            except FormatError:
                bundle = None
            if blob is None or bundle is None:
                return None
            self._seen.catalogs[key] = known = (stamp, bundle)
        return known[1]

    def _holding(self, path: str) -> Catalog | None:
        return next((catalog for catalog in self.catalogs(month_of(path)) if path in catalog.members), None)

    def _writing(self) -> AbstractContextManager[None]:
        return self.store.mutex("archive")

    def _change(
        self,
        paths: set[str],
        change: Callable[[dict[str, bytes | FormatError]], dict[str, bytes | FormatError]],
    ) -> bool:
        """Rewrites every bundle that holds one of the paths; whether there was one."""
        months = sorted({month_of(path) for path in paths})
        if not any(paths & catalog.members.keys() for month in months for catalog in self.catalogs(month)):
            return False
        with self._writing():
            for month in months:
                for catalog in [found for found in self.catalogs(month) if paths & found.members.keys()]:
                    self._rewrite(catalog, change(dict(self.contents(catalog))))
        return True

    def _rewrite(self, catalog: Catalog, files: Mapping[str, bytes | FormatError]) -> None:
        """The next revision of a bundle, then the end of this one. Raises FormatError where a part of it that is to be
        kept is damaged."""
        from lineage.canon.bundles import members_of, packed  # noqa: PLC0415

        kept = {path: _sound(data) for path, data in files.items()}
        if kept:
            whole = narrowed(catalog.bundle, members_of(kept))
            self._write(catalog.part.next, whole, packed(whole, kept), kept)
        self._end(catalog.part)
        self._seen.contents = None

    def _end(self, part: Part) -> None:
        """Deletes a revision, after those before it that a writer who died left: none of them may be in force again."""
        slot = {found for found, _ in self._stamps(part.month) if found.slot == part.slot}
        for found in sorted(found for found in slot if found <= part):
            self.store.delete(found.path)
            self.store.delete(found.catalog)

    def _write(self, part: Part, bundle: "Bundle", data: bytes, files: Mapping[str, bytes]) -> None:
        self._describe(part, bundle)
        commit(self.store, part.path, data)
        blob = self.store.read(part.path)
        try:
            contents = self._opened(part, blob)
        except FormatError:
            contents = {}
        if contents != files:
            self.store.delete(part.path)
            raise WorkspaceError(f"{part.path} was not read back as it was written", hint=_LOST_NOTHING)
        self._seen.contents = (part.path, blob.stamp, contents)

    def _describe(self, part: Part, bundle: "Bundle") -> None:
        from lineage.core.bundle import described  # noqa: PLC0415

        update(self.store, part.catalog, lambda _: described(bundle))

    def _opened(self, part: Part, blob: Blob) -> Contents:
        try:
            return _salvaged(blob.data)[1]
        except FormatError as error:
            raise FormatError(f"{part.path}: {error.message}", hint=_RESTORE) from error

    def _is_whole_now(self, old: Part, parts: Iterable[Part]) -> bool:
        """Whether the revision in force of an old one's slot can be read, every byte of it; so it can where there is
        none: then only a catalog is left."""
        part = next((part for part in parts if (part.month, part.slot) == (old.month, old.slot)), None)
        try:
            contents = self._opened(part, self.store.read(part.path)) if part else {}
        except (FormatError, MissingError):
            return False
        return all(isinstance(data, bytes) for data in contents.values())


def _salvaged(data: bytes) -> "tuple[Bundle, Contents]":
    from lineage.canon.bundles import OWN_LIMITS, salvaged  # noqa: PLC0415

    return salvaged(data, OWN_LIMITS)


def stamp_of(member: "Member") -> str:
    """What a listing shows for an archived artifact: its content's hash, in whichever bundle it lies by now."""
    return f"archived-{member.sha256}"


def _lacking(path: str, part: Part) -> FormatError:
    return FormatError(f"{path} is not in {part.path}, which should hold it", hint=_RESTORE)


def _sound(data: bytes | FormatError) -> bytes:
    if isinstance(data, FormatError):
        raise data
    return data


def _version(data: bytes | FormatError) -> str:
    return hashlib.sha256(_sound(data)).hexdigest()
