"""The canonical layer against a plain dict, over a folder and over a dictionary, in any order of steps.

The model knows what must be there; after every step the store holds that and nothing else. What makes it fail: another
comparison than that of bytes in `commit`; a manifest whose revision grows for a repeat or that loses a link; a claim
that changes hands.
"""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from lineage.core.base import naming
from lineage.core.format.documents import Artifact, Tombstone, serialize_document
from lineage.core.format.job import Job
from lineage.documents import Documents
from lineage.errors import ImmutableError, RemovedError
from lineage.store import LocalStore, Store, commit
from tests.support.artifacts import make_artifact, make_identity, make_stem
from tests.support.memory_store import MemoryStore

LAST = "2026-11-30T00:00:00.000Z"

sessions = st.sampled_from(["s-1", "s-2"])
moments = st.sampled_from([f"2026-11-20T10:0{minute}:00.000Z" for minute in range(4)])
kinds = st.sampled_from(naming.ARTIFACT_KINDS)
bodies = st.sampled_from(["[[a]]\n", "[[a]]\n\nmore\n", "[[a]]\n\n---\n"])


class CanonMachine(RuleBasedStateMachine):
    """Writes, repeats, contradicts, links, claims, buries; every answer is compared with the model's."""

    @initialize()
    def begin(self) -> None:
        self.canon = self.opened()
        self.artifacts: dict[str, Artifact] = {}
        self.links: dict[str, tuple[set[str], set[str]]] = {}
        self.revisions: dict[str, int] = {}
        self.writes: dict[str, str] = {}
        self.claims: dict[str, str] = {}
        self.buried: dict[str, Tombstone] = {}
        self.jobs: dict[str, Job] = {}

    def opened(self) -> Documents:
        raise NotImplementedError

    def reopened(self) -> None:
        """What a new process would see."""

    @rule(kind=kinds, session=sessions, at=moments, body=bodies)
    def write(self, kind: str, session: str, at: str, body: str) -> None:
        document = make_artifact(kind, session, at, body=body)
        held = self.artifacts.get(document.path)
        assert self.canon.artifacts.has_content(document) == (None if held is None else held == document)
        if held is not None and held != document:
            with pytest.raises(ImmutableError):
                self.canon.artifacts.write(document)
            return
        assert self.canon.artifacts.write(document) is (held is None)
        self.artifacts[document.path] = document

    @rule(session=sessions, at=moments, compacted=st.booleans(), number=st.integers(0, 10**9))
    def link(self, session: str, at: str, compacted: bool, number: int) -> None:
        place, new = make_stem(session, "2026-11-20T10:00:00.000Z"), make_stem(session, at)
        kind_set = self.links.setdefault(place, (set(), set()))[compacted]
        is_new = new not in kind_set
        names = (naming.COMPACTION,) if compacted else (naming.TRANSCRIPT, naming.SUMMARY)
        artifacts = [make_artifact(name, session, at) for name in names]
        assert self.canon.manifests.link(place, artifacts, f"write-{number}", LAST) is is_new
        kind_set.add(new)
        if is_new:
            self.revisions[place] = self.revisions.get(place, 0) + 1
            self.writes[place] = f"write-{number}"

    @rule(session=sessions, at=moments)
    def claim(self, session: str, at: str) -> None:
        wanted = make_stem(session, at)
        assert self.canon.claims.claim(make_identity(session), wanted) == self.claims.setdefault(session, wanted)

    @rule(session=sessions, reason=st.sampled_from(["asked", "secret"]))
    def bury(self, session: str, reason: str) -> None:
        token = make_identity(session).token
        tombstone = Tombstone(
            kind="tombstone",
            agent_id="default",
            session_token=token,
            removed_at=LAST,
            reason=reason,
            removed_paths=[],
            removed_turns=[],
        )
        if self.buried.get(token, tombstone) != tombstone:
            with pytest.raises(ImmutableError):
                commit(self.canon.store, tombstone.path, serialize_document(tombstone))
            return
        assert commit(self.canon.store, tombstone.path, serialize_document(tombstone)) is (token not in self.buried)
        self.buried[token] = tombstone

    @rule(session=sessions, at=moments, sentence=st.sampled_from(["One.", "Two."]))
    def spool(self, session: str, at: str, sentence: str) -> None:
        job = Job(
            flow="session-end",
            token=make_identity(session).token,
            captured_at=at,
            sentence=sentence,
            quality="ok",
            payload={"session_id": session},
        )
        self.canon.spool.put(job)
        self.jobs[job.name] = job

    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        if self.jobs:
            job = self.jobs.pop(data.draw(st.sampled_from(sorted(self.jobs))))
            self.canon.spool.clear(job)

    @rule()
    def begin_a_new_process(self) -> None:
        self.reopened()

    @invariant()
    def the_store_holds_what_the_model_holds_and_nothing_else(self) -> None:
        expected = set(self.artifacts) | {naming.artifact_path(place, naming.MANIFEST) for place in self.links}
        expected |= {naming.claim_path(make_identity(session).token) for session in self.claims}
        expected |= {tombstone.path for tombstone in self.buried.values()}
        assert [entry.key for entry in self.canon.store.list("memory/")] == sorted(expected)

    @invariant()
    def everything_reads_back(self) -> None:
        for path, document in self.artifacts.items():
            assert self.canon.artifacts.get(path) == document
        for place, (captures, compactions) in self.links.items():
            manifest = self.canon.manifests.get(place)
            assert manifest is not None
            assert (set(manifest.captures), set(manifest.compactions)) == (captures, compactions)
            assert (manifest.revision, manifest.write_id) == (self.revisions[place], self.writes[place])
        for session, claimed in self.claims.items():
            assert self.canon.claims.get_stem(make_identity(session).token) == claimed
        assert {job.name: job for job in self.canon.spool.list_pending()} == self.jobs

    @invariant()
    def who_is_removed_is_refused(self) -> None:
        assert self.canon.tombstones.list_tokens() == set(self.buried)
        for session in ("s-1", "s-2"):
            token = make_identity(session).token
            assert self.canon.tombstones.has(token) is (token in self.buried)
            if token in self.buried:
                with pytest.raises(RemovedError):
                    self.canon.tombstones.raise_if_removed(token)


class OverMemory(CanonMachine):
    def opened(self) -> Documents:
        return Documents(MemoryStore(), MemoryStore())


class OverFolder(CanonMachine):
    def opened(self) -> Documents:
        self.folder = Path(tempfile.mkdtemp(prefix="canon-machine-"))
        return Documents(*self.stores())

    def stores(self) -> tuple[Store, Store]:
        state = self.folder / ".lineage"
        return LocalStore(self.folder), LocalStore(state, locks=state / "locks", private=True)

    def reopened(self) -> None:
        self.canon = Documents(*self.stores())

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            assert list(self.folder.rglob(".lineage-tmp-*")) == []
            shutil.rmtree(self.folder)


def smaller(share: int) -> settings:
    """The loaded profile with a part of its examples: one of them is many steps."""
    return settings(max_examples=max(settings().max_examples // share, 5), stateful_step_count=25)


TestOverMemory = pytest.mark.slow(OverMemory.TestCase)
TestOverMemory.settings = smaller(2)
TestOverFolder = OverFolder.TestCase
TestOverFolder.settings = smaller(5)
