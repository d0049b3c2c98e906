"""Search by meaning, over a workspace and a real endpoint, wherever vectors lie: what is embedded, what is found, what
goes with a session.

Fails without any of these: the gate in `likeness.sources`, the sanitizer before a remote endpoint, the filters or the
phrases in `likeness.hits`, the comparison of a passage's hash, `is_current` while vectors are stored, `prune` or
`scrub` in a removal, `prune` in a resanitize or a reindex, the model's name in `is_current_model`, and where a
failing model fails a search.
"""

import shutil
from array import array
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from struct import pack

import pytest

from lineage.app.databases import INDEX_VARIABLE
from lineage.database.postgres import Postgres
from lineage.errors import ExtraMissing, InvalidInput, format_extra_hint
from lineage.index import Hit, vector_search
from lineage.index.postgres.pgvector import PgVectors
from lineage.pipeline.maintenance.reindex import reindex
from lineage.pipeline.maintenance.remove import remove
from lineage.pipeline.maintenance.resanitize import resanitize
from lineage.pipeline.search.embeddings import describe_coverage, embed_pending
from lineage.pipeline.search.search import HYBRID, LEXICAL, MODES, SEMANTIC, SearchResult, search
from lineage.workspace.workspace import Workspace
from tests.scenarios.test_resanitize import RULES, SECRET, TALK
from tests.support import engines
from tests.support.books import edit_by_hand, write_entry
from tests.support.embedding_server import EmbeddingServer, open_embedding_workspace, run_embedding_server
from tests.support.indexes import PLACES
from tests.support.workspace import end_session, find_root, make_turns, open_test_workspace

pytestmark = pytest.mark.slow

READER = make_turns("Why does reader.py drop the last row?", "It splits on newline; fixed in reader.py.")
HARBOUR = make_turns("Where is the boat moored?", "At the third pier of the harbour.")
KITTEN = make_turns("What does the cat eat?", "Herring, and nothing else.")
TOKEN = "ghp_" + "aB3" * 12


