"""A whole workspace against a dictionary, in any order of commands, crashes and losses. (law 1; law 3)

Two agents have sessions with the same ids. They grow, are ended, ended twice, compacted and removed; commands die at
any of their mutating calls; databases are lost, files vanish and come back, removed ones too; the clock jumps. After
every step:

- **nothing is lost**: the turns of a session that a command reported captured lie in its transcripts, each once and in
  the order of the conversation, and every compaction that was reported lies there once;
- **what was said is learned once**: each statement of a captured turn is one entry in the books, however often its
  capture was finished, repaired or made again; one that was forgotten stays away;
- **nothing is resurrected**: of a removed session there is no row, no search hit, no ledger row, no entry, and captures
  of it are refused;
- **nothing bleeds**: no agent's MEMORY.md or search shows what is another's.

After a recovery, everything that vanished being back, `verify` finds nothing but files of removed sessions that the
machine itself put there, a second recovery changes no byte, no byte of a removed session is left in any other file, and
MEMORY.md is that of a workspace which holds the canonical files alone.

Where a sync took a file away and the session went on without it, or the whole of `.lineage/` was lost while a capture
was under way, a turn may be captured twice: `disturbed`. It is never captured less than once. Where all of `.lineage/`
was lost in the middle of a removal, MEMORY.md shows the session until it is rendered again: `unrendered`.

Tried, each makes it fail: without the tombstone asked first in `capture_session`, without `tombstones.put`,
`index.forget`
or `index.scrub` in pipeline/upkeep/removal.py, without the agent in the index's queries of the ledger and of search,
without the manifest's line in core/planner.py, without `max` in `_moment`, with a capture that begins at the first turn
again, without `seen.spooled` in the planner's line about knowledge, and without `forget_session_entries` in
pipeline/upkeep/removal.py.
"""

import itertools
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lineage.core.base import naming
from lineage.core.base.book_paths import BOOKS
from lineage.core.base.naming import Identity
from lineage.core.base.times import shift_time
from lineage.core.capture.request import COMPACTION, SESSION_END, Request, parse_request
from lineage.core.format import transcript
from lineage.core.format.documents import Artifact
from lineage.pipeline.capture.session import CAPTURED, REFUSED, UNCHANGED
from lineage.pipeline.capture.session_end import capture_session
from lineage.pipeline.maintenance.finish_pending import finish_pending, run_capture
from lineage.pipeline.maintenance.recover import recover
from lineage.pipeline.maintenance.reindex import ensure_indexed, reindex
from lineage.pipeline.maintenance.remove import REMOVAL, remove
from lineage.pipeline.maintenance.verify import verify
from lineage.pipeline.memory.books import forget_entry
from lineage.store import LocalStore, Store
from lineage.workspace.lookup import load_document
from lineage.workspace.workspace import Workspace
from tests.support.faults import CrashPoint, crashes, with_crash_point
from tests.support.indexes import INDEX, RUNTIME, delete_database
from tests.support.memory_store import MemoryStore
from tests.support.workspace import NOW, at_time, open_test_workspace, read_store

AGENTS = ("default", "reviewer")
MINUTE = 60_000
JUMPS = (MINUTE, 60 * MINUTE, 26 * 60 * MINUTE, 0, -61 * MINUTE, -50 * 60 * MINUTE)
SAID = re.compile("entry [0-9a-f]{16} is what a removed session said")
CAME_BACK = ("a removed session's file came back", "a removed session's book came back")
SAYINGS = (
    "Turn {n} is about {word}.py and {word}.",
    "I prefer {word} number {n} over all the others.",
    "We decided to keep {word}.py number {n} as it is.",
    "It turns out that {word}.py number {n} fails without a lock.",
)
"""What the user states, what the agent decides and a lesson, beside what is not worth an entry."""

Flow = Callable[[Workspace], object]


class Who(NamedTuple):
    """A session of an agent. `word` is in each of its texts and in nobody else's."""

    agent: str
    session: str
    word: str

    @property
    def token(self) -> str:
        return Identity(self.agent, self.session).token


