"""Embedding as a person meets it: the machine's configuration, `embed`, `search --mode`, `status`, `work`.

Fails where a key is printed, where `embed` hides that it ended early, where a note gets onto stdout, where
the worker's bounds are not asked, and where it embeds while a signal waits.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage.documents import HookQueue
from lineage.pipeline.search.embeddings import embed_pending
from lineage.store import LocalStore
from tests.support.commands import LineageCommand, run_process
from tests.support.embedding_server import EmbeddingServer, open_embedding_workspace, run_embedding_server
from tests.support.web_client import serve_workspace as page
from tests.support.workspace import make_turns

pytestmark = pytest.mark.slow

KEY = "made-up-key-0123456789"


@pytest.fixture
def served() -> Iterator[EmbeddingServer]:
    with run_embedding_server() as running:
        yield running


@pytest.fixture
def configured(home: Path, served: EmbeddingServer) -> Path:
    """The machine's configuration, which names the endpoint."""
    file = home / ".config" / "lineage" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(f'[embedding]\nprovider = "openai"\nurl = "{served.url}"\nmodel = "m-1"\nkey = "{KEY}"\n')
    file.chmod(0o600)
    return file


def talk(lineage: LineageCommand, session: str, *texts: str) -> None:
    file = lineage.root.parent / f"{session}.json"
    file.write_text(json.dumps(make_turns(*texts)))
    arguments = ["--harness", "generic", "--session-id", session, "--transcript-path", str(file)]
    assert lineage("session-end", *arguments, "--project", "/home/ada/harbour").code == 0


def test_from_configuration_to_results(lineage: LineageCommand, configured: Path, served: EmbeddingServer) -> None:
    talk(lineage, "s-1", "Where is the boat moored?", "At the third pier.")
    before = lineage("search", "vessel")
    assert (before.code, before.err.count("note: ")) == (0, 1)
    assert "run `lineage admin embed`" in before.err
    assert "note" not in before.out
    done = lineage("embed", "--json")
    assert done.json["embedded"] > 0
    assert done.json["left"] == 0
    found = lineage("search", "vessel", "--json")
    assert (found.json["mode"], found.json["results"][0]["session_id"], "notes" in found.json) == (
        "hybrid",
        "s-1",
        False,
    )
    assert lineage("search", "vessel", "--mode", "lexical", "--json").json["results"] == []
    assert lineage("search", "vessel", "--mode", "semantic", "--json").json["mode"] == "semantic"
    assert set(served.keys) == {f"Bearer {KEY}"}
    state = lineage("status", "--json").json["embedding"]
    assert (state["model"], state["endpoint"], state["files_left"]) == ("openai:m-1", "127.0.0.1", 0)
    shown = lineage("status").out
    assert f"openai:m-1 at 127.0.0.1: vectors for {state['passages']} of {state['passages']} passages in" in shown
    assert KEY not in shown + json.dumps(state)


def test_a_prefix_stands_before_what_is_asked_and_nowhere_else(
    lineage: LineageCommand, configured: Path, served: EmbeddingServer
) -> None:
    configured.write_text(configured.read_text() + 'query_prefix = "query: "\n')
    talk(lineage, "s-1", "Where is the boat moored?", "At the third pier.")
    assert lineage("embed").code == 0
    assert lineage("search", "vessel").code == 0
    assert [text for text in served.texts if "query: " in text] == [served.texts[-1]] == ["query: vessel"]


def test_embedding_goes_on_where_it_was_cut_off_and_counts_passages(
    lineage: LineageCommand, configured: Path, served: EmbeddingServer
) -> None:
    """Fails if a cut loses what was stored, or if progress counts files."""
    configured.write_text(configured.read_text() + "batch = 1\n")
    for number in range(3):
        talk(lineage, f"s-{number}", f"Where is boat {number} moored?", f"At pier {number}.")

    def fail_third(_: object) -> None:
        served.response = (lambda: (500, b"", {})) if served.calls == 3 else None

    served.on_request = fail_third
    assert lineage("embed", "--json").json["embedded"] == 2
    seen: list[tuple[int, int]] = []
    with open_embedding_workspace(lineage.root, served, name="m-1", batch=1) as ws:
        done = embed_pending(ws, progress=lambda *counts: seen.append(counts))
    assert done.embedded == len(set(served.texts[3:])) == len(served.texts[3:])
    assert (seen[-1][0], done.left) == (seen[-1][1], 0)
    assert [one for one, _ in seen] == list(range(len(seen)))


def test_a_model_whose_vectors_have_another_length_is_mended_by_what_the_note_names(
    lineage: LineageCommand, configured: Path, served: EmbeddingServer
) -> None:
    """Fails if `embed` finds nothing to do because every passage has a vector, of whatever length."""
    talk(lineage, "s-1", "Where is the boat moored?", "At the third pier.")
    first = lineage("embed", "--json").json["embedded"]
    served.dimension = 80
    assert "another length; run `lineage admin embed`" in lineage("search", "vessel").err
    assert lineage("embed", "--json").json["embedded"] == first > 0
    found = lineage("search", "vessel", "--json").json
    assert (found["mode"], found["results"][0]["session_id"], "notes" in found) == ("hybrid", "s-1", False)
    assert lineage("embed", "--json").json["embedded"] == 0


