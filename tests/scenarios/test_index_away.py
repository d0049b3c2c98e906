"""A PostgreSQL server that goes away: what is captured meanwhile is in the files, and the next run catches up.

What each guard rests on:
- files first: `tolerate_outage` in `apply_plan`; the job that stays in the spool; `pending_ends` in capture/session.py.
- books: `index_books` and `publish_or_mark_stale`. Catching up: `ensure_indexed`, `finish_pending`.
- vectors: `tolerate_outage` and `prune_vectors` in `embed_pending`.
- nobody waits twice: `_away` in database/postgres.py.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage.app.databases import INDEX_VARIABLE
from lineage.database.postgres import strip_credentials
from lineage.errors import IndexUnavailable
from lineage.pipeline.capture.session import CAPTURED
from lineage.pipeline.maintenance.finish_pending import finish_pending
from lineage.pipeline.maintenance.reindex import ensure_indexed
from lineage.pipeline.maintenance.remove import remove
from lineage.pipeline.maintenance.verify import verify
from lineage.pipeline.search.embeddings import INDEX_UNAVAILABLE, embed_pending
from tests.support.commands import LineageCommand
from tests.support.embedding_server import open_embedding_workspace, run_embedding_server
from tests.support.servers_postgres import PostgresServer, postgres_server
from tests.support.workspace import (
    at_time,
    compact_session,
    end_session,
    make_turns,
    open_test_workspace,
    read_capture_counts,
    read_rows,
    read_store,
)

# The server ends before anybody could look; the tests look themselves.
pytestmark = [pytest.mark.slow, pytest.mark.leaves_findings]

LATER, LATEST = "2026-11-22T08:00:00.000Z", "2026-11-23T08:00:00.000Z"
TALK = make_turns("Why does reader.py drop the last line?", "It splits on newline.", "And the tests?", "They pass now.")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresServer]:
    """A server of the test's own, which it may stop."""
    with postgres_server() as found:
        monkeypatch.setenv(INDEX_VARIABLE, found.url)
        yield found


def test_what_is_captured_while_it_is_away_is_in_the_files_and_in_the_rows_later(
    server: PostgresServer, tmp_path: Path
) -> None:
    here, undisturbed = tmp_path / "here", tmp_path / "undisturbed"
    for root in (undisturbed, here):
        with open_test_workspace(root) as ws:
            ensure_indexed(ws)
            end_session(ws, "s-0")
        if root == here:
            server.stop()
        with open_test_workspace(root, now=LATER) as ws:
            first = end_session(ws, "s-1", transcript=TALK[:2])
            assert first.status == CAPTURED
            assert ("its rows wait" in (first.reason or "")) == (root == here)
        with open_test_workspace(root, now=LATEST) as ws:
            assert end_session(ws, "s-1", transcript=TALK).turns == 2
            assert compact_session(ws, "s-2").status == CAPTURED
            assert end_session(ws, "s-1", transcript=TALK).turns == 0
    server.start()
    with open_test_workspace(here, now=LATEST) as ws, open_test_workspace(undisturbed, now=LATEST) as other:
        ensure_indexed(ws)
        assert ws.index.count_by_kind() == other.index.count_by_kind()
        finish_pending(ws)
        assert ws.documents.spool.list_pending() == []
        assert read_store(ws.documents.store, "memory/").keys() == read_store(other.documents.store, "memory/").keys()
        assert [row["source_path"] for row in read_rows(ws)] == [row["source_path"] for row in read_rows(other)]
        assert [row[0] for row in read_capture_counts(ws)] == [row[0] for row in read_capture_counts(other)]
        assert verify(ws) == []
        # Nobody could say whether the answer repeats a tool of an earlier capture, so the sentence does without it.
        answer, unknown = "→ “They pass now”,", "→ the agent answered,"
        memory, expected = (one.documents.store.read("MEMORY.md").data.decode() for one in (ws, other))
        assert (memory.count(answer), expected.count(answer)) == (0, 1)
        assert memory == expected.replace(answer, unknown)


def test_a_connection_that_breaks_mid_way_leaves_the_capture_whole(server: PostgresServer, tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        ensure_indexed(ws)
        end_session(ws, "s-0")
        server.stop()
        assert "its rows wait" in (end_session(at_time(ws, LATER), "s-1").reason or "")
        with pytest.raises(IndexUnavailable):
            ws.index.search("reader", None, limit=5)
    server.start()
    with open_test_workspace(tmp_path, now=LATEST) as ws:
        ensure_indexed(ws)
        assert {hit.session_id for hit in ws.index.search("reader", None, limit=5)} == {"s-0", "s-1"}


def test_commands_say_what_is_the_matter_and_go_on(server: PostgresServer, lineage: LineageCommand) -> None:
    said = ["--harness", "generic", "--transcript", "User: hello reader.py", "--json"]
    lineage("session-end", "--session-id", "s-0", *said)
    server.stop()
    outcome = lineage("session-end", "--session-id", "s-1", *said).json
    assert outcome["status"] == CAPTURED
    lineage("remember", "Tea is better than coffee")
    status = lineage("status", "--json")
    assert status.code == IndexUnavailable.exit_code
    assert "cannot be reached" in json.loads(status.out)["away"]
    assert len(json.loads(status.out)["unfinished"]) == 1
    assert len(json.loads(status.out)["behind"]) >= 2
    lines = lineage("status").out.splitlines()
    assert (len(lines), "?" in "".join(lines)) == (len(set(lines)), False), "said twice, or asked back"
    assert "index: " in lineage("doctor").out
    found = lineage("search", "reader")
    assert (found.code, "cannot be reached" in found.err) == (IndexUnavailable.exit_code, True)
    server.start()
    assert "Tea is better" in lineage("search", "tea coffee").out
    assert {hit["session_id"] for hit in lineage("search", "reader", "--json").json["results"]} == {"s-0", "s-1"}
    state = lineage("status", "--json").json
    assert (state["behind"], state["index"]) == ([], strip_credentials(server.url))
    assert f"index      {state['index']}\n" in lineage("status").out
    lineage("recover")
    assert lineage("status", "--json").json["unfinished"] == []
    assert lineage("verify", "--json").json == {"findings": []}


def test_what_is_to_be_embedded_waits_and_is_dropped_for_good_later(server: PostgresServer, tmp_path: Path) -> None:
    """Vectors lie on this machine: a removal elsewhere shows in the rows, and the next run drops them."""
    with run_embedding_server() as served, open_embedding_workspace(tmp_path / "vault", served) as ws:
        ensure_indexed(ws)
        end_session(ws, "s-1", transcript=TALK)
        assert embed_pending(ws).embedded > 0
        removed = end_session(ws, "s-2", transcript=make_turns("Where is the boat?", "At the pier."))
        assert embed_pending(ws).left == 0
    with run_embedding_server() as served, open_embedding_workspace(tmp_path / "vault", served) as ws:
        server.stop()
        assert embed_pending(ws).failed == INDEX_UNAVAILABLE
    server.start()
    with open_test_workspace(tmp_path / "vault") as elsewhere:
        remove(elsewhere, removed.session_token, reason="asked for")
    with run_embedding_server() as served, open_embedding_workspace(tmp_path / "vault", served) as ws:
        done = embed_pending(ws)
        assert (done.dropped > 0, done.embedded, done.failed) == (True, 0, "")
        assert ws.vectors is not None
        assert not any(removed.session_token in path for path in ws.vectors.load_source_versions())
