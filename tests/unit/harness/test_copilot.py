"""Copilot CLI's event logs: which events are turns, and what else they say. (harnesses.md, section 6)"""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lineage.core.capture.capture import Capture, CompactionRecord
from lineage.core.format.turns import ASSISTANT, SYSTEM, TOOL, USER, InputPart, Turn
from lineage.errors import TranscriptError
from lineage.harness.adapters import list_history_roots
from lineage.harness.copilot import discover, read

DATA = Path(__file__).parents[2] / "data/copilot/session-state"
MAIN = DATA / "ee99248c-46ed-55c0-a61a-8a778fbf68fe/events.jsonl"
PNG = base64.b64encode(bytes(700)).decode()
NOTE = "[image image/png, 700 bytes left out]"
SIGNATURE = "c2lnLXBsYWNlaG9sZGVy" * 6

Event = dict[str, Any]
Reader = Callable[..., Capture]


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    """Reads events; they get an id and a time, a minute apart, where they have none."""

    def read_events(*events: Event) -> Capture:
        path = tmp_path / "events.jsonl"
        lines = [
            {"id": f"e{number}", "timestamp": format_minute(number), **event} for number, event in enumerate(events, 1)
        ]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return read(path)

    return read_events


def format_minute(number: int) -> str:
    return f"2026-10-02T09:{number:02d}:00.000Z"


def make_event(kind: str, envelope: Event | None = None, **data: Any) -> Event:
    return {"type": kind, "data": data, **(envelope or {})}


def make_user(content: Any, **more: Any) -> Event:
    return make_event("user.message", content=content, **more)


def make_message(content: str = "", *calls: Any, **more: Any) -> Event:
    return make_event("assistant.message", content=content, toolRequests=list(calls), **more)


def make_request(name: str, call: str = "t1", **arguments: Any) -> Event:
    return {"toolCallId": call, "name": name, "arguments": arguments}


def make_start_of_call(name: str, call: str = "t1", **arguments: Any) -> Event:
    return make_event("tool.execution_start", toolCallId=call, toolName=name, arguments=arguments)


def make_completion(content: Any = "", call: str = "t1", **more: Any) -> Event:
    data = {"toolCallId": call, "success": True, "result": {"content": content}, **more}
    return make_event("tool.execution_complete", **data)


def make_start(**more: Any) -> Event:
    return make_event("session.start", sessionId="s1", **more)


def list_texts(capture: Capture) -> list[tuple[str, str]]:
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


def test_a_prompt_is_what_was_typed_and_not_what_the_model_got(reader: Reader) -> None:
    capture = reader(
        make_user("Fix it", transformedContent="<current_datetime>now</current_datetime>\nFix it", source="user")
    )
    assert capture.turns == (Turn(USER, "Fix it", format_minute(1), source_id="e1"),)


@pytest.mark.parametrize(
    "record",
    [
        make_user("Base directory: …", source="skill-pdf"),
        make_user("Report, please", source="agent-7"),
        make_user('<skill-context name="pdf">\nHow to read it\n</skill-context>'),
        make_user("Go on", isAutopilotContinuation=True),
        make_user("<lineage-context>\nolder\n</lineage-context>"),
        make_user(""),
        make_user(None),
        make_event("system.message", content="You are …", role="system"),
        make_event("system.notification", content="A shell has ended"),
        make_event("skill.invoked", name="pdf", content="How to read it"),
    ],
)
def test_what_nobody_typed_is_a_note(record: Event, reader: Reader) -> None:
    capture = reader(record, make_user("Hi"))
    assert list_texts(capture) == [(USER, "Hi")]
    assert capture.skipped == {"harness notes": 1}


def test_our_own_block_is_stripped_from_prompts(reader: Reader) -> None:
    assert list_texts(reader(make_user("<lineage-context>\nolder\n</lineage-context>\n\nFix it"))) == [(USER, "Fix it")]


