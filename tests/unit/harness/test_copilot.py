"""Copilot CLI's event logs: which events are turns, and what else they say. (harnesses.md, section 6)"""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lineage.core.capture.capture import Capture, CompactionRecord
from lineage.core.format.turns import ASSISTANT, SYSTEM, TOOL, USER, Turn
from lineage.errors import TranscriptError
from lineage.harness.copilot import discover, list_roots, read

DATA = Path(__file__).parents[2] / "data/copilot/session-state"
MAIN = DATA / "ee99248c-46ed-55c0-a61a-8a778fbf68fe/events.jsonl"
PNG = base64.b64encode(bytes(700)).decode()
NOTE = "[image image/png, 700 bytes left out]"
SIGNATURE = "c2lnLXBsYWNlaG9sZGVy" * 6

Event = dict[str, Any]
Reading = Callable[..., Capture]


@pytest.fixture
def reading(tmp_path: Path) -> Reading:
    """Reads events; they get an id and a time, a minute apart, where they have none."""

    def read_events(*events: Event) -> Capture:
        path = tmp_path / "events.jsonl"
        lines = [{"id": f"e{number}", "timestamp": minute(number), **event} for number, event in enumerate(events, 1)]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return read(path)

    return read_events


def minute(number: int) -> str:
    return f"2026-10-02T09:{number:02d}:00.000Z"


def event(kind: str, envelope: Event | None = None, **data: Any) -> Event:
    return {"type": kind, "data": data, **(envelope or {})}


def user(content: Any, **more: Any) -> Event:
    return event("user.message", content=content, **more)


def message(content: str = "", *calls: Any, **more: Any) -> Event:
    return event("assistant.message", content=content, toolRequests=list(calls), **more)


def request(name: str, call: str = "t1", **arguments: Any) -> Event:
    return {"toolCallId": call, "name": name, "arguments": arguments}


def started(name: str, call: str = "t1", **arguments: Any) -> Event:
    return event("tool.execution_start", toolCallId=call, toolName=name, arguments=arguments)


def complete(content: Any = "", call: str = "t1", **more: Any) -> Event:
    data = {"toolCallId": call, "success": True, "result": {"content": content}, **more}
    return event("tool.execution_complete", **data)


def start(**more: Any) -> Event:
    return event("session.start", sessionId="s1", **more)


def spoken(capture: Capture) -> list[tuple[str, str]]:
    """Role and text, or the tool's name where a turn has no text."""
    return [(turn.role, turn.text or turn.name) for turn in capture.turns]


# The sample as a whole


def test_the_sample_session_reads_as_it_went() -> None:
    assert [(turn.role, turn.name, turn.input or turn.text) for turn in read(MAIN).turns] == [
        (USER, "", "Fix the reader"),
        (ASSISTANT, "", "look"),
        (ASSISTANT, "view", "reader.py"),
        (TOOL, "view", "def read"),
        (SYSTEM, "compaction", "Goal: fix reader."),
        (ASSISTANT, "", "Fixed."),
    ]


def test_the_sample_session_says_what_it_was() -> None:
    capture = read(MAIN)
    assert capture.session_id == "ee99248c-46ed-55c0-a61a-8a778fbf68fe"
    assert capture.project == "/home/ada/demo"
    assert capture.branches == ("main",)
    assert (capture.started_at, capture.ended_at) == ("2026-10-02T09:00:01.037Z", "2026-10-02T09:00:11.407Z")
    assert capture.compactions == (CompactionRecord("Goal: fix reader.", 4, "2026-10-02T09:00:09.333Z"),)
    assert (capture.title, capture.models, capture.parent_session, capture.forked_from) == (None, (), None, None)
    assert capture.skipped == {"bookkeeping": 6}


# Prompts


def test_a_prompt_is_what_was_typed_and_not_what_the_model_got(reading: Reading) -> None:
    capture = reading(
        user("Fix it", transformedContent="<current_datetime>now</current_datetime>\nFix it", source="user")
    )
    assert capture.turns == (Turn(USER, "Fix it", minute(1), source_id="e1"),)


