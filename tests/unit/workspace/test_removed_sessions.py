"""What another machine removed goes from this one: what it holds, and nothing of the workspace itself.

Fails without any step of `drop_removed_sessions`: blocks, checkpoints, rows, counters, vectors, and the scrub of the
index.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from lineage.core.base.context_blocks import ContextFile
from lineage.core.base.naming import memory_md_path
from lineage.core.format.checkpoint import Checkpoint, Message
from lineage.pipeline.maintenance.reindex import reindex
from lineage.pipeline.maintenance.remove import remove
from lineage.pipeline.search.embeddings import embed_pending
from lineage.workspace.removed_sessions import drop_removed_sessions, finish_scrub
from lineage.workspace.workspace import Workspace
from tests.support.dead_processes import find_holders
from tests.support.embedding_server import open_embedding_workspace, run_embedding_server
from tests.support.memory_store import MemoryStore
from tests.support.workspace import NOW, end_session, find_root, make_turns, open_test_workspace, read_rows, read_store

pytestmark = pytest.mark.leaves_findings  # the files are not in these folders

SECRET = "quokka4711"
TALK = make_turns(f"Where does {SECRET} sleep?", f"Decision: {SECRET} sleeps in the lair.")


@contextmanager
def machines(folder: Path) -> Iterator[tuple[Workspace, Workspace]]:
    """The one that removes, and one that has seen the same two sessions."""
    with ExitStack() as opened:
        store, served = MemoryStore(), opened.enter_context(run_embedding_server())
        one = opened.enter_context(open_test_workspace(folder / "one", store=store))
        two = opened.enter_context(open_embedding_workspace(folder / "two", served, store=store))
        end_session(one, "gone", transcript=TALK)
        end_session(one, "kept")
        reindex(two)
        embed_pending(two)
        yield one, two


def removed(one: Workspace) -> frozenset[str]:
    remove(one, "gone", reason="asked for")
    return one.documents.tombstones.list_tokens()


def checkpoint(token: str) -> Checkpoint:
    said = (Message("user", f"And {SECRET}?", NOW),)
    return Checkpoint(
        agent_id="default", session_id="gone", session_token=token, harness="generic", project="/home/ada/demo",
        saved_at=NOW, messages=said,
    )  # fmt: skip


def test_nothing_of_it_is_left_on_this_machine_and_nothing_of_the_workspace_is_touched(tmp_path: Path) -> None:
    with machines(tmp_path) as (one, two):
        token = two.index.list_sessions(None, reference="gone")[0].session_token
        two.documents.context_cache.put("default", "~/demo", ContextFile("~/demo", (), f"{SECRET} sleeps in the lair."))
        two.documents.checkpoints.put(checkpoint(token))
        two.telemetry.count_access(token, NOW)
        two.telemetry.count_access(two.index.list_sessions(None, reference="kept")[0].session_token, NOW)
        others = [row for row in read_rows(two) if row["session_token"] != token]
        tokens = removed(one)
        before = read_store(one.documents.store)
        assert drop_removed_sessions(two, tokens) > 0
        assert read_store(one.documents.store) == before
        assert read_rows(two) == others
        assert two.index.find_indexed_tokens(tokens) == set()
        assert two.telemetry.forget(token) == 0
        assert two.documents.checkpoints.list_for_agent(None) == []
        assert two.vectors is not None
        assert two.vectors.load_source_versions()
        assert not any(token in path for path in two.vectors.load_source_versions())
        root = find_root(two)
        assert drop_removed_sessions(two, tokens) == 0
    assert find_holders(root, SECRET, token) == []


def test_who_was_cut_off_before_the_scrub_is_followed_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails without the note that dropping has begun, and where `finish_scrub` leaves that standing."""
    with machines(tmp_path) as (one, two):
        token = two.index.list_sessions(None, reference="gone")[0].session_token
        two.telemetry.count_access(token, NOW)
        tokens = removed(one)
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(type(two.telemetry), "scrub", interrupted)
            drop_removed_sessions(two, tokens)
        assert two.index.find_indexed_tokens(tokens) == set()
        finish_scrub(two)
        scrubbed: list[object] = []
        with monkeypatch.context() as patched:
            patched.setattr(type(two.index), "scrub", scrubbed.append)
            finish_scrub(two)
        assert scrubbed == []
        root = find_root(two)
    assert find_holders(root, SECRET, token) == []


def interrupted(_: object) -> None:
    raise KeyboardInterrupt


def test_who_was_at_work_when_it_was_removed_shows_it_no_more(tmp_path: Path) -> None:
    """Fails where `Publication` doesn't look for removals under the lease."""
    with machines(tmp_path) as (one, two):
        removed(one)
        end_session(two, "late")
        shown = two.documents.store.read(memory_md_path("default")).data.decode()
        assert "session=late" in shown
        assert "session=kept" in shown
        assert "session=gone" not in shown
        assert SECRET not in shown


def test_where_nothing_of_it_is_held_nothing_is_done(tmp_path: Path) -> None:
    with machines(tmp_path) as (one, two):
        two.documents.context_cache.put("default", "~/demo", ContextFile("~/demo", (), "The reader splits on newline."))
        end_session(one, "another")
        remove(one, "another", reason="asked for")
        assert drop_removed_sessions(two, one.documents.tombstones.list_tokens()) == 0
        assert list(two.documents.context_cache.store.list("context/"))