def test_attached_data_leaves_a_note_of_its_size(reader: Reader) -> None:
    blob = {"type": "blob", "mimeType": "image/png", "data": PNG}
    kept_elsewhere = {"type": "blob", "mimeType": "application/pdf", "byteLength": 2102}
    file = {"type": "file", "path": "/home/ada/demo/a.png", "mimeType": "image/png", "byteLength": 9}
    capture = reader(
        make_user("See", attachments=[blob, kept_elsewhere, file, "odd"]), make_user("", attachments=[blob])
    )
    pdf = "[file application/pdf, 2,102 bytes left out]"
    assert [turn.text for turn in capture.turns] == [f"See\n{NOTE}\n{pdf}", NOTE]
    assert PNG not in repr(capture)


# The agent


def test_a_message_gives_a_turn_for_each_thing_it_says(reader: Reader) -> None:
    calls = (make_request("view", path="a.py"), make_request("bash", "t2", command="ls"))
    capture = reader(make_message("\nI look.\n", *calls, reasoningText="Look first.", reasoningOpaque=SIGNATURE))
    assert [(turn.text, turn.name, turn.input, turn.thinking) for turn in capture.turns] == [
        ("Look first.", "", "", True),
        ("I look.", "", "", False),
        ("", "view", "a.py", False),
        ("", "bash", "ls", False),
    ]
    assert [turn.source_id for turn in capture.turns] == ["e1", "e1#1", "e1#2", "e1#3"]
    assert SIGNATURE not in repr(capture)


def test_reasoning_that_is_logged_twice_counts_once(reader: Reader) -> None:
    thought = make_event("assistant.reasoning", content="Look first.", reasoningId="r1")
    capture = reader(thought, make_message("I look.", reasoningText="Look first."), thought)
    assert [(turn.text, turn.thinking) for turn in capture.turns] == [("Look first.", True), ("I look.", False)]
    assert capture.skipped == {"replayed": 2}


@pytest.mark.parametrize(
    "record", [make_message(), make_message(" \n"), make_event("assistant.reasoning", content=" ")]
)
def test_what_says_nothing_is_bookkeeping(record: Event, reader: Reader) -> None:
    capture = reader(record)
    assert (capture.turns, dict(capture.skipped)) == ((), {"bookkeeping": 1})


def test_a_request_may_have_no_name_or_be_none(reader: Reader) -> None:
    capture = reader(make_message("", {}, "loose"))
    assert list_texts(capture) == [(ASSISTANT, "tool")]
    assert capture.skipped == {"unknown": 1}


# Tools


def test_a_result_is_named_after_its_call(reader: Reader) -> None:
    calls = (make_request("view", "t1", path="a.py"), make_request("bash", "t2", command="ls"))
    capture = reader(
        make_message("", *calls),
        make_completion("a.py", "t2"),
        make_completion("import os", "t1"),
        make_completion("lost", "t9"),
    )
    assert [(turn.name, turn.text) for turn in capture.turns[2:]] == [
        ("bash", "a.py"), ("view", "import os"), ("tool", "lost"),
    ]  # fmt: skip


def test_a_calls_start_shows_it_where_no_message_did(reader: Reader) -> None:
    capture = reader(
        make_message("", make_request("view")),
        make_start_of_call("view"),
        make_completion("x"),
        make_start_of_call("bash", "t2", command="ls"),
    )
    assert [(turn.role, turn.name, turn.input) for turn in capture.turns] == [
        (ASSISTANT, "view", ""), (TOOL, "view", ""), (ASSISTANT, "bash", "ls"),
    ]  # fmt: skip
    assert capture.skipped == {"bookkeeping": 1}


def test_calls_without_an_id_are_all_shown(reader: Reader) -> None:
    capture = reader(
        make_start_of_call("view", ""), make_start_of_call("bash", ""), make_completion("x", "", toolName="bash")
    )
    assert list_texts(capture) == [(ASSISTANT, "view"), (ASSISTANT, "bash"), (TOOL, "x")]
    assert capture.turns[2].name == "bash"


def test_a_tool_that_the_person_ran_shows_both_ends_with_its_result(reader: Reader) -> None:
    asked = make_event("tool.user_requested", toolCallId="t1", toolName="bash", arguments={"command": "git status"})
    capture = reader(asked, make_start_of_call("bash", command="git status"), make_completion("clean"))
    command = {"name": "bash", "input": "git status", "parts": (InputPart("git status", "bash"),)}
    assert capture.turns == (Turn(TOOL, "clean", format_minute(3), source_id="e3", call_id="t1", **command),)
    assert capture.skipped == {"bookkeeping": 2}


