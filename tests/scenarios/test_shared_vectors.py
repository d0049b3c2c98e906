"""Machines that share a PostgreSQL server with pgvector: one embeds, all find by meaning, and a removal is everybody's.

Fails where an index on such a server keeps vectors in a file, where two embed the same at a time, and where a machine
without a model leaves the vectors of what it removes: `is_remote` in `open_workspace`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import pytest

from lineage.app.databases import INDEX_VARIABLE
from lineage.database.postgres import strip_credentials
from lineage.index.postgres import PostgresIndex
from lineage.pipeline.maintenance.reindex import reindex
from lineage.pipeline.maintenance.remove import remove
from lineage.pipeline.search.embeddings import BUSY, INDEX_UNAVAILABLE, EmbedResult, describe_coverage, embed_pending
from lineage.pipeline.search.search import LEXICAL, SEMANTIC, search
from lineage.store import LocalStore, Store
from lineage.workspace.workspace import Workspace
from tests.support import engines
from tests.support.commands import LineageCommand
from tests.support.embedding_server import EmbeddingServer, open_embedding_workspace, run_embedding_server
from tests.support.memory_store import MemoryStore
from tests.support.workspace import end_session, make_turns

pytestmark = pytest.mark.slow

BOAT = make_turns("Where is the boat moored?", "At the third pier of the harbour.")
CAT = make_turns("What does the cat eat?", "Herring, and nothing else.")


@pytest.fixture(autouse=True)
def server(home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(INDEX_VARIABLE, engines.start_pgvector().url)
    return engines.start_pgvector().url


@pytest.fixture
def store() -> Store:
    return MemoryStore()


@pytest.fixture
def served() -> Iterator[EmbeddingServer]:
    with run_embedding_server() as running:
        yield running


@pytest.fixture
def elsewhere() -> Iterator[EmbeddingServer]:
    """The model as the other machine asks it."""
    with run_embedding_server() as running:
        yield running


@contextmanager
def machine(tmp_path: Path, name: str, store: Store, served: EmbeddingServer) -> Iterator[Workspace]:
    """A machine of a memory whose rows have one schema for all."""
    state = tmp_path / name / ".lineage"
    private = LocalStore(state, locks=state / "locks", private=True)
    private.create("index-id", sha256(str(tmp_path).encode()).hexdigest()[:20].encode())
    with open_embedding_workspace(tmp_path / name, served, store=store, private=private) as ws:
        yield ws


def sessions(ws: Workspace, query: str) -> list[str | None]:
    found = search(ws, query, "default", 1, mode=SEMANTIC)
    assert found.notes == ()
    return [hit.session_id for hit in found.hits]


@pytest.mark.leaves_findings  # the files are not in these folders
def test_what_one_machine_embeds_another_finds_and_a_removal_is_both_s(
    tmp_path: Path, store: Store, served: EmbeddingServer, elsewhere: EmbeddingServer
) -> None:
    with machine(tmp_path, "one", store, served) as one, machine(tmp_path, "two", store, elsewhere) as two:
        end_session(one, "s-boat", transcript=BOAT)
        gone = end_session(one, "s-cat", transcript=CAT)
        assert embed_pending(one).embedded > 0
        assert sessions(two, "vessel") == ["s-boat"]
        assert embed_pending(two) == EmbedResult()
        assert elsewhere.texts == ["vessel"]
        end_session(two, "s-new", transcript=make_turns("A kitten came by.", "Seen."))
        assert embed_pending(two).embedded > 0
        assert sessions(one, "feline") == ["s-new"]
        remove(two, "s-cat", reason="asked for")
        assert one.vectors is not None
        assert not any(gone.session_token in path for path in one.vectors.load_source_versions())
        assert describe_coverage(one)["passages"] == describe_coverage(two)["passages"] > 0
    assert list(tmp_path.rglob("vectors.db*")) == []


@pytest.mark.leaves_findings
def test_a_text_is_sent_once_by_whichever_machine(
    tmp_path: Path, store: Store, served: EmbeddingServer, elsewhere: EmbeddingServer
) -> None:
    with machine(tmp_path, "one", store, served) as one, machine(tmp_path, "two", store, elsewhere) as two:
        for number in range(4):
            end_session(one, f"s-{number}", transcript=make_turns(f"Question {number} on rows?", f"Answer {number}."))
        outcomes: list[str] = []
        served.on_request = lambda _: outcomes.append(embed_pending(two).failed)
        assert embed_pending(one).left == 0
        assert set(outcomes) == {BUSY}
        assert elsewhere.texts == []
        assert embed_pending(two) == EmbedResult()
        assert len(served.texts) == len(set(served.texts))


@pytest.mark.leaves_findings
def test_rows_that_are_lost_cost_no_machine_a_vector(
    tmp_path: Path, store: Store, served: EmbeddingServer, elsewhere: EmbeddingServer
) -> None:
    with machine(tmp_path, "one", store, served) as one, machine(tmp_path, "two", store, elsewhere) as two:
        end_session(one, "s-boat", transcript=BOAT)
        embed_pending(one)
        one.index.reset()
        assert embed_pending(two).dropped == 0
        reindex(one)
        assert (embed_pending(one).embedded, sessions(two, "vessel")) == (0, ["s-boat"])


@pytest.mark.leaves_findings
def test_vectors_of_a_newer_lineage_leave_an_older_one_the_words(
    tmp_path: Path, store: Store, served: EmbeddingServer, elsewhere: EmbeddingServer
) -> None:
    with machine(tmp_path, "one", store, served) as one, machine(tmp_path, "two", store, elsewhere) as two:
        end_session(one, "s-boat", transcript=BOAT)
        embed_pending(one)
        assert isinstance(one.index, PostgresIndex)
        one.index.database.execute(f'update "{one.index.database.schema}_vectors".state set version = version + 1')
        found = search(two, "boat", "default", 5)
        assert (found.mode, [hit.session_id for hit in found.hits]) == (LEXICAL, ["s-boat"])
        assert "newer lineage" in found.notes[0]
        assert embed_pending(two).failed == INDEX_UNAVAILABLE


def test_a_machine_without_a_model_removes_the_vectors_of_the_others(
    lineage: LineageCommand, home: Path, served: EmbeddingServer, server: str
) -> None:
    config = home / ".config" / "lineage" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'[embedding]\nprovider = "openai"\nurl = "{served.url}"\nmodel = "m-1"\n')
    lineage.end_sample()
    assert lineage("embed", "--json").json["embedded"] > 0
    assert lineage("search", "newline", "--mode", "semantic", "--json").json["results"]
    assert f" in {strip_credentials(server)}" in lineage("status").out
    config.unlink()
    assert lineage("status", "--json").json["embedding"]["passages"] > 0
    (session,) = lineage("sessions", "--json").json["sessions"]
    assert lineage("remove", session["session_id"], "--reason", "asked for", "--yes").code == 0
    assert lineage("status", "--json").json["embedding"]["passages"] == 0
    assert not (lineage.root / ".lineage" / "vectors.db").exists()