@pytest.mark.parametrize(
    "record",
    [
        user("Base directory: …", source="skill-pdf"),
        user("Report, please", source="agent-7"),
        user('<skill-context name="pdf">\nHow to read it\n</skill-context>'),
        user("Go on", isAutopilotContinuation=True),
        user("<lineage-context>\nolder\n</lineage-context>"),
        user(""),
        user(None),
        event("system.message", content="You are …", role="system"),
        event("system.notification", content="A shell has ended"),
        event("skill.invoked", name="pdf", content="How to read it"),
    ],
)
def test_what_nobody_typed_is_a_note(record: Event, reading: Reading) -> None:
    capture = reading(record, user("Hi"))
    assert spoken(capture) == [(USER, "Hi")]
    assert capture.skipped == {"harness notes": 1}


def test_our_own_block_is_stripped_from_prompts(reading: Reading) -> None:
    assert spoken(reading(user("<lineage-context>\nolder\n</lineage-context>\n\nFix it"))) == [(USER, "Fix it")]


def test_attached_data_leaves_a_note_of_its_size(reading: Reading) -> None:
    blob = {"type": "blob", "mimeType": "image/png", "data": PNG}
    kept_elsewhere = {"type": "blob", "mimeType": "application/pdf", "byteLength": 2102}
    file = {"type": "file", "path": "/home/ada/demo/a.png", "mimeType": "image/png", "byteLength": 9}
    capture = reading(user("See", attachments=[blob, kept_elsewhere, file, "odd"]), user("", attachments=[blob]))
    pdf = "[file application/pdf, 2,102 bytes left out]"
    assert [turn.text for turn in capture.turns] == [f"See\n{NOTE}\n{pdf}", NOTE]
    assert PNG not in repr(capture)


# The agent


def test_a_message_gives_a_turn_for_each_thing_it_says(reading: Reading) -> None:
    calls = (request("view", path="a.py"), request("bash", "t2", command="ls"))
    capture = reading(message("\nI look.\n", *calls, reasoningText="Look first.", reasoningOpaque=SIGNATURE))
    assert [(turn.text, turn.name, turn.input, turn.thinking) for turn in capture.turns] == [
        ("Look first.", "", "", True),
        ("I look.", "", "", False),
        ("", "view", "a.py", False),
        ("", "bash", "ls", False),
    ]
    assert [turn.source_id for turn in capture.turns] == ["e1", "e1#1", "e1#2", "e1#3"]
    assert SIGNATURE not in repr(capture)


def test_reasoning_that_is_logged_twice_counts_once(reading: Reading) -> None:
    thought = event("assistant.reasoning", content="Look first.", reasoningId="r1")
    capture = reading(thought, message("I look.", reasoningText="Look first."), thought)
    assert [(turn.text, turn.thinking) for turn in capture.turns] == [("Look first.", True), ("I look.", False)]
    assert capture.skipped == {"replayed": 2}


@pytest.mark.parametrize("record", [message(), message(" \n"), event("assistant.reasoning", content=" ")])
def test_what_says_nothing_is_bookkeeping(record: Event, reading: Reading) -> None:
    capture = reading(record)
    assert (capture.turns, dict(capture.skipped)) == ((), {"bookkeeping": 1})


def test_a_request_may_have_no_name_or_be_none(reading: Reading) -> None:
    capture = reading(message("", {}, "loose"))
    assert spoken(capture) == [(ASSISTANT, "tool")]
    assert capture.skipped == {"unknown": 1}


# Tools


def test_a_result_is_named_after_its_call(reading: Reading) -> None:
    calls = (request("view", "t1", path="a.py"), request("bash", "t2", command="ls"))
    capture = reading(message("", *calls), complete("a.py", "t2"), complete("import os", "t1"), complete("lost", "t9"))
    assert [(turn.name, turn.text) for turn in capture.turns[2:]] == [
        ("bash", "a.py"), ("view", "import os"), ("tool", "lost"),
    ]  # fmt: skip


def test_a_calls_start_shows_it_where_no_message_did(reading: Reading) -> None:
    capture = reading(message("", request("view")), started("view"), complete("x"), started("bash", "t2", command="ls"))
    assert [(turn.role, turn.name, turn.input) for turn in capture.turns] == [
        (ASSISTANT, "view", ""), (TOOL, "view", ""), (ASSISTANT, "bash", "ls"),
    ]  # fmt: skip
    assert capture.skipped == {"bookkeeping": 1}


def test_calls_without_an_id_are_all_shown(reading: Reading) -> None:
    capture = reading(started("view", ""), started("bash", ""), complete("x", "", toolName="bash"))
    assert spoken(capture) == [(ASSISTANT, "view"), (ASSISTANT, "bash"), (TOOL, "x")]
    assert capture.turns[2].name == "bash"


