"""A session that is ended, resumed and ended again: its captures, put together, are what one capture of the end holds.

The transcripts are synthetic Claude Code files that grow as the harness writes them: split messages, tool calls, a cut
between call and result, compactions. (format: Captures)

Fails without `find_first_new` in core/turns.py or any branch of it, without the chain in `list_captured_turn_ids` and
the `max` in
`_moment` (pipeline), without the loop that moves a taken stem on, and, of two processes, without the session's mutex.
"""

import itertools
import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lineage.core.base import naming
from lineage.core.base.times import shift_time
from lineage.core.format import transcript
from lineage.core.format.turns import Turn
from lineage.core.sanitizer import Rule, build_ruleset
from lineage.harness import aider
from lineage.pipeline.capture.session import CaptureResult
from lineage.store import LocalStore
from lineage.workspace.workspace import Workspace
from tests.support.memory_store import MemoryStore
from tests.support.workspace import (
    NOW,
    at_time,
    compact_session,
    end_session,
    make_turns,
    open_memory_workspace,
    open_test_workspace,
    read_store,
)

pytestmark = pytest.mark.slow


class Writer:
    """Writes records as Claude Code does: chained by uuid, a second apart."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.records: list[dict[str, Any]] = []

    def chained(self, kind: str, **fields: Any) -> None:
        number = len(self.records)
        parent = f"uuid-{number - 1}" if number else None
        at_ = shift_time("2026-11-20T10:00:00.000Z", milliseconds=1000 * number)
        common = {"uuid": f"uuid-{number}", "parentUuid": parent, "sessionId": "s-1", "cwd": "/home/ada/demo"}
        self.records.append({"type": kind, "timestamp": at_, **common, **fields})

    def prompt(self) -> None:
        self.chained("user", message={"role": "user", "content": f"Please do step {len(self.records)}."})

    def split_message(self) -> None:
        """One API message over several lines, each with one block."""
        message = {"id": f"msg-{len(self.records)}", "role": "assistant", "model": "a-model"}
        for block in (
            {"type": "thinking", "thinking": "hmm"},
            {"type": "text", "text": f"I'll look at it.\n\n~~~\n## {len(self.records)} · user · x\n~~~"},
            {"type": "text", "text": "And at this."},
        ):
            self.chained("assistant", message={**message, "content": [block]})

    def tool_call(self) -> None:
        call = f"call-{len(self.records)}"
        block = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": f"pytest -k {call}"}}
        self.chained("assistant", message={"role": "assistant", "content": [block]})
        result = {"type": "tool_result", "tool_use_id": call, "content": f"{call} passed", "is_error": False}
        self.chained("user", message={"role": "user", "content": [result]})

    def two_blocks(self) -> None:
        blocks = [{"type": "text", "text": "First."}, {"type": "text", "text": "Second."}]
        self.chained("assistant", message={"role": "assistant", "content": blocks})

    def compaction(self) -> None:
        self.chained("system", subtype="compact_boundary", compactMetadata={"trigger": "auto"})
        summary = f"Goal: all steps. Done: {len(self.records)}."
        self.chained("user", isCompactSummary=True, message={"role": "user", "content": summary})

    def note(self) -> None:
        self.records.append({"type": "custom-title", "customTitle": "Steps", "sessionId": "s-1"})


def session(seed: int, steps: int = 12) -> list[dict[str, Any]]:
    writer = Writer(seed)
    kinds = (writer.prompt, writer.split_message, writer.tool_call, writer.two_blocks, writer.compaction, writer.note)
    writer.prompt()
    for _ in range(steps):
        writer.random.choice(kinds)()
    return writer.records


def write(folder: Path, records: list[dict[str, Any]]) -> dict[str, str]:
    """The payload for a transcript file of these records."""
    path = folder / "s-1.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return {"harness": "claude-code", "transcript_path": str(path)}


def later(minutes: int) -> str:
    return shift_time(NOW, milliseconds=60_000 * minutes)


def captured(ws: Workspace) -> list[list[Turn]]:
    """The turns of each capture, oldest first, as its file shows them."""
    bodies = []
    for path in read_store(ws.documents.store, "memory/"):
        artifact = ws.documents.artifacts.get(path) if path.endswith("--transcript.md") else None
        if artifact:
            bodies.append(list(transcript.parse_turns(artifact.body)))
    return bodies


def one_shot(folder: Path, payload: dict[str, Any]) -> list[Turn]:
    with open_memory_workspace(folder / "one-shot") as ws:
        end_session(ws, **payload)
        return list(itertools.chain(*captured(ws)))


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Workspace]:
    with open_memory_workspace(tmp_path) as opened:
        yield opened


@pytest.mark.parametrize("seed", range(6))
def test_captures_of_growing_prefixes_together_equal_a_one_shot_capture(
    tmp_path: Path, ws: Workspace, seed: int
) -> None:
    """Cut after every record, also between a call and its result and inside a split message."""
    records = session(seed)
    outcomes = [end_session(at_time(ws, later(n)), **write(tmp_path, records[:n])) for n in range(1, len(records) + 1)]
    together = list(itertools.chain(*captured(ws)))
    assert together == one_shot(tmp_path, write(tmp_path, records))
    assert [turn.number for turn in together] == list(range(1, len(together) + 1))
    assert sum(outcome.status == "captured" for outcome in outcomes) == len(captured(ws)) > 3
    assert sum(outcome.turns for outcome in outcomes) == len(together)


@pytest.mark.parametrize("seed", range(3))
def test_compactions_in_between_change_nothing_about_the_captures(tmp_path: Path, ws: Workspace, seed: int) -> None:
    records = session(seed)
    for n in range(2, len(records) + 1, 3):
        compact_session(at_time(ws, later(n)), summary=f"Goal {n}.", **write(tmp_path, records[:n]))
        end_session(at_time(ws, later(n)), **write(tmp_path, records[:n]))
    end_session(at_time(ws, later(99)), **write(tmp_path, records))
    assert list(itertools.chain(*captured(ws))) == one_shot(tmp_path, write(tmp_path, records))


def test_a_torn_last_line_is_captured_when_it_is_whole(tmp_path: Path, ws: Workspace) -> None:
    records = session(1)
    payload = write(tmp_path, records)
    path = Path(payload["transcript_path"])
    whole = path.read_bytes()
    for size in range(len(whole) // 3, len(whole), 997):
        path.write_bytes(whole[:size])
        end_session(at_time(ws, later(size)), **payload)
    path.write_bytes(whole)
    end_session(at_time(ws, later(len(whole))), **payload)
    assert list(itertools.chain(*captured(ws))) == one_shot(tmp_path, payload)


TALK = make_turns("one", "two", "three", "four", "five", "six")
WITHOUT_IDS = [{key: value for key, value in turn.items() if key != "id"} for turn in TALK]


def texts(ws: Workspace) -> list[list[str]]:
    return [[turn.text for turn in capture] for capture in captured(ws)]


@pytest.mark.parametrize("talk", [TALK, WITHOUT_IDS], ids=["with-ids", "without-ids"])
class TestPrefixes:
    def test_the_same_end_again_is_nothing_new(self, ws: Workspace, talk: list[Any]) -> None:
        end_session(ws, transcript=talk)
        before = read_store(ws.documents.store)
        assert end_session(at_time(ws, later(1)), transcript=talk).status == "unchanged"
        assert read_store(ws.documents.store) == before

    def test_a_shorter_prefix_is_nothing_new(self, ws: Workspace, talk: list[Any]) -> None:
        end_session(ws, transcript=talk[:3])
        end_session(at_time(ws, later(1)), transcript=talk)
        before = read_store(ws.documents.store)
        for length in range(1, 6):
            outcome = end_session(at_time(ws, later(1 + length)), transcript=talk[:length])
            assert (outcome.status, outcome.reason) == ("unchanged", "nothing new")
        assert read_store(ws.documents.store) == before

    def test_an_empty_source_is_nothing_new(self, ws: Workspace, talk: list[Any]) -> None:
        assert end_session(ws, transcript=[]).reason == "empty"
        assert read_store(ws.documents.store) == {}
        end_session(ws, transcript=talk)
        assert end_session(ws, transcript=[]).reason == "empty"

    def test_what_follows_the_common_prefix_of_a_rewritten_source_is_captured(
        self, ws: Workspace, talk: list[Any]
    ) -> None:
        other = [turn | {"text": turn["text"].upper()} for turn in talk[3:5]]
        rewritten = [*talk[:3], *(turn | {"id": f"new-{turn['id']}"} if "id" in turn else turn for turn in other)]
        end_session(ws, transcript=talk)
        assert end_session(at_time(ws, later(1)), transcript=rewritten).turns == 2
        assert texts(ws)[1] == ["FOUR", "FIVE"]
        assert [turn.number for turn in captured(ws)[1]] == [4, 5]
        before = read_store(ws.documents.store)
        for length in range(1, 6):
            assert end_session(at_time(ws, later(1 + length)), transcript=rewritten[:length]).status == "unchanged"
        assert read_store(ws.documents.store) == before, (
            "a shorter prefix of the rewritten source is nothing new either"
        )

    def test_a_source_that_was_rolled_back_and_went_on_is_captured_from_there(
        self, ws: Workspace, talk: list[Any]
    ) -> None:
        end_session(ws, transcript=talk)
        other = {"role": "user", "text": "another way", "id": "other" if "id" in talk[0] else None}
        assert end_session(at_time(ws, later(1)), transcript=[*talk[:2], other]).turns == 1
        assert (
            end_session(
                at_time(ws, later(2)), transcript=[*talk[:2], other, {"role": "assistant", "text": "yes"}]
            ).turns
            == 1
        )
        assert [turn.number for turn in itertools.chain(*captured(ws)[1:])] == [3, 4]

    def test_a_new_sanitizer_version_alone_makes_nothing_new(self, ws: Workspace, talk: list[Any]) -> None:
        """Not even where it redacts differently, so that ids made from text are other ones."""
        end_session(ws, transcript=talk)
        before = read_store(ws.documents.store)
        ws = replace(ws, custom_rules=build_ruleset([Rule(id="six", pattern="six")]))
        assert end_session(at_time(ws, later(1)), transcript=talk).status == "unchanged"
        assert read_store(ws.documents.store) == before
        assert end_session(at_time(ws, later(2)), transcript=[*talk, {"role": "user", "text": "seven"}]).turns == 1

    def test_a_clock_that_went_back_captures_nothing_twice(self, ws: Workspace, talk: list[Any]) -> None:
        first = end_session(ws, transcript=talk[:3])
        second = end_session(at_time(ws, later(-60)), transcript=talk)
        assert second.captured_at == shift_time(first.captured_at or "", milliseconds=1)
        assert texts(ws) == [["one", "two", "three"], ["four", "five", "six"]]
        assert end_session(at_time(ws, later(-30)), transcript=talk).status == "unchanged"


@pytest.mark.parametrize("rules", [[], [Rule(id="silt", pattern="silts")]], ids=["same-rules", "other-rules"])
def test_what_a_better_reader_leaves_out_makes_nothing_new(
    tmp_path: Path, ws: Workspace, monkeypatch: pytest.MonkeyPatch, rules: list[Rule]
) -> None:
    """Aider's chatter was turns once: neither ids nor what is captured move, whatever redacts by then."""
    path = tmp_path / ".aider.chat.history.md"
    heading = "\n# aider chat started at 2026-10-02 09:00:00\n\n"
    asked = "> Add a.py to the chat? (Y)es/(N)o [Yes]: y  \n\n> Added a.py to the chat  \n\n"
    talk = f"#### It silts up  \n\nOne.\n\n{asked}#### Moor it  \n\nTwo.\n\n> Applied edit to a.py  \n\n{asked}"
    path.write_text(heading + talk)
    payload = {"harness": "aider", "transcript_path": str(path)}
    session = next(aider.discover(path)).session or ""
    with monkeypatch.context() as older:
        older.setattr(aider, "_CHATTER", re.compile("(?!)"))
        assert end_session(ws, session, **payload).turns == 9
    ws = replace(ws, custom_rules=build_ruleset(rules)) if rules else ws
    assert end_session(at_time(ws, later(1)), session, **payload).status == "unchanged"
    path.write_text(heading + talk + asked + "#### And again  \n\n" + asked + "Three.\n\n> Two tests failed  \n")
    assert end_session(at_time(ws, later(2)), session, **payload).turns == 3
    assert texts(ws)[1] == ["And again", "Three.", "Two tests failed"]
    assert end_session(at_time(ws, later(3)), session, **payload).status == "unchanged"


