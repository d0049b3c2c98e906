"""Private sessions: captured whole, and nothing of them crosses to another session. (format: Captures; issue: 7)

Fails where any of its askers stops asking `is_allowed_in_scope`: the routing and the bar of extract/admission.py, the
project in
pipeline/knowledge/learning.py, the row in core/ledger.py, the entries in pipeline/knowledge/said.py, the gate of
index/searching.py; and where pipeline/capture/session.py takes a session's privacy from the request alone.
"""

from pathlib import Path
from typing import Any

import pytest

from lineage.core.capture.request import SESSION_END, Request, parse_request
from lineage.pipeline.maintenance.finish_pending import run_capture
from lineage.pipeline.maintenance.recover import recover
from lineage.pipeline.maintenance.reindex import reindex
from lineage.pipeline.memory.context import ContextRequest, build_context
from lineage.workspace.workspace import Workspace
from tests.support.commands import LineageCommand
from tests.support.faults import CrashPoint, crashes, with_crash_point
from tests.support.memory_store import MemoryStore
from tests.support.workspace import (
    at_time,
    compact_session,
    end_session,
    make_turns,
    open_test_workspace,
    read_store,
    search_sessions,
)

pytestmark = pytest.mark.slow

LATER, LAST = "2026-11-22T12:00:00.000Z", "2026-11-23T12:00:00.000Z"
PROJECT = "/home/ada/quokka"
TALK = make_turns(
    "I prefer wombats over quokkas. I am currently working on the wombat.",
    "We decided to feed the wombat at noon. Lesson: the wombat bites.",
    "The project uses a wombat. We decided on the wombat for good.",
    "TODO: wash the wombat.",
)


def end_privately(ws: Workspace, session: str = "s-1", **payload: Any) -> Any:
    return end_session(ws, session, **{"transcript": TALK, "project": PROJECT, "private": True, **payload})


def outside(ws: Workspace, token: str) -> dict[str, bytes]:
    """What a reader of the workspace sees that is not the session's own."""
    files = read_store(ws.documents.store) | read_store(ws.documents.store, "books/")
    return {path: data for path, data in files.items() if token not in path}


def holders(ws: Workspace, token: str, word: bytes = b"wombat") -> list[str]:
    return [path for path, data in outside(ws, token).items() if word in data.lower()]


