"""What one agent may be shown: neither another's, nor what is private, removed, or waits.

Fails where any of its questions is not asked; the scenarios of `lineage mcp` show that surfaces ask it.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage.core.base.book_paths import PENDING, BookRef
from lineage.errors import InvalidInput, NotFoundError
from lineage.harness.detect_caller import Caller
from lineage.pipeline.memory.remember import Memo, remember
from lineage.workspace.access import AgentAccess
from lineage.workspace.workspace import Workspace
from tests.support.workspace import at_time, end_session, make_turns, open_test_workspace, search_sessions

CALLER = Caller("a harness")


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Workspace]:
    """Ann and Bob with a session and a lesson each, and a session of Ann's that is private."""
    with open_test_workspace(tmp_path) as opened:
        for agent in ("ann", "bob"):
            end_session(opened, f"{agent}-1", agent_id=agent, transcript=make_turns("Feed the quokka.", "It is fed."))
            remember(opened, Memo(text="The quokka naps.", kind="lesson", scope=f"agent/{agent}", agent_id=agent))
        end_session(
            opened, "ann-2", agent_id="ann", private=True, transcript=make_turns("Feed the wombat.", "It is fed.")
        )
        yield opened


def tokens(ws: Workspace) -> dict[str, str]:
    return {row.session_id: row.session_token for row in ws.index.list_sessions(None)}


def test_sessions_are_the_agent_s_and_not_private(ws: Workspace) -> None:
    reach = AgentAccess(ws, "ann")
    assert [row.session_id for row in reach.list_sessions(10)] == ["ann-1"]
    assert [row.session_id for row in reach.list_sessions(1)] == ["ann-1"]
    known = tokens(ws)
    for reference in ("ann-1", known["ann-1"], known["ann-1"][:8], "ann"):
        assert reach.find_session(reference).session_id == "ann-1"
    for reference in ("bob-1", known["bob-1"], "bob", "ann-2", known["ann-2"], "", "%"):
        with pytest.raises(NotFoundError, match="no session"):
            reach.find_session(reference)


def test_many_private_sessions_hide_no_older_one(ws: Workspace) -> None:
    for number in range(9):
        later = at_time(ws, f"2026-11-22T12:00:0{number}.000Z")
        end_session(
            later,
            f"ann-private-{number}",
            agent_id="ann",
            private=True,
            transcript=make_turns("Feed it.", "It is fed."),
        )
    assert [row.session_id for row in AgentAccess(ws, "ann").list_sessions(1)] == ["ann-1"]


def test_a_session_that_is_called_like_another_s_token_hides_nothing(ws: Workspace) -> None:
    token = tokens(ws)["ann-1"]
    end_session(ws, token, agent_id="ann", transcript=make_turns("Feed it again.", "It is fed."))
    assert AgentAccess(ws, "ann").find_session(token).session_id == "ann-1"


def test_an_ambiguous_reference_names_the_agent_s_sessions_alone(ws: Workspace) -> None:
    end_session(ws, "ann-3", agent_id="ann", transcript=make_turns("Feed it again.", "It is fed."))
    end_session(ws, "ann-bob", agent_id="bob", transcript=make_turns("Feed it once more.", "It is fed."))
    with pytest.raises(NotFoundError, match="ambiguous") as caught:
        AgentAccess(ws, "ann").find_session("ann")
    known = tokens(ws)
    shown = {name for name, token in known.items() if token in caught.value.message}
    assert shown == {"ann-1", "ann-3"}


def test_of_everybody_s_results_it_finds_its_own(ws: Workspace) -> None:
    hits = search_sessions(ws, "quokka wombat", None, 50)
    assert {hit.agent_id for hit in hits} >= {"ann", "bob"}
    found = [hit for hit in hits if AgentAccess(ws, "ann").may_show_hit(hit)]
    assert {(hit.agent_id, hit.entry is None) for hit in found} == {("ann", True), ("ann", False)}


def test_books_are_its_own_and_nobody_s(ws: Workspace) -> None:
    reach, known = AgentAccess(ws, "ann"), tokens(ws)
    remember(ws, Memo(text="Prefers quokkas.", kind="preference"), CALLER)
    seen = ("global", "project/x", "peer/eve", "agent/ann", f"session/{known['ann-1']}")
    hidden = ("agent/bob", "agent/", "session/", "project/", "", "ann", "agent/ann/x", "agent/Ann")
    private = tuple(f"session/{known[name]}" for name in ("bob-1", "ann-2"))
    assert [scope for scope in (*seen, *hidden, *private) if reach.may_read_scope(scope)] == list(seen)
    assert {ref.scope for ref in reach.list_books()} == {"agent/ann"}
    assert len(reach.read_book(BookRef("agent/ann", "lesson"))) == 1
    for ref in (BookRef("agent/bob", "lesson"), BookRef("global", "preference", PENDING), BookRef(private[1], "task")):
        with pytest.raises(NotFoundError, match="no book"):
            reach.read_book(ref)
    with pytest.raises(InvalidInput, match="not a scope"):
        reach.read_book(BookRef("lane/x", "lesson"))
    for scope in (*hidden, *private):
        with pytest.raises(InvalidInput, match="not a scope of this agent"):
            reach.check_writable_scope(scope)
    assert [reach.check_writable_scope(scope) for scope in (None, *seen)] == [None, *seen]


def test_search_finds_no_entry_that_waits(ws: Workspace) -> None:
    """Entries that wait have no rows: whoever is asked to show a hit need not look for them."""
    remember(ws, Memo(text="The narwhal swims.", kind="preference"), CALLER)
    remember(ws, Memo(text="The narwhal sleeps.", kind="preference"))
    hits = search_sessions(ws, "narwhal", "ann", 5)
    assert [hit.entry.text for hit in hits if hit.entry] == ["The narwhal sleeps."]


def test_an_entry_goes_by_its_id_within_reach(ws: Workspace) -> None:
    own, others = (
        AgentAccess(ws, agent).read_book(BookRef(f"agent/{agent}", "lesson"))[0].entry.id for agent in ("ann", "bob")
    )
    reach = AgentAccess(ws, "ann")
    assert reach.find_entry(own[:6]).entry.id == own
    for prefix in (others, "", "zz"):
        with pytest.raises(NotFoundError, match="no entry"):
            reach.find_entry(prefix)


@pytest.mark.slow
def test_a_running_session_is_the_agent_s_own(ws: Workspace) -> None:
    reach, known = AgentAccess(ws, "ann"), tokens(ws)
    assert reach.resolve_running_session("ann-1") == known["ann-1"]
    assert reach.resolve_running_session(None) == reach.resolve_running_session("ann-2") == ""
    assert len(reach.resolve_running_session("not captured yet")) == 16
    assert reach.resolve_running_session(known["bob-1"]) != known["bob-1"]
    assert reach.bind_caller(CALLER, None) == CALLER
    assert reach.bind_caller(CALLER, "ann-2").sessions == ("ann-2",)
    for asked in (reach.resolve_running_session, lambda session: reach.bind_caller(CALLER, session)):
        with pytest.raises(NotFoundError, match="no session of this agent"):
            asked("bob-1")


@pytest.mark.leaves_findings
def test_what_was_removed_is_gone_before_the_index_knows(ws: Workspace) -> None:
    token = tokens(ws)["ann-1"]
    ws.documents.store.create(f"memory/tombstones/{token}.md", b"in doubt")
    reach = AgentAccess(ws, "ann")
    assert reach.list_sessions(10) == []
    assert reach.resolve_running_session("ann-1") == ""
    assert not reach.may_read_scope(f"session/{token}")
