"""Forks: what a session inherited belongs to its parent. (format: Captures)

Fails without `_inherited` in pipeline/capture/session_end.py, without the parent's captured ids in it, and, for what
was removed, without `read_removed_turns` in pipeline/capture/source.py.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from lineage.core.format import transcript
from lineage.core.format.documents import Artifact
from lineage.pipeline.capture.session import CaptureResult
from lineage.pipeline.maintenance.remove import remove
from lineage.workspace.lookup import load_document
from lineage.workspace.workspace import Workspace
from tests.support.workspace import compact_session, end_session, open_test_workspace

PROJECTS = Path(__file__).parents[1] / "data/claude-code/projects/-home-ada-demo"
PARENT = "aa765e29-162b-5be6-8e53-f03014531e0e"
FORK = "2489c83d-fca2-5674-a85a-9f9be83b8d4e"


@pytest.fixture
def ws(tmp_path: Path) -> Any:
    with open_test_workspace(tmp_path / "vault") as opened:
        yield opened


@pytest.fixture
def went_on(tmp_path: Path) -> Path:
    """The fork of the samples, with something of its own behind what it inherited."""
    own = {
        "type": "user", "uuid": "of-the-fork", "parentUuid": None, "sessionId": FORK, "cwd": "/home/ada/demo",
        "timestamp": "2026-10-02T11:00:00.000Z", "message": {"role": "user", "content": "And now in the fork?"},
    }  # fmt: skip
    path = tmp_path / f"{FORK}.jsonl"
    path.write_text((PROJECTS / path.name).read_text() + json.dumps(own) + "\n")
    return path


def ended(ws: Workspace, session: str, path: Path | None = None, **more: Any) -> CaptureResult:
    path = path or PROJECTS / f"{session}.jsonl"
    return end_session(ws, session, harness="claude-code", transcript_path=str(path), **more)


def captured(ws: Workspace, outcome: CaptureResult) -> Artifact:
    document = load_document(ws, outcome.transcript_path or "")
    assert isinstance(document, Artifact)
    return document


def ids(artifact: Artifact) -> set[str]:
    return set(transcript.extract_turn_ids(artifact.body))


def test_a_fork_begins_after_what_it_inherited_and_names_its_parent(ws: Workspace, went_on: Path) -> None:
    parent = captured(ws, ended(ws, PARENT))
    assert ended(ws, FORK).status == "unchanged", "it has nothing of its own yet"
    fork = captured(ws, ended(ws, FORK, went_on))
    assert fork.forked_from == PARENT
    assert [turn.text for turn in transcript.parse_turns(fork.body)] == ["And now in the fork?"]
    assert transcript.parse_turns(fork.body)[0].number == len(ids(parent)) + 1
    assert ended(ws, FORK, went_on).status == "unchanged"


def test_a_fork_whose_parent_is_not_known_holds_everything(ws: Workspace, went_on: Path) -> None:
    fork = captured(ws, ended(ws, FORK, went_on))
    assert transcript.parse_turns(fork.body)[0].number == 1


@pytest.mark.parametrize("claimed", [{}, {"private": False}], ids=["not-said", "not-private"])
def test_a_fork_of_a_private_session_is_private(ws: Workspace, went_on: Path, claimed: dict[str, bool]) -> None:
    ended(ws, PARENT, private=True)
    outcome = ended(ws, FORK, went_on, **claimed)
    assert captured(ws, outcome).private
    assert [row.private for row in ws.index.list_sessions(None)] == [True, True]


def test_a_compaction_of_a_private_session_s_fork_is_private(ws: Workspace, went_on: Path) -> None:
    ended(ws, PARENT, private=True)
    outcome = compact_session(ws, FORK, "Goal: go on.", harness="claude-code", transcript_path=str(went_on))
    document = load_document(ws, outcome.compaction_path or "")
    assert isinstance(document, Artifact)
    assert document.private


def test_a_fork_of_a_removed_session_brings_nothing_of_it_back(ws: Workspace, went_on: Path) -> None:
    parent = captured(ws, ended(ws, PARENT))
    remove(ws, PARENT, reason="asked for")
    outcome = ended(ws, FORK, went_on)
    fork = captured(ws, outcome)
    assert not ids(fork) & ids(parent)
    assert [turn.text for turn in transcript.parse_turns(fork.body)] == ["And now in the fork?"]
    assert outcome.skipped["turns of a removed session"] == len(ids(parent))


@pytest.mark.parametrize("private", [True, False])
def test_a_fork_of_a_removed_session_is_as_private_as_that_was(ws: Workspace, went_on: Path, private: bool) -> None:
    ended(ws, PARENT, private=private)
    remove(ws, PARENT, reason="asked for")
    assert captured(ws, ended(ws, FORK, went_on)).private is private


def test_a_fork_of_a_fork_begins_after_what_both_hold(ws: Workspace, went_on: Path, tmp_path: Path) -> None:
    ended(ws, PARENT)
    ended(ws, FORK, went_on)
    own = json.loads(went_on.read_text().splitlines()[-1])
    again = own | {"uuid": "of-the-second", "message": {"role": "user", "content": "And in the second fork?"}}
    records = [json.loads(line) for line in went_on.read_text().splitlines()] + [again]
    second = tmp_path / "second.jsonl"
    lines = [
        json.dumps(r | ({"sessionId": "second", "forkedFrom": {"sessionId": FORK}} if "uuid" in r else {}))
        for r in records
    ]
    second.write_text("\n".join(lines) + "\n")
    fork = captured(ws, ended(ws, "second", second))
    assert fork.forked_from == FORK
    assert not fork.private
    assert [turn.text for turn in transcript.parse_turns(fork.body)] == ["And in the second fork?"]
