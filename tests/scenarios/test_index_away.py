"""A PostgreSQL server that goes away: what is captured meanwhile is in the files, and the next run catches up.

What each guard rests on:
- files first: `except IndexAway` in `carry_out`; the job that stays in the spool, and `signals` in capture/session.py.
- books: `shelve` and `publish_or_wait`. Catching up: `ensure_indexed`, `resume`.
- vectors: `except IndexAway` and `prune` in `embed`.
- nobody waits twice: `_away` in store/postgres.py.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage.app.indexing import VARIABLE
from lineage.errors import IndexAway
from lineage.pipeline.embedding import AWAY, embed
from lineage.pipeline.house import CAPTURED
from lineage.pipeline.upkeep.reindexing import ensure_indexed
from lineage.pipeline.upkeep.removal import remove
from lineage.pipeline.upkeep.resuming import resume
from lineage.pipeline.upkeep.verification import verify
from lineage.store.postgres import named
from tests.support.commands import Lineage
from tests.support.embedding import embedding_house, endpoint
from tests.support.houses import at, compact, contents, counted, end, house_at, rows, turns
from tests.support.servers_postgres import PostgresServer, postgres_server

# The server ends before anybody could look; the tests look themselves.
pytestmark = [pytest.mark.slow, pytest.mark.leaves_findings]

LATER, LATEST = "2026-11-22T08:00:00.000Z", "2026-11-23T08:00:00.000Z"
TALK = turns("Why does reader.py drop the last line?", "It splits on newline.", "And the tests?", "They pass now.")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresServer]:
    """A server of the test's own, which it may stop."""
    with postgres_server() as found:
        monkeypatch.setenv(VARIABLE, found.url)
        yield found


def test_what_is_captured_while_it_is_away_is_in_the_files_and_in_the_rows_later(
    server: PostgresServer, tmp_path: Path
) -> None:
    here, undisturbed = tmp_path / "here", tmp_path / "undisturbed"
    for root in (undisturbed, here):
        with house_at(root) as house:
            ensure_indexed(house)
            end(house, "s-0")
        if root == here:
            server.stop()
        with house_at(root, now=LATER) as house:
            first = end(house, "s-1", transcript=TALK[:2])
            assert first.status == CAPTURED
            assert ("its rows wait" in (first.reason or "")) == (root == here)
        with house_at(root, now=LATEST) as house:
            assert end(house, "s-1", transcript=TALK).turns == 2
            assert compact(house, "s-2").status == CAPTURED
            assert end(house, "s-1", transcript=TALK).turns == 0
    server.start()
    with house_at(here, now=LATEST) as house, house_at(undisturbed, now=LATEST) as other:
        ensure_indexed(house)
        assert house.index.counts() == other.index.counts()
        resume(house)
        assert house.canon.spool.pending() == []
        assert contents(house.canon.store, "memory/").keys() == contents(other.canon.store, "memory/").keys()
        assert [row["source_path"] for row in rows(house)] == [row["source_path"] for row in rows(other)]
        assert [row[0] for row in counted(house)] == [row[0] for row in counted(other)]
        assert verify(house) == []
        assert house.canon.store.read("MEMORY.md").data == other.canon.store.read("MEMORY.md").data


def test_a_connection_that_breaks_mid_way_leaves_the_capture_whole(server: PostgresServer, tmp_path: Path) -> None:
    with house_at(tmp_path) as house:
        ensure_indexed(house)
        end(house, "s-0")
        server.stop()
        assert "its rows wait" in (end(at(house, LATER), "s-1").reason or "")
        with pytest.raises(IndexAway):
            house.index.search("reader", None, limit=5)
    server.start()
    with house_at(tmp_path, now=LATEST) as house:
        ensure_indexed(house)
        assert {hit.session_id for hit in house.index.search("reader", None, limit=5)} == {"s-0", "s-1"}


def test_commands_say_what_is_the_matter_and_go_on(server: PostgresServer, lineage: Lineage) -> None:
    said = ["--harness", "generic", "--transcript", "User: hello reader.py", "--json"]
    lineage("session-end", "--session-id", "s-0", *said)
    server.stop()
    outcome = lineage("session-end", "--session-id", "s-1", *said).json
    assert outcome["status"] == CAPTURED
    lineage("remember", "Tea is better than coffee")
    status = lineage("status", "--json")
    assert status.code == IndexAway.exit_code
    assert "cannot be reached" in json.loads(status.out)["away"]
    assert len(json.loads(status.out)["unfinished"]) == 1
    assert len(json.loads(status.out)["behind"]) >= 2
    lines = lineage("status").out.splitlines()
    assert (len(lines), "?" in "".join(lines)) == (len(set(lines)), False), "said twice, or asked back"
    assert "index: " in lineage("doctor").out
    found = lineage("search", "reader")
    assert (found.code, "cannot be reached" in found.err) == (IndexAway.exit_code, True)
    server.start()
    assert "Tea is better" in lineage("search", "tea coffee").out
    assert {hit["session_id"] for hit in lineage("search", "reader", "--json").json["results"]} == {"s-0", "s-1"}
    state = lineage("status", "--json").json
    assert (state["behind"], state["index"]) == ([], named(server.url))
    assert f"index      {state['index']}\n" in lineage("status").out
    lineage("recover")
    assert lineage("status", "--json").json["unfinished"] == []
    assert lineage("verify", "--json").json == {"findings": []}


def test_what_is_to_be_embedded_waits_and_is_dropped_for_good_later(server: PostgresServer, tmp_path: Path) -> None:
    """Vectors lie on this machine: a removal elsewhere shows in the rows, and the next run drops them."""
    with endpoint() as served, embedding_house(tmp_path / "vault", served) as house:
        ensure_indexed(house)
        end(house, "s-1", transcript=TALK)
        assert embed(house).embedded > 0
        removed = end(house, "s-2", transcript=turns("Where is the boat?", "At the pier."))
        assert embed(house).left == 0
    with endpoint() as served, embedding_house(tmp_path / "vault", served) as house:
        server.stop()
        assert embed(house).failed == AWAY
    server.start()
    with house_at(tmp_path / "vault") as elsewhere:
        remove(elsewhere, removed.session_token, reason="asked for")
    with endpoint() as served, embedding_house(tmp_path / "vault", served) as house:
        done = embed(house)
        assert (done.dropped > 0, done.embedded, done.failed) == (True, 0, "")
        assert house.vectors is not None
        assert not any(removed.session_token in path for path in house.vectors.sources())