EVERYBODY = (
    Who("default", "s-1", "kestrel"),
    Who("default", "s-2", "plover"),
    Who("reviewer", "s-1", "curlew"),
)
anybody = st.sampled_from(EVERYBODY)
deaths = st.tuples(st.integers(1, 30), st.booleans())


class WorkspaceMachine(RuleBasedStateMachine):
    """Commands as the command line runs them, on a workspace that is opened anew after every loss."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="workspace-machine-"))
        self.store, self.private = self.stores()
        self.now = NOW
        self.said: dict[Who, list[str]] = {who: [] for who in EVERYBODY}
        self.captured: dict[Who, int] = dict.fromkeys(EVERYBODY, 0)
        self.compacted: dict[Who, list[str]] = {who: [] for who in EVERYBODY}
        self.removed: set[Who] = set()
        self.disturbed: set[Who] = set()
        self.unrendered: set[Who] = set()
        self.half_removed: set[Who] = set()
        self.vanished: dict[str, bytes] = {}
        self.buried: dict[str, bytes] = {}
        self.brought_back: set[str] = set()
        self.forgotten: dict[str, str] = {}
        self.writes, self.numbers = itertools.count(1), itertools.count(1)
        self.open()

    def stores(self) -> tuple[Store, Store]:
        raise NotImplementedError

    def open(self) -> None:
        self.opened = ExitStack()
        ws = self.opened.enter_context(open_test_workspace(self.folder, store=self.store, private=self.private))
        self.ws = replace(ws, new_id=lambda: f"write-{next(self.writes)}")

    def teardown(self) -> None:
        if hasattr(self, "opened"):
            self.opened.close()
            shutil.rmtree(self.folder)

    # commands

    @rule(who=anybody, turns=st.integers(0, 3))
    def converse_and_end(self, who: Who, turns: int) -> None:
        self.converse(who, turns)
        self.signal_the_end(who, self.now)

    @rule(who=anybody, turns=st.integers(0, 3), jump=st.sampled_from(JUMPS))
    def converse_and_end_twice(self, who: Who, turns: int, jump: int) -> None:
        self.converse(who, turns)
        self.signal_the_end(who, self.now)
        assert self.signal_the_end(who, shift_time(self.now, milliseconds=jump)) != CAPTURED

    @rule(who=anybody, shorter=st.integers(1, 3))
    def end_with_less_than_is_captured(self, who: Who, shorter: int) -> None:
        less = max(self.captured[who] - shorter, 0)
        if less and who not in self.disturbed and not self.files_are_missing(who):
            finished = [CAPTURED] if self.ws.documents.spool.list_pending(who.token) else []
            status = run_capture(self.ready(), self.end_request(who, self.now, less)).status
            assert status in (UNCHANGED, REFUSED, *finished)

    @rule(who=anybody)
    def compact(self, who: Who) -> None:
        summary = f"Goal {next(self.numbers)}: look at {who.word}.py."
        asked = self.compaction_request(who, summary)
        statuses = [run_capture(self.ready(), asked).status for _ in range(2)]
        self.note_removals()
        if who in self.removed:
            assert statuses[1] == REFUSED
        elif not self.is_being_removed(who):
            assert statuses == [CAPTURED, UNCHANGED]
            self.compacted[who].append(summary)

    @precondition(lambda self: self.removable())
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        who = data.draw(st.sampled_from(self.removable()))
        self.buried |= self.files_of(who)
        self.removal(self.ready(), who)
        self.unrendered.clear()
        self.note_success("remove", who)
        self.no_byte_is_left_of(who)

    @rule()
    def reindex(self) -> None:
        ws = self.ready()
        finish_pending(ws)
        reindex(ws, confirmed=True)
        self.unrendered.clear()
        self.note_removals()

    @rule()
    def recover_meanwhile(self) -> None:
        recover(self.ready())
        self.unrendered.clear()
        self.note_removals()

    @rule()
    def recover(self) -> None:
        self.bring_everything_back()
        ws = self.ready()
        recover(ws)
        self.unrendered.clear()
        self.note_removals()
        before = read_store(self.store) | read_store(self.store, BOOKS)
        assert self.findings(ws) == []
        recover(ws)
        assert read_store(self.store) | read_store(self.store, BOOKS) == before
        scratch = self.memory_mds_from_scratch(before)
        for path, shown in memory_mds(before).items():
            assert shown == scratch[path] if path in scratch else b"session=" not in shown
        for who in self.removed:
            self.no_byte_is_left_of(who)

    @precondition(lambda self: self.entries())
    @rule(data=st.data())
    def forget_an_entry(self, data: st.DataObject) -> None:
        identifier, text = data.draw(st.sampled_from(sorted(self.entries())))
        forget_entry(self.ready(), identifier)
        self.forgotten[identifier] = text

    # the world

    @rule(who=anybody, turns=st.integers(1, 3), flow=st.sampled_from(["end", "compact"]), death=deaths)
    def die_in_a_capture(self, who: Who, turns: int, flow: str, death: tuple[int, bool]) -> None:
        self.converse(who, turns)
        self.die_in(flow, who, death)

    @rule(flow=st.sampled_from(["reindex", "recover"]), death=deaths)
    def die_in_a_repair(self, flow: str, death: tuple[int, bool]) -> None:
        self.die_in(flow, EVERYBODY[0], death)

    @precondition(lambda self: self.removable())
    @rule(data=st.data(), death=deaths)
    def die_in_a_removal(self, data: st.DataObject, death: tuple[int, bool]) -> None:
        who = data.draw(st.sampled_from(self.removable()))
        self.buried |= self.files_of(who)
        self.die_in("remove", who, death)

    @rule(jump=st.sampled_from(JUMPS))
    def the_clock_jumps(self, jump: int) -> None:
        """To a millisecond that has not been: within one, no sync takes a file away and brings it back."""
        self.now = shift_time(self.now, milliseconds=jump + next(self.numbers))

    @rule(what=st.sampled_from([INDEX, RUNTIME]))
    def lose_a_database(self, what: str) -> None:
        self.opened.close()
        delete_database(self.folder, what)
        self.open()

    @rule()
    def lose_all_of_this_machine(self) -> None:
        self.opened.close()
        for job in self.ws.documents.spool.list_pending():
            who = next(who for who in EVERYBODY if who.token == job.token)
            self.disturbed.add(who)
            if job.flow == REMOVAL and self.ws.documents.tombstones.has(job.token):
                self.brought_back |= self.files_of(who).keys()
                self.unrendered.add(who)
                self.half_removed.add(who)
        self.forget_this_machine()
        self.open()

    def forget_this_machine(self) -> None:
        shutil.rmtree(self.folder / ".lineage", ignore_errors=True)  # rows on a server leave nothing here

    @rule(data=st.data())
    def a_file_vanishes(self, data: st.DataObject) -> None:
        living = {path: bytes_ for who in self.living() for path, bytes_ in self.files_of(who).items()}
        if living:
            path = data.draw(st.sampled_from(sorted(living)))
            self.vanished[path] = living[path]
            self.disturbed.add(owner_of(path))
            self.store.delete(path)
            self.the_clock_jumps(0)

    @rule(agent=st.sampled_from(AGENTS))
    def a_memory_md_vanishes(self, agent: str) -> None:
        self.store.delete(naming.memory_md_path(agent))

    @precondition(lambda self: self.vanished)
    @rule()
    def bring_everything_back(self) -> None:
        for path, data in self.vanished.items():
            self.put_back(path, data)
        self.vanished.clear()

    @precondition(lambda self: self.buried)
    @rule(data=st.data(), reindexed=st.booleans())
    def a_sync_brings_a_removed_file_back(self, data: st.DataObject, reindexed: bool) -> None:
        path = data.draw(st.sampled_from(sorted(self.buried)))
        if owner_of(path) in self.removed:
            self.put_back(path, self.buried[path])
            if reindexed:
                self.reindex()

    # what must be true

    @invariant()
    def nothing_is_lost(self) -> None:
        for who in self.living():
            if self.files_are_missing(who):
                continue
            texts, summaries = self.kept(who)
            said = self.said[who]
            if who in self.disturbed:
                assert set(said[: self.captured[who]]) <= set(texts) <= set(said)
                assert set(self.compacted[who]) <= set(summaries)
            else:
                assert texts == said[: len(texts)]
                assert len(texts) >= self.captured[who]
                counts = Counter(summaries)
                assert all(counts[summary] == 1 for summary in self.compacted[who])

    @invariant()
    def what_was_said_is_learned_once(self) -> None:
        entries = self.entries()
        assert self.forgotten.keys() & {identifier for identifier, _ in entries} == set()
        counts = Counter(text for _, text in entries)
        for who in self.living():
            said = [text for text in self.said[who] if not text.startswith("Turn")]
            assert all(counts[text] <= 1 for text in said)
            if who not in self.disturbed and not self.files_are_missing(who):
                kept = set(self.said[who][: self.captured[who]]) - set(self.forgotten.values())
                assert all(counts[text] == 1 for text in said if text in kept)

    @invariant()
    def nothing_is_resurrected(self) -> None:
        for who in self.removed:
            assert capture_session(self.house_now(), self.end_request(who, self.now)).status == REFUSED
            assert self.ws.index.list_session_files(who.token) == []
            assert self.ws.index.search(who.word, None, limit=10) == []
            assert [text for _, text in self.entries() if who.word in text] == []
            shown = [p for p, data in memory_mds(read_store(self.store)).items() if who.word.encode() in data]
            assert who in self.unrendered or shown == []

    @invariant()
    def nothing_bleeds(self) -> None:
        shown = memory_mds(read_store(self.store))
        for who in EVERYBODY:
            hits = [hit for hit in self.ws.index.search(who.word, None, limit=10) if hit.kind != "entry"]
            assert {hit.session_token for hit in hits} <= {who.token}
            for other in set(AGENTS) - {who.agent}:
                hits = self.ws.index.search(who.word, other, limit=10)
                assert [hit for hit in hits if hit.kind != "entry"] == []
                assert who.word.encode() not in shown.get(naming.memory_md_path(other), b"")

    # how

    def converse(self, who: Who, turns: int) -> None:
        said = self.said[who]
        numbers = range(len(said) + 1, len(said) + turns + 1)
        said += [SAYINGS[n % len(SAYINGS)].format(n=n, word=who.word) for n in numbers]

    def die_in(self, flow: str, who: Who, death: tuple[int, bool]) -> None:
        """Runs a command that dies at a mutating call, or gets through where it makes fewer of them."""
        ws = with_crash_point(
            self.house_now(), self.store, self.private, CrashPoint(call_number=death[0], after=death[1])
        )
        steps = self.flow(flow, who)

        def command() -> None:
            ensure_indexed(ws)
            steps(ws)

        if not crashes(command):
            self.note_success(flow, who)

    def removable(self) -> list[Who]:
        """The sessions that a command can name: there is a manifest of them, or they were removed before."""
        named = [who for who in EVERYBODY if any(naming.MANIFEST in path for path in self.files_of(who))]
        return [who for who in EVERYBODY if who in named or who in self.removed]

    def house_now(self) -> Workspace:
        return at_time(self.ws, self.now)

    def ready(self) -> Workspace:
        """The house as a command finds it: its index filled."""
        ensure_indexed(self.house_now())
        return self.house_now()

    def living(self) -> Iterator[Who]:
        return (who for who in EVERYBODY if not self.ws.documents.tombstones.has(who.token))

    def end_request(self, who: Who, now: str, count: int | None = None) -> Request:
        payload = {**self.payload(who), "transcript": self.transcript(who, count)}
        return parse_request(SESSION_END, payload, agent_id=None, now=now)

    def compaction_request(self, who: Who, summary: str) -> Request:
        payload = {**self.payload(who), "transcript": self.transcript(who), "summary": summary}
        return parse_request(COMPACTION, payload, agent_id=None, now=self.now)

    def payload(self, who: Who) -> dict[str, Any]:
        return {
            "harness": "generic",
            "session_id": who.session,
            "agent_id": who.agent,
            "project": "/home/ada/demo",
        }

    def transcript(self, who: Who, count: int | None = None) -> list[dict[str, Any]]:
        return [
            {"role": "assistant" if text.startswith("We ") else "user", "text": text, "id": f"{who.word}-{number}"}
            for number, text in enumerate(self.said[who][:count], 1)
        ]

    def signal_the_end(self, who: Who, now: str) -> str:
        status = run_capture(at_time(self.ready(), now), self.end_request(who, now)).status
        assert status == REFUSED if who in self.removed else status in (CAPTURED, UNCHANGED, REFUSED)
        assert status != REFUSED or self.ws.documents.tombstones.has(who.token)
        self.note_success("end", who)
        self.note_removals()
        return status

    def flow(self, name: str, who: Who) -> Flow:
        if name == "end":
            return lambda ws: run_capture(ws, self.end_request(who, self.now))
        if name == "compact":
            return lambda ws: run_capture(ws, self.compaction_request(who, f"Goal 0: {who.word}.py."))
        if name == "remove":
            return lambda ws: self.removal(ws, who)
        return lambda ws: reindex(ws, confirmed=True) if name == "reindex" else recover(ws)

    def removal(self, ws: Workspace, who: Who) -> None:
        finish_pending(ws)
        remove(ws, who.token, reason="asked", again=self.ws.documents.tombstones.has(who.token))

    def note_success(self, flow: str, who: Who) -> None:
        """A command came back: what it reports is true from now on."""
        if flow == "end" and not self.ws.documents.tombstones.has(who.token):
            self.captured[who] = len(self.said[who])
        if flow == "remove":
            self.brought_back -= {path for path in self.brought_back if owner_of(path) == who}
            self.half_removed.discard(who)
            self.removed.add(who)
        self.note_removals()

    def note_removals(self) -> None:
        """Removals that were cut off count from when a later command has finished them."""
        self.removed |= {
            who for who in EVERYBODY if self.ws.documents.tombstones.has(who.token) and not self.is_being_removed(who)
        }

    def is_being_removed(self, who: Who) -> bool:
        return any(job.flow == REMOVAL for job in self.ws.documents.spool.list_pending(who.token))

    def files_of(self, who: Who) -> dict[str, bytes]:
        files = read_store(self.store, naming.MEMORY, BOOKS)
        return {p: data for p, data in files.items() if who.token in p and not p.startswith(naming.TOMBSTONES)}

    def files_are_missing(self, who: Who) -> bool:
        return any(owner_of(path) == who for path in self.vanished)

    def put_back(self, path: str, data: bytes) -> None:
        if path not in read_store(self.store, naming.MEMORY, BOOKS):
            self.store.create(path, data)
            if self.ws.documents.tombstones.has(owner_of(path).token):
                self.brought_back.add(path)

    def kept(self, who: Who) -> tuple[list[str], list[str]]:
        """The texts of a session's turns and of its compactions, as its files tell them, oldest first."""
        texts, summaries = [], []
        for path in sorted(self.files_of(who)):
            document = None if path.startswith((naming.CLAIMS, BOOKS)) else load_document(self.ws, path)
            if isinstance(document, Artifact) and document.kind == naming.TRANSCRIPT:
                texts += [turn.text for turn in transcript.parse_turns(document.body)]
            elif isinstance(document, Artifact) and document.kind == naming.COMPACTION:
                summaries += [line for line in document.body.split("\n") if line.startswith("Goal ")]
        return texts, summaries

    def findings(self, ws: Workspace) -> list[Any]:
        found = verify(ws)
        left = {f"entry {identifier} is what a removed session said" for identifier in self.list_left_entries()}
        found = [f for f in found if f.what not in left]
        return [f for f in found if not (f.what in CAME_BACK and f.path in self.brought_back)]

    def entries(self) -> set[tuple[str, str]]:
        """(id, text) of every entry of the books but those of removed sessions that wait to be removed again.

        A sync brought them back, or the machine that removed them was lost in the middle. Until then they stand in a
        book, and are in no index.
        """
        left = self.list_left_entries()
        return {(identifier, body) for identifier, body in self.list_book_entries() if identifier not in left}

    def list_left_entries(self) -> set[str]:
        """The ids of what removals left in books when their machine was lost in the middle."""
        words = [who.word for who in self.half_removed]
        return {identifier for identifier, body in self.list_book_entries() if any(word in body for word in words)}

    def list_book_entries(self) -> list[tuple[str, str]]:
        books = self.ws.documents.books
        refs = (ref for ref in books.list() if ref.path not in self.brought_back)
        return [(entry.id, entry.body) for ref in refs for entry in books.read(ref).entries]

    def no_byte_is_left_of(self, who: Who) -> None:
        """The session's word is in no file, but for those that the machine put there itself."""
        files = read_store(self.store) | read_store(self.store, BOOKS) | read_store(self.private, "spool/")
        files |= {str(path): path.read_bytes() for path in (self.folder / ".lineage").glob("*.db*")}
        if who in self.half_removed:
            files = {path: data for path, data in files.items() if not path.startswith(BOOKS)}
        assert [p for p, data in files.items() if who.word.encode() in data and p not in self.brought_back] == []

    def memory_mds_from_scratch(self, files: dict[str, bytes]) -> dict[str, bytes]:
        with tempfile.TemporaryDirectory(prefix="workspace-machine-") as folder:
            store = MemoryStore()
            for path, data in files.items():
                if path.startswith((naming.MEMORY, BOOKS)):
                    store.create(path, data)
            with open_test_workspace(Path(folder), now=self.now, store=store, private=MemoryStore()) as ws:
                reindex(ws)
            return memory_mds(read_store(store))