@pytest.mark.parametrize(("flag", "expected"), [(False, True), (True, False), (None, False)])
def test_a_result_is_an_error_where_it_says_so(flag: object, expected: bool, reader: Reader) -> None:
    assert reader(make_completion("no", success=flag)).turns[0].error is expected


def test_a_failures_words_stand_for_the_result(reader: Reader) -> None:
    failed = make_completion(success=False, result=None, error={"message": "no such file", "code": "failure"})
    assert reader(failed).turns[0].text == "no such file"


def test_data_in_a_result_leaves_a_note_of_its_size(reader: Reader) -> None:
    blob = {"type": "image", "mimeType": "image/png", "data": PNG}
    result = {"content": "shot", "contents": [blob], "binaryResultsForLlm": [blob], "detailedContent": PNG}
    capture = reader(make_completion(result=result))
    assert capture.turns[0].text == f"shot\n{NOTE}"
    assert PNG not in repr(capture)


# Sub-agents


@pytest.mark.parametrize(
    "record",
    [
        make_event("assistant.message", {"agentId": "a1"}, content="Found 2.", model="gpt-6-mini"),
        make_event("user.message", {"agentId": "a1"}, content="Scan the repository"),
        make_event("assistant.message", content="Found 2.", parentToolCallId="t1", model="gpt-6-mini"),
        make_event("session.compaction_complete", {"agentId": "a1"}, success=True, summaryContent="Scanned."),
    ],
)
def test_sub_agents_are_counted_and_leave_no_trace(record: Event, reader: Reader) -> None:
    capture = reader(make_user("Scan"), record)
    assert list_texts(capture) == [(USER, "Scan")]
    assert (capture.models, capture.compactions, capture.ended_at) == ((), (), format_minute(1))
    assert capture.skipped == {"sub-agent": 1}


def test_a_session_that_carries_on_anothers_context_names_it(reader: Reader) -> None:
    assert reader(make_start(detachedFromSpawningParentSessionId="s0")).parent_session == "s0"


# Compactions


def test_a_compaction_knows_its_trigger_and_what_came_before(reader: Reader) -> None:
    done = make_event("session.compaction_complete", success=True, summaryContent="1. Goal.", trigger="manual")
    capture = reader(
        make_user("Fix it"), make_message("Done."), make_event("session.compaction_start"), done, make_user("Go on")
    )
    assert capture.compactions == (CompactionRecord("1. Goal.", 2, format_minute(4), "manual"),)
    assert capture.turns[2] == Turn(SYSTEM, "1. Goal.", format_minute(4), name="compaction", source_id="e4")
    assert capture.skipped == {"bookkeeping": 1}


def test_a_compaction_without_its_summary_is_one_all_the_same(reader: Reader) -> None:
    capture = reader(
        make_user("Fix it"), make_event("session.compaction_complete", success=True, checkpointPath="001.md")
    )
    assert capture.compactions == (CompactionRecord(None, 1, format_minute(2)),)
    assert capture.skipped == {"bookkeeping": 1}


@pytest.mark.parametrize(
    "record",
    [
        make_event("session.compaction_complete", success=False, error="overloaded", summaryContent="half"),
        make_event("session.truncation", messagesRemoved=3),
    ],
)
def test_what_failed_or_only_cut_is_no_compaction(record: Event, reader: Reader) -> None:
    capture = reader(make_user("Fix it"), record)
    assert (capture.compactions, dict(capture.skipped)) == ((), {"bookkeeping": 1})


# What the session was


def test_context_is_the_first_directory_and_every_branch(reader: Reader) -> None:
    capture = reader(
        make_start(context={"cwd": "/home/ada/demo", "branch": "main"}),
        make_event("session.resume", context={"cwd": "/home/ada/demo/sub", "branch": "fix"}),
        make_event("session.context_changed", cwd="/tmp", branch="main"),
        make_event("session.start", sessionId="s2"),
    )
    assert (capture.session_id, capture.project, capture.branches) == ("s1", "/home/ada/demo", ("main", "fix"))


