"""Two laptops and a fleet over one memory, in any order of steps, with kills and with others acting in the middle.

Whatever happens, when everybody has been in step once more: no word is lost that nobody took away, nothing of a removed
session is anywhere, all sides are the same, and `verify` finds nothing. What makes it fail: a copy before the
tombstones; a merge without what both began from; a deletion without a look at what it deletes; a book that is merged
with itself after a crash; no second look for what was removed meanwhile.
"""

import tempfile
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from lineage.core import naming
from lineage.core.documents import Tombstone
from lineage.core.links import wikilink
from lineage.core.times import shifted
from lineage.errors import NotFoundError, RemovedError
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.forgetting import forget_taught
from lineage.pipeline.upkeep.reindexing import reindex
from lineage.pipeline.upkeep.removal import remove
from lineage.pipeline.upkeep.verification import verify
from lineage.store import MemoryStore, Store, read_or_none, update
from tests.support.books import put
from tests.support.engines import fresh_bucket
from tests.support.faults import Crash, Fuse
from tests.support.houses import end, end_request, turns
from tests.support.mirrors import Laptop, canonical, world

pytestmark = pytest.mark.slow

SESSIONS = ("s-1", "s-2")
NOTES = ("Plans.md", "ideas/Later.md")
places = st.sampled_from(["fleet", "one", "two"])
laptops = st.sampled_from(["one", "two"])
sessions = st.sampled_from(SESSIONS)
notes = st.sampled_from(NOTES)


class Interruption(Fuse):
    """Somebody else acts before the k-th mutating call."""

    def __init__(self, at: int, act: Callable[[], object]) -> None:
        super().__init__()
        self._number, self._act = at, act

    def burn(self, name: str, call: Callable[[], Any]) -> Any:
        self.calls.append(name)
        if len(self.calls) == self._number:
            self._act()
        return call()


