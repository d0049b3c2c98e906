"""What one agent may be shown: neither another's, nor what is private, removed, or waits.

Fails where any of its questions is not asked; the scenarios of `lineage mcp` show that surfaces ask it.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage.core.book_paths import PENDING, BookRef
from lineage.errors import InvalidInput, NotFoundError
from lineage.harness.callers import Caller
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.remembering import Memo, remember
from lineage.pipeline.reach import Reach
from tests.support.houses import at, end, house_at, search, turns

CALLER = Caller("a harness")


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """Ann and Bob with a session and a lesson each, and a session of Ann's that is private."""
    with house_at(tmp_path) as opened:
        for agent in ("ann", "bob"):
            end(opened, f"{agent}-1", agent_id=agent, transcript=turns("Feed the quokka.", "It is fed."))
            remember(opened, Memo(text="The quokka naps.", kind="lesson", scope=f"agent/{agent}", agent_id=agent))
        end(opened, "ann-2", agent_id="ann", private=True, transcript=turns("Feed the wombat.", "It is fed."))
        yield opened


def tokens(house: House) -> dict[str, str]:
    return {row.session_id: row.session_token for row in house.index.sessions(None)}


def test_sessions_are_the_agent_s_and_not_private(house: House) -> None:
    reach = Reach(house, "ann")
    assert [row.session_id for row in reach.sessions(10)] == ["ann-1"]
    assert [row.session_id for row in reach.sessions(1)] == ["ann-1"]
    known = tokens(house)
    for reference in ("ann-1", known["ann-1"], known["ann-1"][:8], "ann"):
        assert reach.session(reference).session_id == "ann-1"
    for reference in ("bob-1", known["bob-1"], "bob", "ann-2", known["ann-2"], "", "%"):
        with pytest.raises(NotFoundError, match="no session"):
            reach.session(reference)


def test_many_private_sessions_hide_no_older_one(house: House) -> None:
    for number in range(9):
        later = at(house, f"2026-11-22T12:00:0{number}.000Z")
        end(later, f"ann-private-{number}", agent_id="ann", private=True, transcript=turns("Feed it.", "It is fed."))
    assert [row.session_id for row in Reach(house, "ann").sessions(1)] == ["ann-1"]


def test_a_session_that_is_called_like_another_s_token_hides_nothing(house: House) -> None:
    token = tokens(house)["ann-1"]
    end(house, token, agent_id="ann", transcript=turns("Feed it again.", "It is fed."))
    assert Reach(house, "ann").session(token).session_id == "ann-1"


def test_an_ambiguous_reference_names_the_agent_s_sessions_alone(house: House) -> None:
    end(house, "ann-3", agent_id="ann", transcript=turns("Feed it again.", "It is fed."))
    end(house, "ann-bob", agent_id="bob", transcript=turns("Feed it once more.", "It is fed."))
    with pytest.raises(NotFoundError, match="ambiguous") as caught:
        Reach(house, "ann").session("ann")
    known = tokens(house)
    shown = {name for name, token in known.items() if token in caught.value.message}
    assert shown == {"ann-1", "ann-3"}


def test_of_everybody_s_results_it_finds_its_own(house: House) -> None:
    hits = search(house, "quokka wombat", None, 50)
    assert {hit.agent_id for hit in hits} >= {"ann", "bob"}
    found = [hit for hit in hits if Reach(house, "ann").finds(hit)]
    assert {(hit.agent_id, hit.entry is None) for hit in found} == {("ann", True), ("ann", False)}


def test_books_are_its_own_and_nobody_s(house: House) -> None:
    reach, known = Reach(house, "ann"), tokens(house)
    remember(house, Memo(text="Prefers quokkas.", kind="preference"), CALLER)
    seen = ("global", "project/x", "peer/eve", "agent/ann", f"session/{known['ann-1']}")
    hidden = ("agent/bob", "agent/", "session/", "project/", "", "ann", "agent/ann/x", "agent/Ann")
    private = tuple(f"session/{known[name]}" for name in ("bob-1", "ann-2"))
    assert [scope for scope in (*seen, *hidden, *private) if reach.sees(scope)] == list(seen)
    assert {ref.scope for ref in reach.books()} == {"agent/ann"}
    assert len(reach.book(BookRef("agent/ann", "lesson"))) == 1
    for ref in (BookRef("agent/bob", "lesson"), BookRef("global", "preference", PENDING), BookRef(private[1], "task")):
        with pytest.raises(NotFoundError, match="no book"):
            reach.book(ref)
    with pytest.raises(InvalidInput, match="not a scope"):
        reach.book(BookRef("lane/x", "lesson"))
    for scope in (*hidden, *private):
        with pytest.raises(InvalidInput, match="not a scope of this agent"):
            reach.writable(scope)
    assert [reach.writable(scope) for scope in (None, *seen)] == [None, *seen]


def test_an_entry_goes_by_its_id_within_reach(house: House) -> None:
    own, others = (
        Reach(house, agent).book(BookRef(f"agent/{agent}", "lesson"))[0].entry.id for agent in ("ann", "bob")
    )
    reach = Reach(house, "ann")
    assert reach.entry(own[:6]).entry.id == own
    for prefix in (others, "", "zz"):
        with pytest.raises(NotFoundError, match="no entry"):
            reach.entry(prefix)


@pytest.mark.slow
def test_a_running_session_is_the_agent_s_own(house: House) -> None:
    reach, known = Reach(house, "ann"), tokens(house)
    assert reach.running("ann-1") == known["ann-1"]
    assert reach.running(None) == reach.running("ann-2") == ""
    assert len(reach.running("not captured yet")) == 16
    assert reach.running(known["bob-1"]) != known["bob-1"]
    assert reach.speaking(CALLER, None) == CALLER
    assert reach.speaking(CALLER, "ann-2").sessions == ("ann-2",)
    for asked in (reach.running, lambda session: reach.speaking(CALLER, session)):
        with pytest.raises(NotFoundError, match="no session of this agent"):
            asked("bob-1")


@pytest.mark.leaves_findings
def test_what_was_removed_is_gone_before_the_index_knows(house: House) -> None:
    token = tokens(house)["ann-1"]
    house.canon.store.create(f"memory/tombstones/{token}.md", b"in doubt")
    reach = Reach(house, "ann")
    assert reach.sessions(10) == []
    assert reach.running("ann-1") == ""
    assert not reach.sees(f"session/{token}")
