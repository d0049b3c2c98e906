"""Mirrors for tests: one shared store, and folders of laptops, each a workspace over a store of its own."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lineage.pipeline.transfer.mirror.apply import MirrorPair
from lineage.pipeline.transfer.mirror.journal import MirrorJournal
from lineage.pipeline.transfer.mirror.run import MirrorResult, run_mirror
from lineage.store import Store
from lineage.workspace.workspace import Workspace
from tests.support import memory_store
from tests.support.faults import CrashingProxy, CrashPoint, run_as_other_process, with_crash_point
from tests.support.memory_store import LaptopStore
from tests.support.workspace import NOW, open_test_workspace

_WRITING = frozenset({"record", "expect", "forget", "scrub", "owe", "paid"})


@dataclass
class Laptop:
    """A folder, its journal, and this machine's own workspace of what it mirrors."""

    name: str
    local: Workspace
    shared: Workspace
    journal: MirrorJournal
    remote: Store

    def mirror(self, *, confirmed: bool = False) -> MirrorResult:
        return run_mirror(MirrorPair(self.local, self.shared), self.journal, confirmed=confirmed)

    def mirror_with_crash(self, fuse: CrashPoint, *, confirmed: bool = False) -> MirrorResult:
        """A round that dies when the fuse burns, wherever that is: in a store, an index or the journal."""
        workspaces = []
        for ws in (self.local, self.shared):
            store, private = ws.documents.base, ws.documents.spool.store
            workspaces.append(with_crash_point(ws, store, private, fuse))
        journal: Any = CrashingProxy(self.journal, fuse, _WRITING, "journal")
        with run_as_other_process():
            return run_mirror(MirrorPair(*workspaces), journal, confirmed=confirmed)

    def write(self, key: str, text: str) -> None:
        """What a person saves in an editor."""
        store = self.local.documents.base
        store.delete(key)
        store.create(key, text.encode())


@dataclass
class MirrorWorld:
    """A shared store, the fleet that writes there, and the laptops that mirror it."""

    folder: Path
    remote: Store
    exit_stack: ExitStack = field(default_factory=ExitStack)

    def open_workspace(self, name: str, store: Store) -> Workspace:
        made = open_test_workspace(self.folder / name, store=store, private=LaptopStore(), now=NOW)
        ws = self.exit_stack.enter_context(made)
        return replace(ws, new_id=_number_ids(name))

    def open_laptop(self, name: str) -> Laptop:
        journal = MirrorJournal(self.folder / name / "mirror.db")
        self.exit_stack.callback(journal.close)
        there = self.open_workspace(f"{name}-there", self.remote)
        return Laptop(name, self.open_workspace(name, LaptopStore()), there, journal, self.remote)


@contextmanager
def open_world(folder: Path, remote: Store | None = None) -> Iterator[MirrorWorld]:
    made = MirrorWorld(folder, remote or memory_store.MemoryStore())
    with made.exit_stack:
        yield made


def _number_ids(name: str) -> Callable[[], str]:
    numbers = iter(range(1, 1 << 30))
    return lambda: f"{name}-{next(numbers)}"


def read_documents(ws: Workspace) -> dict[str, bytes]:
    """What a store holds but MEMORY.md, which each renders itself."""
    store = ws.documents.store
    return {
        e.key: store.read(e.key).data for e in store.list("") if not e.key.endswith("MEMORY.md") or "AGENT" in e.key
    }
