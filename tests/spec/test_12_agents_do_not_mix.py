"""Spec, test 12: what one agent did shows in nothing of another's, also where both have a session of the same id.

Fails without `agent_id` in the seed of the token, in `_LEDGER`, `_SEARCH` or `sessions` of the index, without the
agent in `memory_md_path`, and when `publish_all` of pipeline/publishing.py forgets an agent whose last session went.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import LineageCommand
from tests.support.dead_processes import delete_machine_state, find_holders, read_workspace_files
from tests.support.workspace import make_turns

MOMENT = "2026-11-21T12:00:00.000Z"
WORDS = {"default": "wombat", "reviewer": "heron"}


@pytest.fixture
def lineage(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> LineageCommand:
    """Two agents, each with a session `s-1` and a compaction of it that only its own word is in."""
    monkeypatch.setattr("lineage.app.clock.now", lambda: MOMENT)
    lineage = LineageCommand(tmp_path / "vault", capsys)
    for agent, word in WORDS.items():
        ended(lineage, tmp_path, agent, word)
    return lineage


def ended(lineage: LineageCommand, folder: Path, agent: str, word: str) -> None:
    source = folder / f"{agent}.json"
    source.write_text(json.dumps(make_turns(f"Where does the {word} live?", f"The {word} lives in {word}.py.")))
    common = ("--harness", "generic", "--session-id", "s-1", "--agent-id", agent, "--project", f"/home/ada/{word}")
    assert lineage("session-end", *common, "--transcript-path", str(source)).code == 0
    assert lineage("compaction", *common, "--summary", f"The {word} was found.").code == 0


def sessions(lineage: LineageCommand, *options: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = lineage("sessions", *options, "--json").json["sessions"]
    return found


def token(lineage: LineageCommand, agent: str) -> str:
    (row,) = sessions(lineage, "--agent", agent)
    return str(row["session_token"])


def memory_md(lineage: LineageCommand, agent: str) -> Path:
    return lineage.root / ("MEMORY.md" if agent == "default" else f"agents/{agent}/MEMORY.md")


@pytest.mark.parametrize(("agent", "other"), [("default", "reviewer"), ("reviewer", "default")])
def test_memory_md_of_an_agent_holds_its_sessions_alone(lineage: LineageCommand, agent: str, other: str) -> None:
    for prepare in (lambda: None, lambda: lineage("render"), lambda: delete_machine_state(lineage.root)):
        prepare()
        assert lineage("reindex").code == 0
        text = memory_md(lineage, agent).read_text()
        assert WORDS[agent] in text
        assert WORDS[other] not in text


@pytest.mark.parametrize(("agent", "other"), [("default", "reviewer"), ("reviewer", "default")])
def test_search_and_sessions_of_an_agent_find_its_own_alone(lineage: LineageCommand, agent: str, other: str) -> None:
    (row,) = sessions(lineage, "--agent", agent)
    assert (row["agent_id"], row["session_id"]) == (agent, "s-1")
    assert other not in json.dumps(row)
    assert WORDS[other] not in json.dumps(row)
    assert lineage("search", WORDS[other], "--agent", agent, "--json").json["results"] == []
    (hit,) = lineage("search", WORDS[agent], "--agent", agent, "--json").json["results"]
    assert hit["agent_id"] == agent


def test_without_an_option_it_is_the_default_agent_that_is_asked(lineage: LineageCommand) -> None:
    assert [row["agent_id"] for row in sessions(lineage)] == ["default"]
    assert lineage("search", WORDS["reviewer"], "--json").json["results"] == []


def test_one_id_under_two_agents_makes_two_sessions_that_share_no_file(lineage: LineageCommand) -> None:
    tokens = {agent: token(lineage, agent) for agent in WORDS}
    assert len(set(tokens.values())) == 2
    for agent, own in tokens.items():
        files = {path: data for path, data in read_workspace_files(lineage.root).items() if own in path}
        assert len(files) == 5
        for other, word in WORDS.items():
            assert any(word.encode() in data for data in files.values()) == (other == agent)


def test_an_id_that_two_agents_have_shows_neither_until_it_is_said_which(lineage: LineageCommand) -> None:
    ambiguous = lineage("show", "s-1")
    assert ambiguous.code == 1
    assert "ambiguous" in ambiguous.err
    assert not any(word in ambiguous.out for word in WORDS.values())
    for agent, word in WORDS.items():
        other = next(w for a, w in WORDS.items() if a != agent)
        for kind in ("summary", "transcript", "compaction", "manifest"):
            shown = lineage("show", token(lineage, agent), "--kind", kind)
            assert shown.code == 0
            assert other not in shown.out
        assert word in lineage("show", token(lineage, agent), "--turns", "1-2").out


@pytest.mark.parametrize(("agent", "other"), [("default", "reviewer"), ("reviewer", "default")])
def test_removing_the_session_of_one_agent_leaves_the_others_as_it_was(
    lineage: LineageCommand, agent: str, other: str
) -> None:
    kept = token(lineage, other)
    before = {path: data for path, data in read_workspace_files(lineage.root).items() if kept in path}
    before[memory_md(lineage, other).relative_to(lineage.root).as_posix()] = memory_md(lineage, other).read_bytes()
    assert lineage("remove", token(lineage, agent), "--reason", "asked for", "--yes").code == 0
    assert find_holders(lineage.root, WORDS[agent]) == []
    assert before.items() <= read_workspace_files(lineage.root).items()
    assert sessions(lineage, "--agent", agent) == []
    assert lineage("show", kept).code == 0
    assert lineage("verify").code == 0


def test_the_session_of_another_agent_is_removed_by_its_id_where_the_default_one_is_gone(
    lineage: LineageCommand,
) -> None:
    assert lineage("remove", token(lineage, "default"), "--yes").code == 0
    assert lineage("remove", "s-1", "--yes").code == 0
    assert find_holders(lineage.root, *WORDS.values()) == []


def test_a_tombstone_of_one_agent_does_not_refuse_the_other(lineage: LineageCommand, tmp_path: Path) -> None:
    assert lineage("remove", token(lineage, "default"), "--yes").code == 0
    ended(lineage, tmp_path, "reviewer", "heron")
    third = ("--harness", "generic", "--session-id", "s-1", "--agent-id", "third")
    assert lineage("session-end", *third, "--transcript", "The egret waits.", "--json").json["status"] == "captured"
