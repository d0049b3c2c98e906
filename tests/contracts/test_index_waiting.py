"""Captures that wait for a render, on every engine of the index. (lineage/index/base.py: Queue)

What each guard rests on: tickets that are drawn once, `autoincrement` and `identity` in the tables; the conditions and
the order of `_FIRST`; `queue.forget` where an index forgets a session.
"""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from lineage.index import Index, Waiting
from tests.support.indexes import opened

NOON, LATER = "2026-11-20T12:00:00.000Z", "2026-11-21T12:00:00.000Z"


def capture(token: str, agent: str = "default", at: str = NOON) -> Waiting:
    return Waiting(agent, token, at, (f"memory/{token}--summary.md", "memory/größe.md"))


def test_who_renders_sees_all_that_wait_oldest_first_and_says_what_it_took(index: Index) -> None:
    asked = [capture("c"), capture("a"), capture("b")]
    tickets = [index.queue.enlist(one) for one in asked]
    assert index.queue.first("default", NOON, 9) == list(zip(tickets, asked, strict=True))
    assert index.queue.first("default", NOON, 2) == list(zip(tickets, asked, strict=True))[:2]
    index.queue.take(tickets[:2])
    assert [index.queue.is_taken(ticket) for ticket in tickets] == [True, True, False]
    index.queue.take([])
    assert index.queue.first("default", NOON, 9) == [(tickets[2], asked[2])]


def test_other_agents_and_later_times_wait_for_their_own(index: Index) -> None:
    index.queue.enlist(capture("a", agent="eve"))
    index.queue.enlist(capture("b", at=LATER))
    assert index.queue.first("default", NOON, 9) == []
    assert [one.token for _, one in index.queue.first("eve", NOON, 9)] == ["a"]
    assert [one.token for _, one in index.queue.first("default", LATER, 9)] == ["b"]


def test_a_ticket_is_never_drawn_again(engine: str, index: Index, tmp_path: Path) -> None:
    drawn = []
    for number in range(3):
        drawn.append(index.queue.enlist(capture(str(number))))
        index.queue.take(drawn)
    with closing(opened(engine, tmp_path / "index.db")) as other:
        drawn.append(other.queue.enlist(capture("other")))
    assert len(set(drawn)) == 4
    assert not index.queue.is_taken(drawn[-1])


def test_who_waits_elsewhere_waits_with_us(engine: str, index: Index, tmp_path: Path) -> None:
    with closing(opened(engine, tmp_path / "index.db")) as other:
        ticket = other.queue.enlist(capture("a"))
        index.queue.take([number for number, _ in index.queue.first("default", NOON, 9)])
        assert other.queue.is_taken(ticket)


def test_who_is_called_looks_again(engine: str, index: Index, tmp_path: Path) -> None:
    """The engine that calls is waited for longer than the test may take; the other one looks by itself."""
    ticket = index.queue.enlist(capture("a"))
    assert not index.queue.wait(ticket, 0.0)
    seconds = 60.0 if index.is_remote else 0.01
    assert not index.queue.wait(ticket, 0.01)
    with ThreadPoolExecutor(1) as threads, closing(opened(engine, tmp_path / "index.db")) as other:
        other.queue.take([ticket])
        other.queue.call()
        assert index.queue.wait(ticket, seconds)
        next_one = other.queue.enlist(capture("b"))
        if index.is_remote:
            waiting = threads.submit(index.queue.wait, next_one, seconds)
            other.queue.call()
            assert waiting.result(30) is False
            other.queue.take([next_one])
            other.queue.call()
        assert index.queue.wait(next_one, seconds) is index.is_remote


def test_a_session_that_is_forgotten_waits_no_more(index: Index) -> None:
    gone, kept = index.queue.enlist(capture("a")), index.queue.enlist(capture("b"))
    index.forget("a")
    assert (index.queue.is_taken(gone), index.queue.is_taken(kept)) == (True, False)