def test_a_second_end_in_the_same_moment_moves_on_by_a_millisecond(ws: Workspace) -> None:
    first, second, third = (end_session(ws, transcript=TALK[:length]) for length in (2, 4, 6))
    assert first.captured_at == NOW
    assert second.captured_at == shift_time(NOW, milliseconds=1)
    assert third.captured_at == shift_time(NOW, milliseconds=2)
    assert {outcome.manifest_path for outcome in (first, second, third)} == {first.manifest_path}


def test_an_end_after_the_loss_of_a_claim_finds_its_manifest(ws: Workspace) -> None:
    first = end_session(ws, transcript=TALK[:2])
    ws.documents.store.delete(naming.claim_path(first.session_token))
    second = end_session(at_time(ws, later(1)), transcript=TALK)
    assert (second.manifest_path, second.turns) == (first.manifest_path, 4)
    assert ws.documents.claims.get_stem(first.session_token) == naming.build_stem(NOW, first.session_token)


def test_rows_of_one_session_share_its_id_and_its_manifest(ws: Workspace) -> None:
    outcomes: list[CaptureResult] = []
    for length in (2, 4):
        outcomes.append(end_session(at_time(ws, later(length)), transcript=TALK[:length]))
    rows = [
        line for line in ws.documents.store.read("MEMORY.md").data.decode().split("\n") if line.startswith("- 2026")
    ]
    assert len(rows) == 2
    assert all("session=s-1" in row and f"[[{outcomes[0].manifest_path}|manifest]]" in row for row in rows)


