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

from lineage.core.base import naming
from lineage.core.base.links import wikilink
from lineage.core.base.times import shift_time
from lineage.core.format.documents import Tombstone
from lineage.errors import NotFoundError, RemovedError
from lineage.pipeline.maintenance.reindex import reindex
from lineage.pipeline.maintenance.remove import remove
from lineage.pipeline.maintenance.verify import verify
from lineage.pipeline.memory.session_entries import forget_session_entries
from lineage.store import Store, read_or_none, update
from lineage.workspace.workspace import Workspace
from tests.support.books import write_entry
from tests.support.engines import create_bucket
from tests.support.faults import Crash, CrashPoint
from tests.support.memory_store import MemoryStore
from tests.support.mirrors import Laptop, open_world, read_documents
from tests.support.workspace import build_end_request, end_session, make_turns

pytestmark = pytest.mark.slow

SESSIONS = ("s-1", "s-2")
NOTES = ("Plans.md", "ideas/Later.md")
places = st.sampled_from(["fleet", "one", "two"])
laptops = st.sampled_from(["one", "two"])
sessions = st.sampled_from(SESSIONS)
notes = st.sampled_from(NOTES)


class Interruption(CrashPoint):
    """Somebody else acts before the k-th mutating call."""

    def __init__(self, at: int, act: Callable[[], object]) -> None:
        super().__init__()
        self._number, self._act = at, act

    def run(self, name: str, call: Callable[[], Any]) -> Any:
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
        self.world = self.opened.enter_context(open_world(folder, self.store()))
        self.fleet = self.world.open_workspace("fleet", self.world.remote)
        self.laptops = {name: self.world.open_laptop(name) for name in ("one", "two")}
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

    def ws(self, place: str) -> Workspace:
        """The house at a place, a minute later."""
        self.now = shift_time(self.now, milliseconds=60_000)
        ws = self.fleet if place == "fleet" else self.laptops[place].local
        return replace(ws, now=self.now)

    @rule(place=places, session=sessions)
    def capture(self, place: str, session: str) -> None:
        ws = self.ws(place)
        self.said[session] += [f"What about {self.word('ask')}?", f"It is {self.word('answer')}."]
        with suppress(RemovedError):
            end_session(ws, session, transcript=make_turns(*self.said[session]))
            self.captured[session].update(self.said[session])

    @rule(place=places, session=sessions)
    def learn(self, place: str, session: str) -> None:
        ws, token = self.ws(place), build_end_request(self.fleet, session).token
        stem = ws.documents.claims.get_stem(token)
        if stem and not ws.documents.tombstones.has(token):
            text = self.word("taught")
            write_entry(
                ws, "global", "fact", text, origin=wikilink(naming.artifact_path(stem, naming.TRANSCRIPT), "said")
            )
            self.taught[session].add(text)

    @rule(place=places)
    def remember(self, place: str) -> None:
        text = self.word("known")
        self.entries[text] = write_entry(self.ws(place), "global", "fact", text).id

    @rule(place=places, data=st.data())
    def forget(self, place: str, data: st.DataObject) -> None:
        if self.entries:
            text = data.draw(st.sampled_from(sorted(self.entries)))
            with suppress(NotFoundError):
                self.ws(place).documents.books.forget("global", "fact", self.entries[text])
                del self.entries[text]
                self.taken.add(text)

    @rule(place=places, session=sessions)
    def take_away(self, place: str, session: str) -> None:
        with suppress(NotFoundError):
            remove(self.ws(place), session, reason="asked")
            self.removed.add(session)

    @rule(name=laptops, note=notes, is_first=st.booleans())
    def edit(self, name: str, note: str, is_first: bool) -> None:
        line = self.word("line") + "\n"
        blob = read_or_none(self.laptops[name].local.documents.store, note)
        text = blob.data.decode() if blob else ""
        self.laptops[name].write(note, line + text if is_first else text + line)
        self.lines.add(line.strip())

    @rule(name=laptops, note=notes)
    def delete(self, name: str, note: str) -> None:
        store = self.laptops[name].local.documents.store
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
            self.laptop(name).mirror_with_crash(CrashPoint(at, after=after), confirmed=True)

    @rule(name=laptops, at=st.integers(1, 60), deed=st.sampled_from(["line", "entry", "removal"]), session=sessions)
    def be_interrupted(self, name: str, at: int, deed: str, session: str) -> None:
        deeds = {"line": self.line_there, "entry": self.entry_there, "removal": lambda: self.removal_there(session)}
        self.laptop(name).mirror_with_crash(Interruption(at, deeds[deed]), confirmed=True)

    def laptop(self, name: str) -> Laptop:
        """The laptop, a minute later."""
        self.now = shift_time(self.now, milliseconds=60_000)
        found = self.laptops[name]
        here, there = replace(found.local, now=self.now), replace(found.shared, now=self.now)
        return replace(found, local=here, shared=there)

    def line_there(self) -> None:
        """Another mirror brings a line."""
        line = self.word("line")
        self.lines.add(line)
        update(self.world.remote, NOTES[0], lambda data: (data or b"") + line.encode() + b"\n")

    def entry_there(self) -> None:
        text = self.word("known")
        self.entries[text] = write_entry(self.fleet, "global", "fact", text).id

    def removal_there(self, session: str) -> None:
        """The steps of a removal that no lock belongs to."""
        token = build_end_request(self.fleet, session).token
        if self.fleet.documents.claims.get_stem(token) is None:
            return
        self.fleet.documents.tombstones.put(
            Tombstone(
                kind="tombstone", agent_id="default", session_token=token, removed_at=self.now, reason="asked",
                removed_paths=[], removed_turns=[],
            )
        )  # fmt: skip
        for entry in list(self.world.remote.list(naming.MEMORY)):
            if token in entry.key and not entry.key.startswith(naming.TOMBSTONES):
                self.world.remote.delete(entry.key)
        forget_session_entries(self.fleet, token)
        self.removed.add(session)

    def teardown(self) -> None:
        if not hasattr(self, "opened"):
            return
        with self.opened:
            self.settle()
            sides = [self.fleet, *(laptop.local for laptop in self.laptops.values())]
            self.check(sides)

    def settle(self) -> None:
        for name in ("one", "two", "one", "two"):
            self.mirror(name)

    def check(self, sides: list[Workspace]) -> None:
        held = [read_documents(ws) for ws in sides]
        assert held[0] == held[1] == held[2]
        text = b"\n".join(held[0].values()).decode()
        kept = {session for session in SESSIONS if session not in self.removed}
        wanted = self.lines | set(self.entries) | {word for one in kept for word in self.captured[one]}
        wanted |= {word for session in kept for word in self.taught[session]}
        gone = {word for one in self.removed for word in (*self.said[one], *self.taught[one])} | self.taken
        assert sorted(word for word in wanted if word not in text) == [], "lost"
        assert sorted(word for word in gone if word in text) == [], "resurrected"
        for ws in sides:
            reindex(ws, confirmed=True)
            assert verify(ws) == []


class OverMemory(MirrorMachine):
    """A dictionary stands for the bucket."""


TestOverMemory = OverMemory.TestCase
TestOverMemory.settings = settings(max_examples=max(settings().max_examples // 3, 10), stateful_step_count=15)


class OverBucket(MirrorMachine):
    """SeaweedFS is the bucket."""

    def store(self) -> Store:
        return create_bucket()


class TestOverBucket(OverBucket.TestCase):  # type: ignore[misc]
    settings = settings(max_examples=5, stateful_step_count=10)