@pytest.fixture(autouse=True, params=PLACES)
def place(request: pytest.FixtureRequest, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors lie in a file, or with the rows on a server."""
    if request.param != "file":
        monkeypatch.setenv(INDEX_VARIABLE, engines.start_pgvector().url)


@pytest.fixture
def served() -> Iterator[EmbeddingServer]:
    with run_embedding_server() as running:
        yield running


@pytest.fixture
def ws(tmp_path: Path, served: EmbeddingServer) -> Iterator[Workspace]:
    """Three sessions of two agents and projects, embedded."""
    with open_embedding_workspace(tmp_path / "vault", served) as opened:
        end_session(opened, "s-reader", transcript=READER, project="/home/ada/reader")
        end_session(opened, "s-harbour", transcript=HARBOUR, project="/home/ada/harbour")
        end_session(opened, "s-cat", transcript=KITTEN, project="/home/ada/zoo", agent_id="ann")
        embed_pending(opened)
        yield opened


def sessions(found: SearchResult) -> list[str | None]:
    return [hit.session_id for hit in found.hits if hit.entry is None]


def semantic(ws: Workspace, query: str, agent: str | None = "default", limit: int = 10) -> list[Hit]:
    found = search(ws, query, agent, limit, mode=SEMANTIC)
    assert (found.mode, found.notes) == (SEMANTIC, ())
    return list(found.hits)


def on_server(ws: Workspace) -> Postgres | None:
    """The database that holds the vectors, None where a file does."""
    return ws.index.database if isinstance(ws.vectors, PgVectors) else None


def kept(ws: Workspace) -> bytes:
    """Every byte that this machine or its server keeps; not the server's write-ahead log."""
    folders = [find_root(ws) / ".lineage"]
    if database := on_server(ws):
        database.execute("checkpoint")
        folders.append(engines.start_pgvector().data / "base")
    return b"".join(path.read_bytes() for one in folders for path in sorted(one.rglob("*")) if path.is_file())


def blobs(ws: Workspace, token: str) -> list[bytes]:
    """The vectors and the hashes that are kept of a session's files, as they are in files."""
    assert ws.vectors is not None
    paths = [path for path in ws.vectors.load_source_versions() if token in path]
    hashes = [one for path in paths for one in ws.vectors.load_passage_hashes(path).values()]
    vectors = ws.vectors.find_by_hash(hashes).values()
    if on_server(ws):
        vectors = [pack(f"<{len(vector)}e", *array("b", vector)) for vector in vectors]
    return [*hashes, *vectors]


def spoil(ws: Workspace) -> None:
    """Damages what is kept of vectors so that it can't be used."""
    assert ws.vectors is not None
    if database := on_server(ws):
        database.execute(f'alter table "{database.schema}_vectors".passages drop column vector')
        return
    ws.vectors.close()
    (find_root(ws) / ".lineage" / "vectors.db").write_bytes(b"no database" * 1000)


def test_what_is_meant_is_found_where_no_word_is(ws: Workspace) -> None:
    assert sessions(search(ws, "records vanish", "default", 10, mode=LEXICAL)) == []
    found = search(ws, "records vanish", "default", 1)
    assert (found.mode, sessions(found)) == (HYBRID, ["s-reader"])
    (hit,) = semantic(ws, "vessel", limit=1)
    assert (hit.session_id, hit.project) == ("s-harbour", "/home/ada/harbour")
    assert hit.snippet
    assert hit.score > 0


@pytest.mark.parametrize("question", ["Wo liegt das Schiff?", "où est le bateau", "船"])
def test_a_question_in_another_language_is_answered_by_a_model_that_knows_both(ws: Workspace, question: str) -> None:
    assert sessions(search(ws, question, "default", 10, mode=LEXICAL)) == []
    found = search(ws, question, "default", 1)
    assert (found.mode, sessions(found)) == (HYBRID, ["s-harbour"])


def test_where_only_names_are_asked_for_their_words_decide(ws: Workspace) -> None:
    filler = " ".join(f"Chapter {number} of the manual." for number in range(80))
    end_session(ws, "s-name", transcript=make_turns("What bounds the queue?", f"{filler} It is ship.max."))
    for number in range(4):
        end_session(ws, f"s-ship-{number}", transcript=make_turns("Which ship?", f"Ship {number}: ship, boat, vessel."))
    embed_pending(ws)
    assert sessions(search(ws, "ship.max", "default", 5))[0] == "s-name"
    assert sessions(search(ws, "the ship of max", "default", 5))[0] != "s-name", "the meaning prefers others"


def test_a_session_is_one_result_and_its_passages_are_several(ws: Workspace) -> None:
    hits = semantic(ws, "vessel")
    assert len({hit.session_id for hit in hits if hit.entry is None}) == len([h for h in hits if h.entry is None])
    passages = search(ws, "boat", "default", 10, mode=HYBRID, by_passage=True).hits
    of_harbour = [(hit.path, hit.turns) for hit in passages if hit.session_id == "s-harbour"]
    assert len(of_harbour) == len(set(of_harbour)) > 1


@pytest.mark.parametrize("mode", MODES)
def test_filters_and_phrases_hold_in_every_mode(ws: Workspace, mode: str) -> None:
    def found(query: str, agent: str | None = None) -> set[str | None]:
        return {hit.session_id for hit in search(ws, query, agent, 10, mode=mode).hits}

    everything = "boat cat row"
    assert found(everything) == {"s-reader", "s-harbour", "s-cat"}
    assert found(f"{everything} project:zoo") == {"s-cat"}
    assert found(f"{everything} agent:ann") == {"s-cat"}
    assert found(everything, "ann") <= {"s-cat", None}
    assert found(f"{everything} until:2020") == set()
    assert found(f'{everything} "third pier"') == {"s-harbour"}
    assert "s-cat" not in found(f"{everything} -herring -cat")
    kinds = {hit.kind for hit in search(ws, f"{everything} kind:summary", None, 10, mode=mode).hits}
    assert kinds == {"summary"}
    assert {hit.kind for hit in search(ws, f"{everything} is:session", None, 10, mode=mode).hits} <= {
        "summary",
        "transcript",
    }


def test_a_narrow_filter_is_answered_from_beyond_the_nearest(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lineage.pipeline.search.search._FIRST_NEAREST", 1)
    assert {hit.session_id for hit in semantic(ws, "boat project:zoo", None)} == {"s-cat"}


def test_filters_alone_ask_no_model(ws: Workspace, served: EmbeddingServer) -> None:
    calls = served.calls
    found = search(ws, "project:reader", "default", 10, mode=SEMANTIC)
    assert sessions(found) == ["s-reader"]
    assert served.calls == calls


def test_nothing_private_and_no_trial_is_embedded(ws: Workspace, served: EmbeddingServer) -> None:
    end_session(
        ws, "s-private", transcript=make_turns("The marmalade is below the roots.", "Noted: marmalade."), private=True
    )
    end_session(ws, "test-1", transcript=make_turns("A periscope for a trial.", "Noted."), project=None, cwd=None)
    write_entry(ws, "global", "decision", "Wait for the lantern.", shelf="pending")
    embed_pending(ws)
    assert not [text for text in served.texts if "marmalade" in text or "periscope" in text or "lantern" in text]
    for query in ("marmalade", "periscope", "lantern"):
        assert all(hit.session_id not in ("s-private", "test-1") for hit in semantic(ws, query, None))


def test_what_a_hand_wrote_and_a_query_are_redacted_before_they_are_sent(
    ws: Workspace, served: EmbeddingServer
) -> None:
    edit_by_hand(ws, "books/global/note.md", f"The key of the harbour is {TOKEN}, says Ada.\n")
    reindex(ws)
    embed_pending(ws)
    search(ws, f"who has {TOKEN}", "default", 5)
    assert any("[REDACTED:github-token]" in text and "harbour" in text for text in served.texts)
    assert served.texts[-1].startswith("who has [REDACTED")
    assert not any(TOKEN in text for text in served.texts)


def test_of_a_removed_session_no_vector_is_left(ws: Workspace, tmp_path: Path) -> None:
    talk = make_turns("We will paint the boat green.", "Decided.")
    outcome = end_session(ws, "s-gone", transcript=talk, project="/home/ada/harbour")
    embed_pending(ws)
    gone = blobs(ws, outcome.session_token)
    assert gone
    assert all(blob in kept(ws) for blob in gone)
    receipt = remove(ws, "s-gone", reason="asked for")
    assert receipt.rows > len(gone) // 2
    assert any("127.0.0.1" in place for place in receipt.out_of_reach)
    left = kept(ws)
    assert [blob for blob in gone if blob in left] == []
    assert ws.vectors is not None
    assert not [path for path in ws.vectors.load_source_versions() if outcome.session_token in path]


def test_a_session_that_is_removed_while_it_is_embedded_gets_no_vector(
    ws: Workspace, served: EmbeddingServer, tmp_path: Path
) -> None:
    outcome = end_session(ws, "s-gone", transcript=make_turns("We will paint the boat green.", "Decided."))

    def removed(_: object) -> None:
        served.on_request = lambda _: None
        with open_test_workspace(tmp_path / "vault") as other:
            vector_file = tmp_path / "vault" / ".lineage" / "vectors.db"
            remove(replace(other, vector_file=vector_file), "s-gone", reason="asked for")
            ended.append(True)

    ended: list[bool] = []
    served.on_request = removed
    embed_pending(ws)
    assert ended
    assert ws.vectors is not None
    assert not [path for path in ws.vectors.load_source_versions() if outcome.session_token in path]


def test_the_index_may_begin_anew_without_the_vectors(ws: Workspace, served: EmbeddingServer, tmp_path: Path) -> None:
    calls = served.calls
    ws.index.reset()
    reindex(ws)
    done = embed_pending(ws)
    assert (served.calls, done.embedded, done.dropped) == (calls, 0, 0)
    assert semantic(ws, "vessel", limit=1)[0].session_id == "s-harbour"


def test_what_is_redacted_later_is_embedded_anew(tmp_path: Path, served: EmbeddingServer) -> None:
    with open_embedding_workspace(tmp_path / "vault", served) as ws:
        token = end_session(ws, "s-1", transcript=TALK).session_token
        embed_pending(ws)
        old = blobs(ws, token)
        resanitize(replace(ws, custom_rules=RULES))
        left = kept(ws)
        assert any(SECRET in text for text in served.texts)
        assert [blob for blob in old if blob in left] == []
        served.texts.clear()
        embed_pending(ws)
        assert served.texts
        assert not any(SECRET in text for text in served.texts)


def test_only_what_is_new_is_embedded_and_each_text_once(ws: Workspace, served: EmbeddingServer) -> None:
    assert len(served.texts) == len(set(served.texts))
    served.texts.clear()
    write_entry(ws, "project/reader", "decision", "We read files by csv.reader.")
    first = embed_pending(ws)
    edit_by_hand(ws, "books/project/reader/decision.md", "# First\n\nA word of mine.\n\n" + _read(ws))
    reindex(ws)
    second = embed_pending(ws)
    assert (first.embedded, second.embedded) == (1, 1)
    assert second.reused >= 1
    assert len(served.texts) == 2


def _read(ws: Workspace) -> str:
    return ws.documents.store.read("books/project/reader/decision.md").data.decode()


def test_a_passage_that_says_something_else_by_now_is_no_result(ws: Workspace) -> None:
    write_entry(ws, "project/harbour", "decision", "The vessel stays in the harbour.")
    embed_pending(ws)
    assert "books/project/harbour/decision.md" in {hit.path for hit in semantic(ws, "vessel")}
    edit_by_hand(ws, "books/project/harbour/decision.md", "# Mine\n\nThe herring is fresh.\n")
    assert ws.vectors is not None
    reindex(replace(ws, vector_file=None))
    assert "books/project/harbour/decision.md" not in {hit.path for hit in semantic(ws, "vessel")}


def test_it_goes_on_where_it_was_cut_off(tmp_path: Path, served: EmbeddingServer) -> None:
    with open_embedding_workspace(tmp_path / "vault", served, batch=2) as ws:
        for number in range(5):
            end_session(ws, f"s-{number}", transcript=make_turns(f"Question {number} on rows?", f"Answer {number}."))
        first = embed_pending(ws, max_passages=3)
        assert first.embedded == 4
        assert describe_coverage(ws)["files_left"] == first.left > 0
        asked: list[int] = []
        while embed_pending(ws, should_continue=lambda: len(asked.append(1) or asked) % 2 == 1).left:
            assert len(asked) < 100
    assert len(served.texts) == len(set(served.texts))


def test_another_model_is_not_compared_and_embeds_anew(ws: Workspace, served: EmbeddingServer, tmp_path: Path) -> None:
    with open_embedding_workspace(tmp_path / "vault", served, name="words-2") as other:
        found = search(other, "boat", "default", 5)
        assert found.mode == LEXICAL
        assert "another model" in found.notes[0]
        before = served.calls
        embed_pending(other)
        assert served.calls > before
        assert semantic(other, "vessel", limit=1)[0].session_id == "s-harbour"


def test_a_model_whose_vectors_grow_longer_embeds_anew(ws: Workspace, served: EmbeddingServer) -> None:
    served.dimension = 80
    assert "another length" in search(ws, "boat", "default", 5).notes[0]
    end_session(ws, "s-new", transcript=make_turns("A new vessel came.", "Seen."))
    embed_pending(ws)
    while embed_pending(ws).embedded:
        pass
    assert semantic(ws, "boat", limit=3)


@pytest.mark.parametrize("share", [0.01, 0.1, 0.3, 0.7, 0.99])
def test_while_vectors_are_young_what_words_find_first_stays_on_top(
    tmp_path: Path, served: EmbeddingServer, share: float
) -> None:
    """The error stands in a tool's output, which gets no vector; the others talk about the same in prose."""
    asked = "ECONNRESET 0x5f3a while the boat was moored"
    output = {"role": "tool", "name": "Bash", "text": "ECONNRESET 0x5f3a", "at": "2026-11-20T10:05:00Z", "id": "r9"}
    with open_embedding_workspace(tmp_path / "vault", served) as ws:
        for number in range(24):
            end_session(ws, f"s-{number:02}", transcript=make_turns(f"Where is boat {number} moored?", "At the pier."))
        end_session(ws, "s-error", transcript=[*make_turns("It failed.", "I see."), output])
        alone = sessions(search(ws, asked, "default", 10, mode=LEXICAL))
        total = vector_search.count_embeddable(ws.index)
        embed_pending(ws, max_passages=max(1, int(share * total)))
        found = search(ws, asked, "default", 10)
        assert (found.mode, alone[0]) == (HYBRID, "s-error")
        assert "s-error" in sessions(found)[:3]
        assert ws.vectors
        count = ws.vectors.count_passages()
        expected = [f"vectors for {count} of {total} passages"] if count < total else []
        assert (count < total or share > 0.9, [note.partition(";")[0] for note in found.notes]) == (True, expected)
        while embed_pending(ws).embedded:
            pass
        assert search(ws, asked, "default", 10).notes == ()


def test_what_is_written_or_said_after_all_was_embedded_is_missing_until_it_is(ws: Workspace) -> None:
    """Fails if the vectors of an older version of a book, or of a session's earlier capture, count for the new one."""
    assert search(ws, "pier", "default", 5).notes == ()
    write_entry(ws, "project/harbour", "decision", "The vessel stays at the first pier.")
    embed_pending(ws)
    for number in range(6):
        write_entry(ws, "project/harbour", "decision", f"Sails are stored in shed {number}.")
    for asked in ("sails shed", "pier"):
        assert "run `lineage admin embed`" in search(ws, asked, "default", 5).notes[0]
        assert "run `lineage admin embed`" in search(ws, asked, "default", 5, mode=SEMANTIC).notes[0]
    embed_pending(ws)
    longer = [*HARBOUR, *make_turns("And the dinghy?", "In the boathouse, on a rack.", start="2026-11-20T11:00")]
    end_session(ws, "s-harbour", transcript=longer, project="/home/ada/harbour")
    found = search(ws, "dinghy rack boathouse", "default", 5)
    assert sessions(found)[0] == "s-harbour"
    assert "run `lineage admin embed`" in found.notes[0]
    embed_pending(ws)
    assert search(ws, "dinghy rack boathouse", "default", 5).notes == ()


@pytest.mark.parametrize("mode", [None, SEMANTIC, HYBRID])
def test_where_the_model_fails_the_words_find(ws: Workspace, served: EmbeddingServer, mode: str | None) -> None:
    served.response = lambda: (503, b"", {})
    found = search(ws, "boat", "default", 5, mode=mode)
    assert (found.mode, sessions(found)) == (LEXICAL, ["s-harbour"])
    assert "HTTP 503" in found.notes[0]
    end_session(ws, "s-new", transcript=make_turns("A new ship.", "Seen."))
    assert embed_pending(ws).failed == "HTTP 503"
    counts = ws.telemetry.read_embedding_counts()
    assert (counts["HTTP 503"], counts["no vector for a query: HTTP 503"]) == (1, 1)


def test_vectors_without_a_direction_are_no_vectors(ws: Workspace, served: EmbeddingServer) -> None:
    served.response = lambda: (200, b'{"data": [{"index": 0, "embedding": [0.0, 0.0]}]}', {})
    assert "unusable" in search(ws, "boat", "default", 5).notes[0]


def test_damaged_vectors_cost_the_meaning_and_nothing_else(ws: Workspace, served: EmbeddingServer) -> None:
    spoil(ws)
    found = search(ws, "boat", "default", 5)
    assert sessions(found) == ["s-harbour"]
    assert found.notes
    embed_pending(ws)
    assert semantic(ws, "vessel", limit=1)[0].session_id == "s-harbour"


@pytest.mark.parametrize("place", ["file"], indirect=True)
def test_a_vector_file_of_another_machine_adds_nothing_and_is_mended(
    ws: Workspace, served: EmbeddingServer, tmp_path: Path
) -> None:
    with open_embedding_workspace(tmp_path / "other", served) as other:
        end_session(other, "s-harbour", transcript=make_turns("What does the feline eat?", "Fish."))
        end_session(other, "s-other", transcript=KITTEN)
        embed_pending(other)
    assert ws.vectors
    ws.vectors.close()
    shutil.copy(tmp_path / "other" / ".lineage" / "vectors.db", find_root(ws) / ".lineage" / "vectors.db")
    assert sessions(search(ws, "feline", "default", 5, mode=SEMANTIC)) == []
    found = search(ws, "boat row", "default", 5)
    assert set(sessions(found)) == {"s-reader", "s-harbour"}
    assert found.notes[0].endswith("run `lineage admin embed`")
    while embed_pending(ws).embedded:
        pass
    assert semantic(ws, "vessel", limit=1)[0].session_id == "s-harbour"
    assert search(ws, "boat row", "default", 5).notes == ()


def test_a_removal_with_damaged_vectors_is_a_removal(ws: Workspace, served: EmbeddingServer, tmp_path: Path) -> None:
    spoil(ws)
    remove(ws, "s-harbour", reason="asked for")
    assert sessions(search(ws, "boat", "default", 5)) == []


@pytest.mark.parametrize("place", ["file"], indirect=True)
def test_a_mode_that_is_asked_for_says_what_it_lacks(
    ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_test_workspace(tmp_path / "vault") as plain:
        assert search(plain, "boat", "default", 5).mode == LEXICAL
        with pytest.raises(InvalidInput, match="no embedding model"):
            search(plain, "boat", "default", 5, mode=HYBRID)
    monkeypatch.setattr("lineage.index.vectorfile.find_spec", lambda _: None)
    with pytest.raises(ExtraMissing) as caught:
        search(ws, "boat", "default", 5, mode=SEMANTIC)
    assert caught.value.hint == format_extra_hint("semantic")
    assert format_extra_hint("semantic") in search(ws, "boat", "default", 5).notes[0]
    assert embed_pending(ws).failed == "not installed"


def test_of_two_that_embed_one_does(ws: Workspace, served: EmbeddingServer) -> None:
    end_session(ws, "s-new", transcript=make_turns("A new ship.", "Seen."))
    with ws.documents.spool.store.lock("embedding"):
        assert embed_pending(ws).failed == "another process embeds"
    assert embed_pending(ws).embedded > 0