class MirrorMachine(RuleBasedStateMachine):
    """The model knows every word that was written, and which of them somebody took away."""

    @initialize()
    def begin(self) -> None:
        self.opened = ExitStack()
        folder = Path(self.opened.enter_context(tempfile.TemporaryDirectory(prefix="mirror-machine-")))
        self.world = self.opened.enter_context(world(folder, self.store()))
        self.fleet = self.world.house("fleet", self.world.remote)
        self.laptops = {name: self.world.laptop(name) for name in ("one", "two")}
        self.now = "2026-11-20T00:00:00.000Z"
        self.number = 0
        self.said: dict[str, list[str]] = {session: [] for session in SESSIONS}
        self.captured: dict[str, set[str]] = defaultdict(set)
        self.removed: set[str] = set()
        self.entries: dict[str, str] = {}
        self.taught: dict[str, set[str]] = defaultdict(set)
        self.lines: set[str] = set()
        self.taken: set[str] = set()

    def store(self) -> Store:
        return MemoryStore()

    def word(self, about: str) -> str:
        self.number += 1
        return f"{about}{self.number:04d}zq"

    def house(self, place: str) -> House:
        """The house at a place, a minute later."""
        self.now = shifted(self.now, milliseconds=60_000)
        house = self.fleet if place == "fleet" else self.laptops[place].here
        return house._replace(now=self.now)

    @rule(place=places, session=sessions)
    def capture(self, place: str, session: str) -> None:
        house = self.house(place)
        self.said[session] += [f"What about {self.word('ask')}?", f"It is {self.word('answer')}."]
        with suppress(RemovedError):
            end(house, session, transcript=turns(*self.said[session]))
            self.captured[session].update(self.said[session])

    @rule(place=places, session=sessions)
    def learn(self, place: str, session: str) -> None:
        house, token = self.house(place), end_request(self.fleet, session).token
        stem = house.canon.claims.stem_of(token)
        if stem and not house.canon.tombstones.has(token):
            text = self.word("taught")
            put(house, "global", "fact", text, origin=wikilink(naming.artifact_path(stem, naming.TRANSCRIPT), "said"))
            self.taught[session].add(text)

    @rule(place=places)
    def remember(self, place: str) -> None:
        text = self.word("known")
        self.entries[text] = put(self.house(place), "global", "fact", text).id

    @rule(place=places, data=st.data())
    def forget(self, place: str, data: st.DataObject) -> None:
        if self.entries:
            text = data.draw(st.sampled_from(sorted(self.entries)))
            with suppress(NotFoundError):
                self.house(place).canon.books.forget("global", "fact", self.entries[text])
                del self.entries[text]
                self.taken.add(text)

    @rule(place=places, session=sessions)
    def take_away(self, place: str, session: str) -> None:
        with suppress(NotFoundError):
            remove(self.house(place), session, reason="asked")
            self.removed.add(session)

    @rule(name=laptops, note=notes, is_first=st.booleans())
    def edit(self, name: str, note: str, is_first: bool) -> None:
        line = self.word("line") + "\n"
        blob = read_or_none(self.laptops[name].here.canon.store, note)
        text = blob.data.decode() if blob else ""
        self.laptops[name].write(note, line + text if is_first else text + line)
        self.lines.add(line.strip())

    @rule(name=laptops, note=notes)
    def delete(self, name: str, note: str) -> None:
        store = self.laptops[name].here.canon.store
        blob = read_or_none(store, note)
        if blob:
            self.lines -= set(blob.data.decode().split())
            store.delete(note)

    @rule(name=laptops)
    def mirror(self, name: str) -> None:
        done = self.laptop(name).mirror(confirmed=True)
        assert (done.findings, done.deferred) == ([], [])

    @rule(name=laptops, at=st.integers(1, 120), after=st.booleans())
    def die(self, name: str, at: int, after: bool) -> None:
        with suppress(Crash):
            self.laptop(name).mirror_dying(Fuse(at, after=after), confirmed=True)

    @rule(name=laptops, at=st.integers(1, 60), deed=st.sampled_from(["line", "entry", "removal"]), session=sessions)
    def be_interrupted(self, name: str, at: int, deed: str, session: str) -> None:
        deeds = {"line": self.line_there, "entry": self.entry_there, "removal": lambda: self.removal_there(session)}
        self.laptop(name).mirror_dying(Interruption(at, deeds[deed]), confirmed=True)

    def laptop(self, name: str) -> Laptop:
        """The laptop, a minute later."""
        self.now = shifted(self.now, milliseconds=60_000)
        found = self.laptops[name]
        here, there = found.here._replace(now=self.now), found.there._replace(now=self.now)
        return replace(found, here=here, there=there)

    def line_there(self) -> None:
        """Another mirror brings a line."""
        line = self.word("line")
        self.lines.add(line)
        update(self.world.remote, NOTES[0], lambda data: (data or b"") + line.encode() + b"\n")

    def entry_there(self) -> None:
        text = self.word("known")
        self.entries[text] = put(self.fleet, "global", "fact", text).id

    def removal_there(self, session: str) -> None:
        """The steps of a removal that no lock belongs to."""
        token = end_request(self.fleet, session).token
        if self.fleet.canon.claims.stem_of(token) is None:
            return
        self.fleet.canon.tombstones.put(
            Tombstone(
                kind="tombstone", agent_id="default", session_token=token, removed_at=self.now, reason="asked",
                removed_paths=[], removed_turns=[],
            )
        )  # fmt: skip
        for entry in list(self.world.remote.list(naming.MEMORY)):
            if token in entry.key and not entry.key.startswith(naming.TOMBSTONES):
                self.world.remote.delete(entry.key)
        forget_taught(self.fleet, token)
        self.removed.add(session)

    def teardown(self) -> None:
        if not hasattr(self, "opened"):
            return
        with self.opened:
            self.settle()
            sides = [self.fleet, *(laptop.here for laptop in self.laptops.values())]
            self.check(sides)

    def settle(self) -> None:
        for name in ("one", "two", "one", "two"):
            self.mirror(name)

    def check(self, sides: list[House]) -> None:
        held = [canonical(house) for house in sides]
        assert held[0] == held[1] == held[2]
        text = b"\n".join(held[0].values()).decode()
        kept = {session for session in SESSIONS if session not in self.removed}
        wanted = self.lines | set(self.entries) | {word for one in kept for word in self.captured[one]}
        wanted |= {word for session in kept for word in self.taught[session]}
        gone = {word for one in self.removed for word in (*self.said[one], *self.taught[one])} | self.taken
        assert sorted(word for word in wanted if word not in text) == [], "lost"
        assert sorted(word for word in gone if word in text) == [], "resurrected"
        for house in sides:
            reindex(house, confirmed=True)
            assert verify(house) == []


class OverMemory(MirrorMachine):
    """A dictionary stands for the bucket."""


TestOverMemory = OverMemory.TestCase
TestOverMemory.settings = settings(max_examples=max(settings().max_examples // 3, 10), stateful_step_count=15)


class OverBucket(MirrorMachine):
    """SeaweedFS is the bucket."""

    def store(self) -> Store:
        return fresh_bucket()


class TestOverBucket(OverBucket.TestCase):  # type: ignore[misc]
    settings = settings(max_examples=5, stateful_step_count=10)
