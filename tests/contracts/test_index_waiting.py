"""Captures that wait for a render, on every engine of the index. (lineage/index/base.py: PublishQueue)

What each guard rests on: tickets that are drawn once, `autoincrement` and `identity` in the tables; the conditions and
the order of `_FIRST`; `queue.forget` where an index forgets a session.
"""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from lineage.index import Index, QueuedCapture
from tests.support.indexes import POSTGRES, open_index

NOON, LATER = "2026-11-20T12:00:00.000Z", "2026-11-21T12:00:00.000Z"


def capture(token: str, agent: str = "default", at: str = NOON) -> QueuedCapture:
    return QueuedCapture(agent, token, at, (f"memory/{token}--summary.md", "memory/größe.md"))


def test_who_renders_sees_all_that_wait_oldest_first_and_says_what_it_took(index: Index) -> None:
    asked = [capture("c"), capture("a"), capture("b")]
    tickets = [index.queue.enqueue(one) for one in asked]
    assert index.queue.peek("default", NOON, 9) == list(zip(tickets, asked, strict=True))
    assert index.queue.peek("default", NOON, 2) == list(zip(tickets, asked, strict=True))[:2]
    index.queue.mark_done(tickets[:2])
    assert [index.queue.is_done(ticket) for ticket in tickets] == [True, True, False]
    index.queue.mark_done([])
    assert index.queue.peek("default", NOON, 9) == [(tickets[2], asked[2])]


def test_other_agents_and_later_times_wait_for_their_own(index: Index) -> None:
    index.queue.enqueue(capture("a", agent="eve"))
    index.queue.enqueue(capture("b", at=LATER))
    assert index.queue.peek("default", NOON, 9) == []
    assert [one.token for _, one in index.queue.peek("eve", NOON, 9)] == ["a"]
    assert [one.token for _, one in index.queue.peek("default", LATER, 9)] == ["b"]


def test_a_ticket_is_never_drawn_again(engine: str, index: Index, tmp_path: Path) -> None:
    drawn = []
    for number in range(3):
        drawn.append(index.queue.enqueue(capture(str(number))))
        index.queue.mark_done(drawn)
    with closing(open_index(engine, tmp_path / "index.db")) as other:
        drawn.append(other.queue.enqueue(capture("other")))
    assert len(set(drawn)) == 4
    assert not index.queue.is_done(drawn[-1])


def test_who_waits_elsewhere_waits_with_us(engine: str, index: Index, tmp_path: Path) -> None:
    with closing(open_index(engine, tmp_path / "index.db")) as other:
        ticket = other.queue.enqueue(capture("a"))
        index.queue.mark_done([number for number, _ in index.queue.peek("default", NOON, 9)])
        assert other.queue.is_done(ticket)


def test_who_is_called_looks_again(engine: str, index: Index, tmp_path: Path) -> None:
    """The engine that calls is waited for longer than the test may take; the other one looks by itself."""
    ticket = index.queue.enqueue(capture("a"))
    assert not index.queue.wait(ticket, 0.0)
    notifies = engine == POSTGRES
    seconds = 60.0 if notifies else 0.01
    assert not index.queue.wait(ticket, 0.01)
    with ThreadPoolExecutor(1) as threads, closing(open_index(engine, tmp_path / "index.db")) as other:
        other.queue.mark_done([ticket])
        other.queue.notify()
        assert index.queue.wait(ticket, seconds)
        next_one = other.queue.enqueue(capture("b"))
        if notifies:
            waiting = threads.submit(index.queue.wait, next_one, seconds)
            other.queue.notify()
            assert waiting.result(30) is False
            other.queue.mark_done([next_one])
            other.queue.notify()
        assert index.queue.wait(next_one, seconds) is notifies


def test_a_session_that_is_forgotten_waits_no_more(index: Index) -> None:
    gone, kept = index.queue.enqueue(capture("a")), index.queue.enqueue(capture("b"))
    index.delete_session("a")
    assert (index.queue.is_done(gone), index.queue.is_done(kept)) == (True, False)