@pytest.mark.slow
def test_processes_that_end_one_session_at_once_make_one_capture(tmp_path: Path) -> None:
    payload = write(tmp_path, session(4))
    command = [
        sys.executable, "-m", "lineage", "session-end", "--workspace", str(tmp_path / "workspace"), "--json",
        "--harness", "claude-code", "--session-id", "s-1", "--transcript-path", payload["transcript_path"],
    ]  # fmt: skip
    subprocess.run([sys.executable, "-m", "lineage", "init", str(tmp_path / "workspace")], check=True)
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(6)]
    ended = [(*process.communicate(), process.returncode) for process in running]
    assert [(code, error) for _, error, code in ended if code or error] == []
    answers = [json.loads(out) for out, _, _ in ended]
    assert sorted(answer["status"] for answer in answers) == ["captured", *["unchanged"] * 5]
    assert len({answer["transcript_path"] for answer in answers}) == 1
    names = sorted(path.name.rpartition("--")[2] for path in (tmp_path / "workspace" / "memory").glob("*.md"))
    assert names == ["manifest.md", "summary.md", "transcript.md"]
    manifest = next(iter((tmp_path / "workspace" / "memory").glob("*--manifest.md"))).read_text(encoding="utf-8")
    assert "\nrevision: 1\n" in manifest


def test_a_growing_session_in_a_folder_is_the_same_as_in_a_dictionary(tmp_path: Path) -> None:
    found = []
    for store in (LocalStore(tmp_path / "workspace"), MemoryStore()):
        state = tmp_path / type(store).__name__
        with open_test_workspace(state, store=store, private=MemoryStore()) as ws:
            for length in (2, 4, 6):
                end_session(at_time(ws, later(length)), transcript=TALK[:length])
            found.append(read_store(ws.documents.store))
    assert found[0] == found[1]