def memory_mds(files: dict[str, bytes]) -> dict[str, bytes]:
    return {path: data for path, data in files.items() if path.endswith("MEMORY.md")}


def owner_of(path: str) -> Who:
    return next(who for who in EVERYBODY if who.token in path)


class OverMemory(WorkspaceMachine):
    def stores(self) -> tuple[Store, Store]:
        return MemoryStore(), MemoryStore()

    def forget_this_machine(self) -> None:
        super().forget_this_machine()
        self.private = MemoryStore()
        for entry in list(self.store.list(".lineage/")):
            self.store.delete(entry.key)


class OverFolder(WorkspaceMachine):
    def stores(self) -> tuple[Store, Store]:
        state = self.folder / ".lineage"
        return LocalStore(self.folder), LocalStore(state, locks=state / "locks", private=True)


def smaller(share: int) -> settings:
    """The loaded profile with a part of its examples: one of them is many steps, each of them a command."""
    return settings(max_examples=max(settings().max_examples // share, 5), stateful_step_count=25)


pytestmark = pytest.mark.slow

TestOverMemory = OverMemory.TestCase
TestOverMemory.settings = smaller(5)
TestOverFolder = OverFolder.TestCase
TestOverFolder.settings = smaller(10)


def test_a_capture_that_was_cut_off_and_lost_its_claim_is_finished_for_the_manifest_it_was_made_for() -> None:
    """A sequence that the machine found: a compaction meanwhile claimed another manifest for the session."""
    machine, who = OverMemory(), EVERYBODY[2]
    machine.begin()
    try:
        machine.die_in_a_capture(who=who, turns=2, flow="end", death=(5, True))
        machine.store.delete(naming.claim_path(who.token))
        machine.disturbed.add(who)
        machine.the_clock_jumps(0)
        machine.compact(who)
        machine.recover()
    finally:
        machine.teardown()
