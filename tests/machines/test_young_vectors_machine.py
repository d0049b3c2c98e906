"""Search while vectors are young, beside the same workspace with all vectors, after any order of what makes them young.

Sessions begin and go on, entries are written and edited by hand, sessions are removed, and embedding ends anywhere.
What words alone put first is among the first three wherever it would be with all vectors, and where vectors are missing
a search by both says so. Vectors say nothing about texts, so meaning contradicts the words as often as it can.

Fails where a file counts as complete with vectors of another version, where only the file of the best passage is looked
at, where the first of the words is held only while one of the found is missing, and where a note depends on the found.
"""

import hashlib
import tempfile
from collections.abc import Hashable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from lineage.extraction.embedding.port import EmbeddingModel
from lineage.index import Hit, vector_search
from lineage.pipeline.maintenance.reindex import ensure_indexed, reindex
from lineage.pipeline.maintenance.remove import remove
from lineage.pipeline.search.embeddings import embed_pending
from lineage.pipeline.search.search import HYBRID, LEXICAL, search
from lineage.workspace.workspace import Workspace
from tests.support.books import edit_by_hand, write_entry
from tests.support.workspace import end_session, make_turns, open_test_workspace

pytestmark = pytest.mark.slow

WORDS = ("boat", "pier", "mast", "sail", "rope", "anchor", "deck", "storm", "tide", "keel", "port", "star")
PROJECT = "/home/ada/harbour"
SEEDS = st.integers(0, 1 << 16)


class HashEmbedder:
    """A model that gives each text a direction of its own."""

    model, host = "hash-1", ""

    def embed(self, texts: Sequence[str]) -> list[Sequence[float]]:
        return [[byte - 127.5 for byte in hashlib.sha256(text.encode()).digest()[:6]] for text in texts]


def identify(hit: Hit) -> Hashable:
    return (hit.entry.path, hit.entry.id) if hit.entry else hit.session_token


class YoungVectors(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        root = Path(self.stack.enter_context(tempfile.TemporaryDirectory())) / "vault"
        self.ws, self.full = self._open(root, "vectors.db", 1), self._open(root, "full.db", 64)
        self.random, self.talks, self.step = Random(0), dict[str, list[dict[str, object]]](), 0

    def _open(self, root: Path, file: str, batch: int) -> Workspace:
        ws = self.stack.enter_context(open_test_workspace(root))
        ensure_indexed(ws)
        embedding = EmbeddingModel(HashEmbedder(), batch_size=batch)
        return replace(ws, vector_file=root / ".lineage" / file, embedding=embedding)

    def teardown(self) -> None:
        self.stack.close()

    def say(self, most: int) -> str:
        return " ".join(self.random.choices(WORDS, k=self.random.randint(2, most))) + "."

    def capture(self, session: str) -> None:
        self.step += 1
        at = f"2026-11-20T{10 + self.step // 60}:{self.step % 60:02d}"
        turns = make_turns(*(self.say(60) for _ in range(self.random.randint(2, 4))), start=at)
        said = [*self.talks.get(session, []), *({**turn, "id": f"{self.step}-{turn['id']}"} for turn in turns)]
        self.talks[session] = said
        end_session(self.ws, session, transcript=said, project=PROJECT, captured_at=f"{at}:59.000Z")

    @rule(seed=SEEDS)
    def begin(self, seed: int) -> None:
        self.random.seed(seed)
        self.capture(f"s-{self.step}")

    @precondition(lambda self: self.talks)
    @rule(seed=SEEDS)
    def go_on(self, seed: int) -> None:
        self.random.seed(seed)
        self.capture(self.random.choice(sorted(self.talks)))

    @rule(seed=SEEDS, kind=st.sampled_from(("decision", "note")))
    def write(self, seed: int, kind: str) -> None:
        self.random.seed(seed)
        write_entry(self.ws, "project/harbour", kind, self.say(8))

    @rule(seed=SEEDS)
    def edit(self, seed: int) -> None:
        self.random.seed(seed)
        sections = (f"# {self.say(2)}\n\n{self.say(6)}\n" for _ in range(self.random.randint(1, 4)))
        edit_by_hand(self.ws, "books/global/note.md", "\n".join(sections))
        reindex(self.ws)

    @precondition(lambda self: len(self.talks) > 3)
    @rule(seed=SEEDS)
    def forget(self, seed: int) -> None:
        session = Random(seed).choice(sorted(self.talks))
        del self.talks[session]
        remove(self.ws, session, reason="asked for")

    @rule(passages=st.integers(1, 12))
    def embed(self, passages: int) -> None:
        embed_pending(self.ws, max_passages=passages)

    @invariant()
    def words_are_held(self) -> None:
        embed_pending(self.full)
        assert self.full.vectors
        assert self.full.vectors.count_passages() == vector_search.count_embeddable(self.full.index)
        for word in WORDS[:: self.random.randint(1, 4)]:
            asked = f"{word} {self.random.choice(WORDS)}"
            words = search(self.ws, asked, None, 10, mode=LEXICAL).hits
            young, grown = (search(ws, asked, None, 10) for ws in (self.ws, self.full))
            if not words or young.mode != HYBRID:
                continue
            first = identify(words[0])
            if first in map(identify, grown.hits[:3]):
                assert first in list(map(identify, young.hits[:3]))
            assert grown.notes == ()
            if list(map(identify, young.hits)) != list(map(identify, grown.hits)):
                assert "run `lineage admin embed`" in young.notes[0]


TestYoungVectors = YoungVectors.TestCase
TestYoungVectors.settings = settings(max_examples=12, stateful_step_count=15, deadline=None)
