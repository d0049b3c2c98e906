"""Forks whose manifests name each other, and sub-agents.

Fails without the look at the parents that were visited: it would go round for ever.
"""

from pathlib import Path

import pytest

from lineage.core.capture.capture import Capture
from lineage.core.format.transcript import parse_turns
from lineage.core.format.turns import Turn
from lineage.pipeline.capture import session as sessions
from lineage.pipeline.capture import session_end
from lineage.pipeline.capture.session import Session
from lineage.workspace.workspace import Workspace
from tests.support.workspace import build_end_request, open_memory_workspace


def capture_fork(ws: Workspace, session: str, parent: str) -> str:
    turns = (Turn("user", f"Go on in {session}."), Turn("assistant", f"Done in {session}."))
    request = build_end_request(ws, session)
    return session_end.capture_session(ws, request, Capture(turns=turns, forked_from=parent)).status


def test_forks_that_name_each_other_are_captured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_memory_workspace(tmp_path) as ws:
        statuses = [capture_fork(ws, session, parent) for session, parent in (("a", "b"), ("b", "a"))]
        load_session, loads = sessions.load_session, list[str]()

        def load_counted(ws: Workspace, token: str, parent: str | None = None) -> Session:
            loads.append(token)
            assert len(loads) < 10, "it goes round"
            return load_session(ws, token, parent)

        monkeypatch.setattr(sessions, "load_session", load_counted)
        assert [*statuses, capture_fork(ws, "c", "a")] == ["captured"] * 3
        assert len(loads) == 4  # its own, its parents', and once more its origin, which may be private


def test_a_number_from_a_menu_is_no_title(tmp_path: Path) -> None:
    answered = Turn("assistant", "Which one?")
    with open_memory_workspace(tmp_path) as ws:
        titles = []
        for session, said in (("menu", ("8", "1) the parser")), ("numbers", ("8", "1"))):
            turns = tuple(turn for text in said for turn in (Turn("user", text), answered))
            result = session_end.capture_session(ws, build_end_request(ws, session), Capture(turns=turns))
            transcript = ws.documents.artifacts.get(result.transcript_path or "")
            assert transcript
            titles.append(transcript.title)
    assert titles == ["1) the parser", "generic session numbers"]


def test_a_sub_agents_prompt_is_no_persons(tmp_path: Path) -> None:
    turns = (Turn("user", "Find the callers.", source_id="u1"), Turn("assistant", "Two callers.", source_id="u2"))
    with open_memory_workspace(tmp_path) as ws:
        ids = list[list[str]]()
        for session, parent in (("agent-1", "main"), ("alone", None)):
            request = build_end_request(ws, session)
            result = session_end.capture_session(ws, request, Capture(turns=turns, parent_session=parent))
            transcript = ws.documents.artifacts.get(result.transcript_path or "")
            assert transcript
            stored = parse_turns(transcript.body)
            ids.append([turn.id for turn in stored])
            assert [(turn.role, turn.name, turn.text) for turn in stored] == [
                ("system", "prompt", "Find the callers.") if parent else ("user", "", "Find the callers."),
                ("assistant", "", "Two callers."),
            ]
        assert ids[0] == ids[1]