def test_a_tool_that_the_person_ran_shows_both_ends_with_its_result(reading: Reading) -> None:
    asked = event("tool.user_requested", toolCallId="t1", toolName="bash", arguments={"command": "git status"})
    capture = reading(asked, started("bash", command="git status"), complete("clean"))
    assert capture.turns == (Turn(TOOL, "clean", minute(3), name="bash", input="git status", source_id="e3"),)
    assert capture.skipped == {"bookkeeping": 2}


@pytest.mark.parametrize(("flag", "expected"), [(False, True), (True, False), (None, False)])
def test_a_result_is_an_error_where_it_says_so(flag: object, expected: bool, reading: Reading) -> None:
    assert reading(complete("no", success=flag)).turns[0].error is expected


def test_a_failures_words_stand_for_the_result(reading: Reading) -> None:
    failed = complete(success=False, result=None, error={"message": "no such file", "code": "failure"})
    assert reading(failed).turns[0].text == "no such file"


def test_data_in_a_result_leaves_a_note_of_its_size(reading: Reading) -> None:
    blob = {"type": "image", "mimeType": "image/png", "data": PNG}
    result = {"content": "shot", "contents": [blob], "binaryResultsForLlm": [blob], "detailedContent": PNG}
    capture = reading(complete(result=result))
    assert capture.turns[0].text == f"shot\n{NOTE}"
    assert PNG not in repr(capture)


# Sub-agents


@pytest.mark.parametrize(
    "record",
    [
        event("assistant.message", {"agentId": "a1"}, content="Found 2.", model="gpt-6-mini"),
        event("user.message", {"agentId": "a1"}, content="Scan the repository"),
        event("assistant.message", content="Found 2.", parentToolCallId="t1", model="gpt-6-mini"),
        event("session.compaction_complete", {"agentId": "a1"}, success=True, summaryContent="Scanned."),
    ],
)
def test_sub_agents_are_counted_and_leave_no_trace(record: Event, reading: Reading) -> None:
    capture = reading(user("Scan"), record)
    assert spoken(capture) == [(USER, "Scan")]
    assert (capture.models, capture.compactions, capture.ended_at) == ((), (), minute(1))
    assert capture.skipped == {"sub-agent": 1}


def test_a_session_that_carries_on_anothers_context_names_it(reading: Reading) -> None:
    assert reading(start(detachedFromSpawningParentSessionId="s0")).parent_session == "s0"


# Compactions


def test_a_compaction_knows_its_trigger_and_what_came_before(reading: Reading) -> None:
    done = event("session.compaction_complete", success=True, summaryContent="1. Goal.", trigger="manual")
    capture = reading(user("Fix it"), message("Done."), event("session.compaction_start"), done, user("Go on"))
    assert capture.compactions == (CompactionRecord("1. Goal.", 2, minute(4), "manual"),)
    assert capture.turns[2] == Turn(SYSTEM, "1. Goal.", minute(4), name="compaction", source_id="e4")
    assert capture.skipped == {"bookkeeping": 1}


def test_a_compaction_without_its_summary_is_one_all_the_same(reading: Reading) -> None:
    capture = reading(user("Fix it"), event("session.compaction_complete", success=True, checkpointPath="001.md"))
    assert capture.compactions == (CompactionRecord(None, 1, minute(2)),)
    assert capture.skipped == {"bookkeeping": 1}


@pytest.mark.parametrize(
    "record",
    [
        event("session.compaction_complete", success=False, error="overloaded", summaryContent="half"),
        event("session.truncation", messagesRemoved=3),
    ],
)
def test_what_failed_or_only_cut_is_no_compaction(record: Event, reading: Reading) -> None:
    capture = reading(user("Fix it"), record)
    assert (capture.compactions, dict(capture.skipped)) == ((), {"bookkeeping": 1})


# What the session was


def test_context_is_the_first_directory_and_every_branch(reading: Reading) -> None:
    capture = reading(
        start(context={"cwd": "/home/ada/demo", "branch": "main"}),
        event("session.resume", context={"cwd": "/home/ada/demo/sub", "branch": "fix"}),
        event("session.context_changed", cwd="/tmp", branch="main"),
        event("session.start", sessionId="s2"),
    )
    assert (capture.session_id, capture.project, capture.branches) == ("s1", "/home/ada/demo", ("main", "fix"))