def test_it_is_captured_and_learned_from_for_itself_alone(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        outcome = end_privately(ws)
        token = outcome.session_token
        assert outcome.learned == {"kept": 6, "pending": 0, "dropped": {}}
        assert {ref.scope for ref in ws.documents.books.list()} == {f"session/{token}"}
        assert holders(ws, token) == []
        assert holders(ws, token, b"quokka") == []
        assert "(private session)" in read_store(ws.documents.store)["MEMORY.md"].decode()


def test_no_search_and_no_context_tells_of_it(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        end_privately(ws)
        end_session(ws, "s-2", project=PROJECT)
        for again in (False, True):
            if again:
                reindex(ws)
            assert search_sessions(ws, "wombat", None, 10) == []
            for query in (None, "wombat"):
                asked = ContextRequest(project=PROJECT, query=query, session="s-2")
                assert "wombat" not in build_context(ws, asked).text.lower()


def test_its_own_context_may(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        end_privately(ws)
        end_session(ws, "s-2", project=PROJECT)
        assert "wombat" in build_context(ws, ContextRequest(project=PROJECT, session="s-1")).text


@pytest.mark.leaves_findings
def test_what_is_moved_out_of_it_is_shown_to_nobody(tmp_path: Path) -> None:
    """A hand copies a book of it into the project's folder."""
    with open_test_workspace(tmp_path) as ws:
        token = end_privately(ws).session_token
        own = ws.documents.store.read(f"books/session/{token}/lesson.md").data
        ws.documents.store.create("books/project/quokka/lesson.md", own)
        reindex(ws)
        assert search_sessions(ws, "wombat", None, 10) == []
        assert "wombat" not in build_context(ws, ContextRequest(project=PROJECT, query="wombat")).text
        assert b"wombat" not in read_store(ws.documents.store)["MEMORY.md"]


@pytest.mark.parametrize("claimed", [False, None], ids=["not-private", "not-said"])
def test_no_later_end_takes_its_privacy_away(tmp_path: Path, claimed: bool | None) -> None:
    with open_test_workspace(tmp_path) as ws:
        end_privately(ws, transcript=TALK[:2])
        said = {} if claimed is None else {"private": claimed}
        outcome = end_session(at_time(ws, LATER), transcript=TALK, project=PROJECT, **said)
        note = "it stays private: the first capture decided"
        assert (outcome.status, outcome.reason) == ("captured", None if claimed is None else note)
        again = end_session(at_time(ws, LAST), transcript=TALK, project=PROJECT, **said)
        assert again.reason == ("nothing new" if claimed is None else f"nothing new; {note}")
        assert holders(ws, outcome.session_token) == []
        assert all(b"private: true" in data for data in artifacts(ws).values())


def test_no_later_end_makes_a_session_private(tmp_path: Path) -> None:
    """What was shown was shown: half a session that is private would promise what isn't so."""
    with open_test_workspace(tmp_path) as ws:
        end_session(ws, transcript=TALK[:2], project=PROJECT)
        outcome = end_privately(at_time(ws, LATER))
        assert outcome.reason == "it stays as it is, not private: the first capture decided"
        assert all(b"private: false" in data for data in artifacts(ws).values())


def test_a_compaction_can_be_its_first_capture(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        outcome = compact_session(ws, summary="Goal: feed the wombat.", private=True)
        end_session(at_time(ws, LATER), transcript=TALK, project=PROJECT)
        compact_session(at_time(ws, LAST), summary="Goal: wash the wombat.", private=False)
        assert holders(ws, outcome.session_token) == []


@pytest.mark.leaves_findings  # the workspace is a dictionary, and gone
def test_a_private_end_that_died_stays_private_whoever_finishes_it(tmp_path: Path) -> None:
    """At every call, by ends that know nothing of it and die too, and by a recovery."""
    points = next(point for point in range(1, 100) if not died_and_recovered(tmp_path / str(point), point))
    assert points > 8


def died_and_recovered(folder: Path, point: int) -> bool:
    """False where a private end makes less calls than that."""
    store, private = MemoryStore(), MemoryStore()

    def dying(ws: Workspace, asked: Request, call: int) -> bool:
        return crashes(lambda: run_capture(with_crash_point(ws, store, private, CrashPoint(call, after=True)), asked))

    with open_test_workspace(folder, store=store, private=private) as ws:
        payload: dict[str, Any] = {"harness": "generic", "session_id": "s-1", "project": PROJECT, "transcript": TALK}
        first = parse_request(SESSION_END, {**payload, "private": True}, agent_id=None, now=ws.now)
        public = parse_request(SESSION_END, payload, agent_id=None, now=LATER)
        if not dying(ws, first, point):
            return False
        for call in range(1, point):
            dying(at_time(ws, LATER), public, call)
        recover(at_time(ws, LAST))
        assert run_capture(at_time(ws, LAST), public).status == "unchanged"
        assert holders(ws, first.token) == []
        return True


def test_the_command_line_says_so(lineage: LineageCommand) -> None:
    given = ("session-end", "--harness", "generic", "--session-id", "s-1", "--transcript")
    assert lineage(*given, "User: I prefer wombats over quokkas.", "--private").code == 0
    said = lineage(*given, "User: I prefer wombats over quokkas.\nAssistant: Fine.", "--json")
    assert said.json["status"] == "captured"
    assert "wombat" not in (lineage.root / "MEMORY.md").read_text().lower()
    assert lineage("search", "wombats", "--json").json["results"] == []
    assert "wombat" not in lineage("context").out.lower()
    assert "wombat" not in lineage("book", "list").out.lower()


def artifacts(ws: Workspace) -> dict[str, bytes]:
    return {path: data for path, data in read_store(ws.documents.store, "memory/").items() if "/claims/" not in path}
