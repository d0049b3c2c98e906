"""A store with an archive behind it against a dictionary: nobody above can tell where an artifact lies.

Artifacts of two months are created, replaced, deleted, packed in any grouping, and their plain files give way, or
don't; writers die at any call; bundles' catalogs are lost; the store is tidied. After each step every read, the listing
and its stamps are those of a dictionary; equal stamps mean equal content.

Fails with `plain` read behind the archive's listing, without `holds` in `create`, without `drop` in `delete`, with the
lowest revision in force, without the comparison in `delete_if_archived`, and where `_end` leaves older revisions.
"""

import hashlib
from collections.abc import Iterator

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lineage.core.base import naming
from lineage.core.base.naming import Identity
from lineage.core.transfer.archive_paths import ARCHIVE, month_of, parse_revision
from lineage.core.transfer.bundle import SESSIONS, Bundle, BundledSession
from lineage.documents.archive.archived_store import ArchivedStore
from lineage.documents.archive.archives import Archives
from lineage.store import ConflictError, ExistsError, read_or_none
from tests.support.faults import Crash, CrashingProxy, CrashPoint
from tests.support.memory_store import MemoryStore

WHO = [Identity("default", f"s-{number}") for number in (1, 2)]
TIMES = ("2026-01-05T10:00:00.000Z", "2026-01-31T23:59:59.999Z", "2026-02-01T00:00:00.000Z")
PATHS = [
    *(naming.artifact_path(naming.build_stem(time, WHO[0].token), naming.TRANSCRIPT) for time in TIMES),
    *(naming.artifact_path(naming.build_stem(TIMES[0], who.token), naming.SUMMARY) for who in WHO),
]
OTHERS = [
    "memory/mine.md",
    naming.artifact_path(naming.build_stem(TIMES[0], WHO[0].token), naming.MANIFEST),
    "books/x.md",
]

paths = st.sampled_from(PATHS)
keys = st.sampled_from([*PATHS, *OTHERS])
contents = st.binary(max_size=40)


