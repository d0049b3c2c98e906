"""What another machine removed goes from this one: what it holds, and nothing of the workspace itself.

Fails without any step of `forget_removed`: blocks, checkpoints, rows, counters, vectors, and the scrub of the index.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from lineage.core.checkpoint import Checkpoint, Message
from lineage.core.naming import memory_md_path
from lineage.pipeline.embedding import embed
from lineage.pipeline.house import House
from lineage.pipeline.upkeep.forgetting import finish_scrub, forget_removed
from lineage.pipeline.upkeep.reindexing import reindex
from lineage.pipeline.upkeep.removal import remove
from lineage.store import MemoryStore
from tests.support.embedding import embedding_house, endpoint
from tests.support.houses import NOW, contents, end, house_at, root_of, rows, turns
from tests.support.wrecks import holders

pytestmark = pytest.mark.leaves_findings  # the files are not in these folders

SECRET = "quokka4711"
TALK = turns(f"Where does {SECRET} sleep?", f"Decision: {SECRET} sleeps in the lair.")


@contextmanager
def machines(folder: Path) -> Iterator[tuple[House, House]]:
    """The one that removes, and one that has seen the same two sessions."""
    with ExitStack() as opened:
        store, served = MemoryStore(), opened.enter_context(endpoint())
        one = opened.enter_context(house_at(folder / "one", store=store))
        two = opened.enter_context(embedding_house(folder / "two", served, store=store))
        end(one, "gone", transcript=TALK)
        end(one, "kept")
        reindex(two)
        embed(two)
        yield one, two


def removed(one: House) -> frozenset[str]:
    remove(one, "gone", reason="asked for")
    return one.canon.tombstones.tokens()


def checkpoint(token: str) -> Checkpoint:
    said = (Message("user", f"And {SECRET}?", NOW),)
    return Checkpoint(
        agent_id="default", session_id="gone", session_token=token, harness="generic", project="/home/ada/demo",
        saved_at=NOW, messages=said,
    )  # fmt: skip


def test_nothing_of_it_is_left_on_this_machine_and_nothing_of_the_workspace_is_touched(tmp_path: Path) -> None:
    with machines(tmp_path) as (one, two):
        token = two.index.sessions(None, reference="gone")[0].session_token
        two.canon.blocks.put("default", "/home/ada/demo", f"{SECRET} sleeps in the lair.")
        two.canon.checkpoints.put(checkpoint(token))
        two.telemetry.count_access(token, NOW)
        two.telemetry.count_access(two.index.sessions(None, reference="kept")[0].session_token, NOW)
        others = [row for row in rows(two) if row["session_token"] != token]
        tokens = removed(one)
        before = contents(one.canon.store)
        assert forget_removed(two, tokens) > 0
        assert contents(one.canon.store) == before
        assert rows(two) == others
        assert two.index.held(tokens) == set()
        assert two.telemetry.forget(token) == 0
        assert two.canon.checkpoints.of(None) == []
        assert two.vectors is not None
        assert two.vectors.sources()
        assert not any(token in path for path in two.vectors.sources())
        root = root_of(two)
        assert forget_removed(two, tokens) == 0
    assert holders(root, SECRET, token) == []


def test_who_was_cut_off_before_the_scrub_is_followed_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails without the note that dropping has begun, and where `finish_scrub` leaves that standing."""
    with machines(tmp_path) as (one, two):
        token = two.index.sessions(None, reference="gone")[0].session_token
        two.telemetry.count_access(token, NOW)
        tokens = removed(one)
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(type(two.telemetry), "scrub", interrupted)
            forget_removed(two, tokens)
        assert two.index.held(tokens) == set()
        finish_scrub(two)
        scrubbed: list[object] = []
        with monkeypatch.context() as patched:
            patched.setattr(type(two.index), "scrub", scrubbed.append)
            finish_scrub(two)
        assert scrubbed == []
        root = root_of(two)
    assert holders(root, SECRET, token) == []


def interrupted(_: object) -> None:
    raise KeyboardInterrupt


def test_who_was_at_work_when_it_was_removed_shows_it_no_more(tmp_path: Path) -> None:
    """Fails where `Publication` doesn't look for removals under the lease."""
    with machines(tmp_path) as (one, two):
        removed(one)
        end(two, "late")
        shown = two.canon.store.read(memory_md_path("default")).data.decode()
        assert "session=late" in shown
        assert "session=kept" in shown
        assert "session=gone" not in shown
        assert SECRET not in shown


def test_where_nothing_of_it_is_held_nothing_is_done(tmp_path: Path) -> None:
    with machines(tmp_path) as (one, two):
        two.canon.blocks.put("default", "/home/ada/demo", "The reader splits on newline.")
        end(one, "another")
        remove(one, "another", reason="asked for")
        assert forget_removed(two, one.canon.tombstones.tokens()) == 0
        assert list(two.canon.blocks.store.list("context/"))
