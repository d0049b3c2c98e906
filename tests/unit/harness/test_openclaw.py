"""OpenClaw's sessions: pi's entries, with what its gateway adds, in folders by agent. (harnesses.md, section 8)"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lineage.core.capture.capture import Capture, CompactionRecord
from lineage.core.format.turns import ASSISTANT, SYSTEM, TOOL, USER
from lineage.errors import TranscriptError
from lineage.harness import pi
from lineage.harness.openclaw import discover, list_roots, read

DATA = Path(__file__).parents[2] / "data/openclaw/agents"
ID = "3c1e9f60-2b7d-5a48-b6a0-9e5d4c3b2a19"
MAIN = DATA / f"main/sessions/{ID}.jsonl"
TOPIC = MAIN.with_name(f"{ID}-topic-42.jsonl")
GATEWAY = {"provider": "openclaw", "model": "delivery-mirror"}

Record = dict[str, Any]
Reader = Callable[..., Capture]


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    def read_messages(*messages: Record) -> Capture:
        path = tmp_path / f"{ID}.jsonl"
        lines = [{"type": "session", "id": ID}] + [
            {"type": "message", "id": f"e{number}", "message": message} for number, message in enumerate(messages)
        ]
        path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
        return read(path)

    return read_messages


def make_assistant(words: str, **more: Any) -> Record:
    return {"role": "assistant", "content": [{"type": "text", "text": words}], **more}


@pytest.mark.parametrize(
    ("path", "turns", "skipped"),
    [(MAIN, 8, {"bookkeeping": 4, "replayed": 1}), (TOPIC, 2, {"bookkeeping": 1})],
    ids=["session", "topic"],
)
def test_every_sample_reads_and_says_what_was_left_out(path: Path, turns: int, skipped: dict[str, int]) -> None:
    capture = read(path)
    assert len(capture.turns) == turns
    assert capture.skipped == skipped


def test_the_sample_session_reads_as_it_went() -> None:
    assert [(turn.role, turn.name, turn.input or turn.text) for turn in read(MAIN).turns] == [
        (USER, "", "Look at the reader and tell me in the chat.\n[image image/jpeg, 700 bytes left out]"),
        (ASSISTANT, "", "I look."),
        (ASSISTANT, "exec", "cat reader.py"),
        (TOOL, "exec", "def read(path): ..."),
        (ASSISTANT, "", "It splits on the wrong character."),
        (ASSISTANT, "", "Your morning report: nothing broke."),
        (SYSTEM, "compaction", "The reader splits on the wrong character."),
        (USER, "", "Thanks"),
    ]


def test_the_sample_session_says_what_it_was() -> None:
    capture = read(MAIN)
    assert capture.session_id == ID
    assert capture.project == "/home/ada/.openclaw/workspace"
    assert capture.models == ("claude-opus-5",)
    summary = "The reader splits on the wrong character."
    assert capture.compactions == (CompactionRecord(summary, 6, "2026-10-02T09:10:00.000Z"),)


def test_it_is_pis_format() -> None:
    assert read(MAIN) == pi.read(MAIN)


def test_a_delivery_that_repeats_the_agent_is_a_replay_and_any_other_a_turn(reader: Reader) -> None:
    capture = reader(
        make_assistant("Done."),
        make_assistant("Done.", **GATEWAY),
        make_assistant("Report.", **GATEWAY),
        make_assistant("Report.", **GATEWAY),
        make_assistant("Done."),
    )
    assert [turn.text for turn in capture.turns] == ["Done.", "Report.", "Done."]
    assert capture.skipped == {"bookkeeping": 1, "replayed": 2}


def test_the_gateway_is_no_model(reader: Reader) -> None:
    assert reader(make_assistant("Report.", **GATEWAY), make_assistant("Hi.", model="gpt-6")).models == ("gpt-6",)


def test_a_topic_of_a_chat_is_a_session_of_its_own() -> None:
    """Its header says the id of the chat's session."""
    assert read(TOPIC).session_id == f"{ID}-topic-42"


def test_a_copy_under_another_name_keeps_its_id(tmp_path: Path) -> None:
    copy = tmp_path / "saved.jsonl"
    copy.write_bytes(MAIN.read_bytes())
    assert read(copy).session_id == ID


def test_a_file_without_header_has_no_id(tmp_path: Path) -> None:
    path = tmp_path / "None-topic-1.jsonl"
    path.write_text(json.dumps({"type": "message", "message": make_assistant("Hi.")}), encoding="utf-8")
    assert read(path).session_id is None


def test_another_harnesss_transcript_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_text(json.dumps({"role": "user", "text": "Fix it"}), encoding="utf-8")
    with pytest.raises(TranscriptError, match="no OpenClaw entry") as caught:
        read(path)
    assert "--harness" in caught.value.hint


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "/home/ada/.openclaw/agents"),
        ({"OPENCLAW_STATE_DIR": ""}, "/home/ada/.openclaw/agents"),
        ({"OPENCLAW_STATE_DIR": "/srv/claw"}, "/srv/claw/agents"),
    ],
)
def test_the_history_lies_where_the_environment_says(environment: dict[str, str], expected: str) -> None:
    assert list_roots(Path("/home/ada"), environment) == [Path(expected)]


def test_the_sessions_of_all_agents_are_found_and_copies_passed_over(tmp_path: Path) -> None:
    names = (
        f"coder/sessions/{ID}.jsonl",
        f"main/sessions/{ID}-topic-42.jsonl",
        f"main/sessions/{ID}.checkpoint.0d3b6f1e-9a8c-5b47-8e21-7f6a5c4d3b2e.jsonl",
        f"main/sessions/{ID}.jsonl",
        f"main/sessions/{ID}.jsonl.bak-1790000000000",
        f"main/sessions/{ID}.jsonl.deleted.2026-10-01T04-00-00.000Z",
        f"main/sessions/{ID}.jsonl.reset.2026-10-01T04-00-00.000Z",
        f"main/sessions/{ID}.trajectory.jsonl",
        "main/sessions/sessions.json",
    )
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(MAIN.read_bytes())
    assert [item.path for item in discover(tmp_path)] == [tmp_path / names[index] for index in (0, 1, 3)]


def test_a_copy_that_is_named_itself_is_taken(tmp_path: Path) -> None:
    copy = tmp_path / f"{ID}.checkpoint.1.jsonl"
    copy.write_bytes(MAIN.read_bytes())
    assert [item.path for item in discover(copy)] == [copy]
