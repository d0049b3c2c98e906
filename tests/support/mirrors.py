"""Mirrors for tests: a store that everybody shares, and folders of laptops, each a house over a store of its own."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lineage import store as engines
from lineage.pipeline.house import House
from lineage.pipeline.mirroring.journal import Journal
from lineage.pipeline.mirroring.mirror import Mirrored, mirrored
from lineage.pipeline.mirroring.sides import Sides
from lineage.store import Store
from lineage.store.memory import MemoryStore
from tests.support.faults import Fuse, Mortal, another_process, mortal
from tests.support.houses import NOW, house_at

_WRITING = frozenset({"record", "expect", "forget", "scrub", "owe", "paid"})


@dataclass
class Laptop:
    """A folder, its journal, and this machine's own house of what it mirrors."""

    name: str
    here: House
    there: House
    journal: Journal
    remote: Store

    def mirror(self, *, confirmed: bool = False) -> Mirrored:
        return mirrored(Sides(self.here, self.there), self.journal, confirmed=confirmed)

    def mirror_dying(self, fuse: Fuse, *, confirmed: bool = False) -> Mirrored:
        """A round that dies when the fuse burns, wherever that is: in a store, an index or the journal."""
        houses = []
        for house in (self.here, self.there):
            store, private = house.canon.archives.store, house.canon.spool.store
            houses.append(mortal(house, store, private, fuse))
        journal: Any = Mortal(self.journal, fuse, _WRITING, "journal")
        with another_process():
            return mirrored(Sides(*houses), journal, confirmed=confirmed)

    def write(self, key: str, text: str) -> None:
        """What a person saves in an editor."""
        store = self.here.canon.archives.store
        store.delete(key)
        store.create(key, text.encode())


@dataclass
class World:
    """A shared store, the fleet that writes there, and the laptops that mirror it."""

    folder: Path
    remote: Store
    opened: ExitStack = field(default_factory=ExitStack)

    def house(self, name: str, store: Store) -> House:
        made = house_at(self.folder / name, store=store, private=MemoryStore(), now=NOW)
        house = self.opened.enter_context(made)
        return house._replace(new_id=_numbered(name))

    def laptop(self, name: str) -> Laptop:
        journal = Journal(self.folder / name / "mirror.db")
        self.opened.callback(journal.close)
        there = self.house(f"{name}-there", self.remote)
        return Laptop(name, self.house(name, MemoryStore()), there, journal, self.remote)


@contextmanager
def world(folder: Path, remote: Store | None = None) -> Iterator[World]:
    made = World(folder, remote or engines.MemoryStore())
    with made.opened:
        yield made


def _numbered(name: str) -> Callable[[], str]:
    numbers = iter(range(1, 1 << 30))
    return lambda: f"{name}-{next(numbers)}"


def canonical(house: House) -> dict[str, bytes]:
    """What a store holds but MEMORY.md, which each renders itself."""
    store = house.canon.store
    return {
        e.key: store.read(e.key).data for e in store.list("") if not e.key.endswith("MEMORY.md") or "AGENT" in e.key
    }
