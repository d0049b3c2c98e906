"""Prompts of sessions that Claude Code has deleted: which lines are one session, whose words they are, what stays out.

Fails without `_GAP`, without the look for a transcript, or if what was pasted counts as a person's words.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from lineage.core.format.turns import SYSTEM, USER
from lineage.errors import TranscriptError
from lineage.harness import claude_code, claude_history

HOUR = 3600 * 1000
START = 1_750_000_000_000


def prompt(text: str, hours: float = 0, session: str | None = "s-1", **more: Any) -> dict[str, Any]:
    value = {
        "display": text,
        "pastedContents": {},
        "timestamp": START + round(hours * HOUR),
        "project": "/home/ada/demo",
    }
    return value | ({"sessionId": session} if session else {}) | more


@pytest.fixture
def history(tmp_path: Path) -> Path:
    return tmp_path / ".claude" / claude_history.NAME


def write(history: Path, *prompts: dict[str, Any]) -> Path:
    history.parent.mkdir(parents=True, exist_ok=True)
    history.write_text("".join(json.dumps(each) + "\n" for each in prompts), encoding="utf-8")
    return history


def keep_transcript(history: Path, session: str, at: str = "2025-06-15T15:06:40.000Z") -> None:
    path = history.parent / "projects" / "-home-ada-demo" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"type": "user", "timestamp": at}) + "\n")


def list_sessions(history: Path) -> list[str]:
    return [item.session or "" for item in claude_code.discover(history)]


def test_lines_with_an_id_are_its_session_whatever_lies_between(history: Path) -> None:
    write(history, prompt("one"), prompt("other", 1, "s-2"), prompt("two", 90))
    assert list_sessions(history) == ["s-1", "s-2"]
    capture = claude_code.read(history, "s-1")
    assert [(turn.role, turn.text) for turn in capture.turns] == [(USER, "one"), (USER, "two")]
    assert (capture.partial, capture.project, capture.session_id) == (True, "/home/ada/demo", "s-1")
    assert (capture.started_at, capture.ended_at) == ("2025-06-15T15:06:40.000Z", "2025-06-19T09:06:40.000Z")


def test_lines_without_an_id_are_a_session_of_their_project_until_a_long_gap(history: Path) -> None:
    elsewhere = {"project": "/home/ada/other"}
    lines = [prompt("a", 0, None), prompt("b", 5.9, None), prompt("x", 6, None, **elsewhere), prompt("c", 12, None)]
    write(history, *lines)
    sessions = list_sessions(history)
    texts = {tuple(turn.text for turn in claude_code.read(history, session).turns) for session in sessions}
    assert texts == {("a", "b"), ("x",), ("c",)}
    write(history, *lines, prompt("d", 13, None))
    assert list_sessions(history) == sessions, "what is added later changes no id"


def test_a_session_whose_transcript_is_there_is_none(history: Path) -> None:
    write(history, prompt("one"), prompt("other", 1, "s-2"), prompt("old", 2, None))
    keep_transcript(history, "s-1")
    assert list_sessions(history) == ["s-2"], "and no group that may be that transcript's"
    keep_transcript(history, "s-1", at="2025-07-15T15:06:40.000Z")
    assert [session for session in list_sessions(history) if session != "s-2"] != []


def test_what_was_pasted_is_a_document_and_bare_commands_are_nobody_s_words(history: Path) -> None:
    pasted = {"1": {"id": 1, "type": "text", "content": "Traceback\n  line 3"}, "2": {"id": 2, "type": "image"}}
    write(
        history,
        prompt("Why? [Pasted text #1]", pastedContents=pasted),
        prompt("/clear", 1),
        prompt("/review the diff", 2),
    )
    capture = claude_code.read(history, "s-1")
    assert [(turn.role, turn.name, turn.text) for turn in capture.turns] == [
        (USER, "", "Why? [Pasted text #1]"), (SYSTEM, "pasted", "Traceback\n  line 3"), (USER, "", "/review the diff"),
    ]  # fmt: skip
    assert capture.skipped == {"harness notes": 1, "unknown": 1}


@pytest.mark.parametrize("time", [None, "soon", True, -1, 1e30, float("nan")])
def test_a_line_without_a_time_or_words_is_none(history: Path, time: object) -> None:
    write(history, prompt("one", timestamp=time), {"timestamp": START, "sessionId": "s-2"}, {"display": 5})
    assert list(claude_history.discover(history)) == []


def test_a_session_that_it_lacks_is_refused(history: Path) -> None:
    with pytest.raises(TranscriptError, match="does not hold session s-9"):
        claude_code.read(write(history, prompt("one")), "s-9")
    assert list(claude_code.discover(history.with_name("nowhere") / claude_history.NAME)) == []