def test_a_folder_without_a_model_is_named_with_what_to_mend(lineage: LineageCommand, configured: Path) -> None:
    talk(lineage, "s-1", "Where is the boat moored?", "At the third pier.")
    configured.write_text(f'[embedding]\nprovider = "local"\nmodel = "{lineage.root}"\n')
    done = lineage("embed")
    assert (done.code, "no model; check `model` in `[embedding]`" in done.out, "again" in done.out) == (1, True, False)


def test_the_page_says_what_the_model_could_not_do(lineage: LineageCommand, configured: Path) -> None:
    talk(lineage, "s-1", "Where is the boat moored?", "At the third pier.")
    with page(lineage.root) as client:
        shown = client.get("/search", q="boat").text
    assert "third pier" in shown
    assert "found by words alone: there are no vectors yet" in shown


def test_a_key_from_the_environment_goes_first(
    lineage: LineageCommand, configured: Path, served: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured.write_text(configured.read_text() + 'key_variable = "HARBOUR_KEY"\n')
    talk(lineage, "s-1", "Where is the boat moored?", "At the third pier.")
    monkeypatch.setenv("HARBOUR_KEY", "another-key")
    assert lineage("embed").code == 0
    assert set(served.keys) == {"Bearer another-key"}


def test_a_failing_endpoint_fails_the_command_that_is_for_it_alone(
    lineage: LineageCommand, configured: Path, served: EmbeddingServer
) -> None:
    talk(lineage, "s-1", "Where is the boat moored?", "At the third pier.")
    assert lineage("embed").code == 0
    served.response = lambda: (401, KEY.encode(), {})
    talk(lineage, "s-2", "Where is the cat?", "On the boat.")
    done = lineage("embed")
    assert (done.code, "ended early: HTTP 401" in done.out) == (1, True)
    found = lineage("search", "boat", "--json")
    assert (found.code, found.json["mode"], len(found.json["notes"])) == (0, "lexical", 1)
    assert "HTTP 401: 1" in lineage("status").out
    assert KEY not in done.out + done.err + found.out + found.err


def test_without_a_model_a_mode_is_a_mistake_and_status_says_nothing(lineage: LineageCommand) -> None:
    lineage.end_sample()
    for arguments in (("search", "boat", "--mode", "hybrid"), ("embed",)):
        done = lineage(*arguments)
        assert (done.code, "lineage help semantic search" in done.err) == (2, True)
    assert lineage("search", "newline", "--mode", "lexical").code == 0
    assert "embedding" not in lineage("status").out
    assert not (lineage.root / ".lineage" / "vectors.db").exists()


def test_a_local_model_that_is_not_there_is_named(lineage: LineageCommand, home: Path, configured: Path) -> None:
    configured.write_text(f'[embedding]\nprovider = "local"\nmodel = "{home}/nothing"\n')
    lineage.end_sample()
    found = lineage("search", "newline", "--json")
    assert found.json["results"]
    assert lineage("embed").code == 1
    assert "no model" in lineage("status").out


def test_the_worker_embeds(lineage: LineageCommand, configured: Path, served: EmbeddingServer) -> None:
    talk(lineage, "s-1", "Where is the boat moored?", "At the third pier.")
    done = run_process(lineage.root, "work", "--json", HOME=str(configured.parents[2]))
    assert done.json["rounds"][0]["embedded"] > 0
    served.response = lambda: (500, b"", {})
    talk(lineage, "s-2", "Where is the cat?", "On the boat.")
    (again,) = run_process(lineage.root, "work", "--json").json["rounds"]
    assert (again["embedded"], again["unembedded"]) == (0, "HTTP 500")


def test_the_worker_s_bound_holds(lineage: LineageCommand, configured: Path, served: EmbeddingServer) -> None:
    configured.write_text(configured.read_text() + "passages_per_run = 1\nbatch = 1\n")
    for number in range(3):
        talk(lineage, f"s-{number}", f"Where is boat {number} moored?", "At a pier.")
    (first,) = run_process(lineage.root, "work", "--json").json["rounds"]
    assert first["embedded"] == 1
    assert served.calls == 1


def test_captures_do_not_wait_for_embedding(
    lineage: LineageCommand, configured: Path, served: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal that comes while the first batch is embedded ends the round before the second."""
    configured.write_text(configured.read_text() + "batch = 1\n")
    for number in range(3):
        talk(lineage, f"s-{number}", f"Where is boat {number} moored?", "At a pier.")
    seen: list[int] = []

    def rung(_: object) -> None:
        seen.append(len(HookQueue(LocalStore(lineage.root / ".lineage", private=True)).list_pending()))
        if served.calls == 1:
            payload = json.dumps({"session_id": "s-9", "hook_event_name": "Nothing"}).encode()
            place = ["--workspace", str(lineage.root)]
            run_process(lineage.root, "hook", "claude-code", *place, stdin=payload, LINEAGE_NO_WORKER="1")

    served.on_request = rung
    done = run_process(lineage.root, "work", "--json")
    assert done.code == 0, done.err
    rounds = done.json["rounds"]
    assert len(rounds) == 2
    assert rounds[0]["embedded"] == 1
    assert seen[1] == 0, "the signal was worked off before more was embedded"