def test_models_are_those_that_answered_else_those_that_were_selected(reading: Reading) -> None:
    selected = (start(selectedModel="auto"), event("session.model_change", newModel="gpt-6"))
    assert reading(*selected, message("Hi.")).models == ("auto", "gpt-6")
    answered = (message("Hi.", model="claude-opus-5"), complete("x", model="gpt-6"), message("Ho.", model="gpt-6"))
    assert reading(*selected, *answered).models == ("claude-opus-5", "gpt-6")


@pytest.mark.parametrize(("titles", "title"), [((), None), (("One", " Two "), "Two"), ((3,), None)])
def test_the_last_title_wins(titles: tuple[Any, ...], title: str | None, reading: Reading) -> None:
    assert reading(*(event("session.title_changed", title=given) for given in titles)).title == title


def test_an_event_that_stands_twice_counts_once(reading: Reading) -> None:
    capture = reading({**user("Fix it"), "id": "same"}, {**user("Fix it"), "id": "same"})
    assert [turn.source_id for turn in capture.turns] == ["same"]
    assert capture.skipped == {"replayed": 1}


def test_events_without_an_id_give_turns_without_one(reading: Reading) -> None:
    capture = reading({**message("One.", request("view")), "id": None}, {**user("Two"), "id": 3})
    assert [turn.source_id for turn in capture.turns] == [None, None, None]


@pytest.mark.parametrize(
    "kind",
    ["assistant.turn_start", "assistant.usage", "hook.end", "permission.requested", "session.shutdown", "abort"],
)
def test_events_about_the_session_are_bookkeeping(kind: str, reading: Reading) -> None:
    capture = reading(event(kind, content="words"))
    assert (capture.turns, dict(capture.skipped)) == ((), {"bookkeeping": 1})


@pytest.mark.parametrize(
    "record",
    [{"type": "weather.changed", "data": {}}, {"type": "user.message"}, {"type": ["user.message"], "data": {}}, {}],
)
def test_unknown_events_are_counted_and_the_others_read(record: Event, reading: Reading) -> None:
    capture = reading(user("Fix it"), record, message("Done."))
    assert spoken(capture) == [(USER, "Fix it"), (ASSISTANT, "Done.")]
    assert capture.skipped == {"unknown": 1}


OTHERS: dict[str, list[Event]] = {
    "claude-code": [{"type": "user", "uuid": "u1", "message": {"role": "user", "content": "Fix it"}}],
    "codex": [{"type": "session_meta", "payload": {"id": "x"}}, {"type": "event_msg", "payload": {}}],
    "cursor": [{"role": "user", "message": {"content": "Fix it"}}],
    "pi": [{"type": "session", "id": "x"}, {"type": "message", "message": {"role": "user", "content": "Fix it"}}],
}


@pytest.mark.parametrize("harness", OTHERS)
def test_another_harnesss_transcript_is_an_error_that_says_what_to_do(harness: str, reading: Reading) -> None:
    with pytest.raises(TranscriptError, match="no Copilot CLI event") as caught:
        reading(*OTHERS[harness])
    assert "--harness" in caught.value.hint


# Finding sessions


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "/home/ada/.copilot/session-state"),
        ({"COPILOT_HOME": ""}, "/home/ada/.copilot/session-state"),
        ({"COPILOT_HOME": "/srv/copilot"}, "/srv/copilot/session-state"),
    ],
)
def test_the_history_lies_where_the_environment_says(environment: dict[str, str], expected: str) -> None:
    assert list_roots(Path("/home/ada"), environment) == [Path(expected)]


def test_logs_are_found_and_what_lies_beside_them_passed_over(tmp_path: Path) -> None:
    names = ("s1/events.jsonl", "s1/files/data.jsonl", "s1/workspace.yaml", "s2/events.jsonl.bak", "s3.jsonl")
    for name in names:
        path = tmp_path / "session-state" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(MAIN.read_bytes())
    assert [item.path for item in discover(tmp_path)] == [tmp_path / "session-state" / names[0]]
    assert list(discover(tmp_path)) == list(discover(tmp_path))


def test_a_log_that_is_named_itself_is_taken(tmp_path: Path) -> None:
    copy = tmp_path / "saved.jsonl"
    copy.write_bytes(MAIN.read_bytes())
    assert [item.path for item in discover(copy)] == [copy]