def test_models_are_those_that_answered_else_those_that_were_selected(reader: Reader) -> None:
    selected = (make_start(selectedModel="auto"), make_event("session.model_change", newModel="gpt-6"))
    assert reader(*selected, make_message("Hi.")).models == ("auto", "gpt-6")
    answered = (
        make_message("Hi.", model="claude-opus-5"),
        make_completion("x", model="gpt-6"),
        make_message("Ho.", model="gpt-6"),
    )
    assert reader(*selected, *answered).models == ("claude-opus-5", "gpt-6")


@pytest.mark.parametrize(("titles", "title"), [((), None), (("One", " Two "), "Two"), ((3,), None)])
def test_the_last_title_wins(titles: tuple[Any, ...], title: str | None, reader: Reader) -> None:
    assert reader(*(make_event("session.title_changed", title=given) for given in titles)).title == title


def test_an_event_that_stands_twice_counts_once(reader: Reader) -> None:
    capture = reader({**make_user("Fix it"), "id": "same"}, {**make_user("Fix it"), "id": "same"})
    assert [turn.source_id for turn in capture.turns] == ["same"]
    assert capture.skipped == {"replayed": 1}


def test_events_without_an_id_give_turns_without_one(reader: Reader) -> None:
    capture = reader({**make_message("One.", make_request("view")), "id": None}, {**make_user("Two"), "id": 3})
    assert [turn.source_id for turn in capture.turns] == [None, None, None]


@pytest.mark.parametrize(
    "kind",
    ["assistant.turn_start", "assistant.usage", "hook.end", "permission.requested", "session.shutdown"],
)
def test_events_about_the_session_are_bookkeeping(kind: str, reader: Reader) -> None:
    capture = reader(make_event(kind, content="words"))
    assert (capture.turns, dict(capture.skipped)) == ((), {"bookkeeping": 1})


@pytest.mark.parametrize(
    "record",
    [{"type": "weather.changed", "data": {}}, {"type": "user.message"}, {"type": ["user.message"], "data": {}}, {}],
)
def test_unknown_events_are_counted_and_the_others_read(record: Event, reader: Reader) -> None:
    capture = reader(make_user("Fix it"), record, make_message("Done."))
    assert list_texts(capture) == [(USER, "Fix it"), (ASSISTANT, "Done.")]
    assert capture.skipped == {"unknown": 1}


OTHERS: dict[str, list[Event]] = {
    "claude-code": [{"type": "user", "uuid": "u1", "message": {"role": "user", "content": "Fix it"}}],
    "codex": [{"type": "session_meta", "payload": {"id": "x"}}, {"type": "event_msg", "payload": {}}],
    "cursor": [{"role": "user", "message": {"content": "Fix it"}}],
    "pi": [{"type": "session", "id": "x"}, {"type": "message", "message": {"role": "user", "content": "Fix it"}}],
}


@pytest.mark.parametrize("harness", OTHERS)
def test_another_harnesss_transcript_is_an_error_that_says_what_to_do(harness: str, reader: Reader) -> None:
    with pytest.raises(TranscriptError, match="no Copilot CLI event") as caught:
        reader(*OTHERS[harness])
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
    assert list_history_roots("copilot", Path("/home/ada"), environment) == [Path(expected)]


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


# A person's words in other records


def test_answers_feedback_and_interruptions(reader: Reader) -> None:
    capture = reader(
        make_message("", make_request("ask_user", question="Which one?", choices=["a", "b"])),
        make_completion("User selected: b"),
        make_event("permission.completed", result={"kind": "denied-interactively-by-user", "feedback": "not there"}),
        make_event("permission.completed", result={"kind": "approved"}),
        make_event("exit_plan_mode.completed", approved=False, feedback=" smaller steps "),
        make_event("abort", reason="user initiated"),
    )
    assert [(turn.role, turn.text) for turn in capture.turns if "#said-1" in (turn.source_id or "")] == [
        (USER, "> Which one?\n\nb"),
        (USER, "not there"),
        (USER, "smaller steps"),
        (SYSTEM, "The user interrupted."),
    ]