class ArchiveMachine(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.plain = MemoryStore()
        self.model: dict[str, bytes] = {}
        self.stamps: dict[tuple[str, str], bytes] = {}
        self.open()
        for path in PATHS[:3]:
            self.create(path, path.encode())
        self.pack(set(PATHS[:2]), gives_way=True, death=None)

    def open(self, fuse: CrashPoint | None = None) -> ArchivedStore:
        below = CrashingProxy(self.plain, fuse, ("create", "replace", "delete"), "store") if fuse else self.plain
        archives = Archives(below)
        store = ArchivedStore(below, archives)
        if fuse is None:
            self.store = store
        return store

    @rule(key=keys, data=contents)
    def create(self, key: str, data: bytes) -> None:
        try:
            self.store.create(key, data, frozen=True)
        except ExistsError:
            assert key in self.model
        else:
            assert key not in self.model
            self.model[key] = data

    @precondition(lambda self: self.model)
    @rule(draw=st.data(), data=contents, is_current=st.booleans())
    def replace(self, draw: st.DataObject, data: bytes, is_current: bool) -> None:
        key = draw.draw(st.sampled_from(sorted(self.model)))
        version = self.store.read(key).version if is_current else "another"
        try:
            new = self.store.replace(key, data, version, frozen=True)
        except ConflictError:
            assert not is_current
        else:
            assert is_current
            self.model[key] = data
            assert self.store.read(key).version == new

    @rule(key=keys)
    def delete(self, key: str) -> None:
        self.store.delete(key)
        self.model.pop(key, None)

    @rule(chosen=st.sets(paths, min_size=1), gives_way=st.booleans(), death=st.none() | st.integers(1, 12))
    def pack(self, chosen: set[str], gives_way: bool, death: int | None) -> None:
        """Plain files go into a bundle of their month each; the run may die."""
        store = self.open(CrashPoint(death)) if death else self.store
        try:
            for month, files in self.plain_files(chosen):
                if not any(store.archives.has(path) for path in files):
                    store.archives.write_bundle(month, _bundle(files), files)
                for path in files if gives_way else ():
                    assert store.archives.delete_if_archived(path)
        except Crash:
            self.open()
        self.settle()

    @rule(chosen=st.sets(paths, min_size=1), death=st.integers(1, 12))
    def die_in_a_drop(self, chosen: set[str], death: int) -> None:
        """A removal that dies is finished by the next try."""
        try:
            store = self.open(CrashPoint(death))
            for path in sorted(chosen):
                store.delete(path)
        except Crash:
            self.open()
        self.store.archives.remove(chosen)
        for path in chosen:
            self.delete(path)

    @rule(path=paths, data=contents)
    def other_content_comes_back(self, path: str, data: bytes) -> None:
        """A plain file is what is read, and it never gives way to other bytes than its own."""
        if not self.store.archives.has(path) or data == self.model[path]:
            return
        self.plain.create(path, data)
        assert self.store.read(path).data == data
        assert not self.store.archives.delete_if_archived(path)
        assert self.plain.read(path).data == data
        self.store.archives.remove([path])
        self.model[path] = data

    @rule(draw=st.data())
    def lose_a_catalog(self, draw: st.DataObject) -> None:
        found = [entry.key for entry in self.plain.list(ARCHIVE) if entry.key.endswith(".json")]
        if found:
            self.plain.delete(draw.draw(st.sampled_from(found)))

    @rule()
    def tidy(self) -> None:
        self.store.collect_garbage()
        assert self.store.archives.find_superseded() == []
        parts = [parse_revision(entry.key) for entry in self.plain.list(ARCHIVE)]
        assert sorted(found[0] for found in parts if found and found[1]) == sorted(
            found[0] for found in parts if found and not found[1]
        )
        assert self.store.collect_garbage() == 0

    @rule()
    def reopen(self) -> None:
        self.open()

    @invariant()
    def what_is_read_and_listed_is_the_model_s(self) -> None:
        if not hasattr(self, "plain"):
            return
        for key in [*PATHS, *OTHERS]:
            blob = read_or_none(self.store, key)
            assert (blob.data if blob else None) == self.model.get(key), key
        listed = {entry.key: entry.stamp for entry in self.store.list(naming.MEMORY)}
        assert list(listed) == sorted(key for key in self.model if key.startswith(naming.MEMORY))
        assert self.store.stat_all(naming.MEMORY) == listed
        assert listed.items() <= {entry.key: entry.stamp for entry in self.store.list("")}.items()
        for key, stamp in listed.items():
            assert self.store.read(key).stamp == stamp
            assert self.stamps.setdefault((key, stamp), self.model[key]) == self.model[key]
            assert [e.key for e in self.store.list(naming.MEMORY, key)] == [other for other in listed if other > key]

    def plain_files(self, chosen: set[str]) -> Iterator[tuple[str, dict[str, bytes]]]:
        for month in sorted({month_of(path) for path in chosen}):
            found = {path: read_or_none(self.plain, path) for path in sorted(chosen) if month_of(path) == month}
            files = {path: blob.data for path, blob in found.items() if blob}
            held = self.store.archives.list_members(month)
            if files and not held.keys() & files.keys():
                yield month, files

    def settle(self) -> None:
        """What lies in two places gives way, as the end of an archive run has it."""
        for path, member in self.store.archives.list_members().items():
            plain = read_or_none(self.plain, path)
            if plain:
                assert hashlib.sha256(plain.data).hexdigest() == member.sha256
                assert self.store.archives.delete_if_archived(path)


def _bundle(files: dict[str, bytes]) -> Bundle:
    tokens = {token for path in files for token in naming.find_tokens(path)}
    held = [BundledSession(who.agent_id, who.session_id, None, who.token) for who in WHO if who.token in tokens]
    return Bundle(
        holds=SESSIONS,
        exported_at="",
        lineage_version="1",
        sanitizer_version="1",
        private=False,
        sessions=tuple(held),
        members=(),
    )


TestArchive = pytest.mark.slow(ArchiveMachine.TestCase)
TestArchive.settings = settings(settings.default, stateful_step_count=30)


def test_what_a_writer_who_died_left_is_never_in_force_again() -> None:
    """Found by the machine: a bundle lost its last artifact while an older revision lay there still."""
    machine = ArchiveMachine()
    machine.begin()
    machine.die_in_a_drop(chosen={PATHS[1]}, death=3)
    machine.delete(key=PATHS[0])
    machine.what_is_read_and_listed_is_the_model_s()
