"""What hooks' payloads say, harness by harness; the payloads are invented. (harnesses.md 0.5, the tables of events)"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.harness.hook_payload import (
    HOOK_FORMATS,
    NO_EVENT,
    NO_SESSION,
    OTHER_HARNESS,
    HookPayload,
    find_ignore_reason,
    parse_hook_payload,
)
from lineage.harness.registry import HARNESSES, PLAIN_FORMAT
from lineage.harness.spec import (
    BEFORE_COMPACTION,
    COMPACTION,
    NO_COMPACTION,
    OTHER,
    SESSION_END,
    SESSION_START,
    SUB_AGENT,
    TURN_END,
)
from tests.support.parametrize import each

Payload = dict[str, Any]

EVENTS = {SESSION_START, TURN_END, SESSION_END, BEFORE_COMPACTION, COMPACTION, OTHER}
REASONS = {SUB_AGENT, NO_COMPACTION, OTHER_HARNESS, NO_EVENT, NO_SESSION}
ISO = "2026-10-02T11:00:00+02:00"
EPOCH_MS = 1790931600000


def make_claude(event: str, **more: Any) -> Payload:
    path = "/home/ada/.claude/projects/-home-ada-demo/s-1.jsonl"
    base = {"session_id": "s-1", "transcript_path": path, "cwd": "/home/ada/demo", "permission_mode": "default"}
    return {**base, "hook_event_name": event, **more}


def make_codex(event: str, **more: Any) -> Payload:
    path = "/home/ada/.codex/sessions/2026/10/02/rollout-2026-10-02T11-00-00-s-1.jsonl"
    base = {"session_id": "s-1", "transcript_path": path, "cwd": "/home/ada/demo", "model": "gpt-5"}
    return {**base, "hook_event_name": event, **more}


def make_gemini(event: str, **more: Any) -> Payload:
    path = "/home/ada/.gemini/tmp/demo/chats/session-2026-10-02T09-00-s1.jsonl"
    base = {"session_id": "s-1", "transcript_path": path, "cwd": "/home/ada/demo", "timestamp": ISO}
    return {**base, "hook_event_name": event, **more}


SNAPSHOT = "<state_snapshot>\n1.\n</state_snapshot>"


def make_qwen(event: str, **more: Any) -> Payload:
    return {**make_gemini(event), "transcript_path": "/home/ada/.qwen/projects/-home-ada-demo/chats/s-1.jsonl", **more}


def make_cursor(event: str, **more: Any) -> Payload:
    base = {"conversation_id": "s-1", "generation_id": "g-1", "model": "auto", "cursor_version": "3.1"}
    personal = {"user_email": "ada@example.invalid", "workspace_roots": ["/home/ada/demo", "/home/ada/other"]}
    path = "/home/ada/.cursor/projects/home-ada-demo/agent-transcripts/s-1/s-1.jsonl"
    return {**base, **personal, "transcript_path": path, "hook_event_name": event, **more}


def make_copilot(**more: Any) -> Payload:
    return {"sessionId": "s-1", "timestamp": EPOCH_MS, "cwd": "/home/ada/demo", **more}


def make_copilot_pascal(event: str, **more: Any) -> Payload:
    return {"hook_event_name": event, "session_id": "s-1", "timestamp": ISO, "cwd": "/home/ada/demo", **more}


def make_plain(event: str, **more: Any) -> Payload:
    return {"event": event, "session_id": "s-1", **more}


def make_goose(event: str, **more: Any) -> Payload:
    return {"event": event, "session_id": "s-1", **more}


COPILOT_PATH = "/home/ada/.copilot/session-state/s-1/events.jsonl"

SIGNALS: list[tuple[str, Payload, str, Payload]] = [
    ("claude-code", make_claude("SessionStart", source="startup", model="opus"), SESSION_START, {"reason": "startup"}),
    (
        "claude-code",
        make_claude("SessionStart", source="compact", agent_type="x"),
        OTHER,
        {"reason": "compact"},
    ),
    ("claude-code", make_claude("Stop", last_assistant_message="Done."), TURN_END, {}),
    ("claude-code", make_claude("StopFailure", error="rate_limit"), TURN_END, {"reason": "rate_limit"}),
    ("claude-code", make_claude("SessionEnd", reason="clear"), SESSION_END, {"reason": "clear"}),
    (
        "claude-code",
        make_claude("SessionEnd", reason="prompt_input_exit"),
        SESSION_END,
        {"reason": "prompt_input_exit"},
    ),
    ("claude-code", make_claude("SessionEnd"), SESSION_END, {}),
    ("claude-code", make_claude("SessionEnd", reason="resume"), TURN_END, {"reason": "resume"}),
    (
        "claude-code",
        make_claude("PostCompact", trigger="auto", compact_summary="1. Goal."),
        COMPACTION,
        {"trigger": "auto", "summary": "1. Goal."},
    ),
    ("claude-code", make_claude("UserPromptSubmit", prompt="Fix it"), OTHER, {}),
    ("claude-code", make_claude("CwdChanged", cwd="/home/ada/else"), OTHER, {"cwd": "/home/ada/else"}),
    ("codex", make_codex("SessionStart", source="resume"), SESSION_START, {"reason": "resume"}),
    ("codex", make_codex("Stop", turn_id="t", last_assistant_message="Done."), TURN_END, {}),
    ("codex", make_codex("Interrupt", turn_id="t"), TURN_END, {}),
    (
        "codex",
        make_codex("PostCompact", turn_id="t", trigger="manual"),
        COMPACTION,
        {"trigger": "manual", "summary": None},
    ),
    ("codex", make_codex("SessionEnd", reason="other"), SESSION_END, {"reason": "other"}),
    ("codex", make_codex("Stop", transcript_path=None), TURN_END, {"transcript_path": None}),
    (
        "codex",
        {"type": "agent-turn-complete", "thread-id": "s-1", "turn-id": "t", "last-assistant-message": "Done."},
        TURN_END,
        {},
    ),
    ("gemini", make_gemini("SessionStart", source="startup"), SESSION_START, {"reason": "startup"}),
    ("gemini", make_gemini("AfterAgent", prompt="Fix", prompt_response="Done."), TURN_END, {}),
    ("gemini", make_gemini("SessionEnd", reason="exit", transcript_path=""), SESSION_END, {"transcript_path": None}),
    ("gemini", make_gemini("BeforeAgent", prompt="Fix"), OTHER, {}),
    ("qwen", make_qwen("SessionStart", source="startup", model="coder"), SESSION_START, {}),
    ("qwen", make_qwen("Stop", last_assistant_message="Done."), TURN_END, {}),
    ("qwen", make_qwen("SessionEnd", reason="logout"), SESSION_END, {"reason": "logout"}),
    ("qwen", make_qwen("PostCompact", trigger="auto", compact_summary="1."), COMPACTION, {"summary": "1."}),
    (
        "qwen",
        make_qwen("PostCompact", compact_summary=SNAPSHOT),
        COMPACTION,
        {"summary": "1."},
    ),
    ("qwen", make_qwen("SessionDelete", deleted_session_id="s-0"), OTHER, {}),
    ("cursor", make_cursor("sessionStart", session_id="s-1"), SESSION_START, {"cwd": "/home/ada/demo"}),
    ("cursor", make_cursor("stop", status="aborted", loop_count=0), TURN_END, {"reason": "aborted"}),
    ("cursor", make_cursor("afterAgentResponse", text="Done."), TURN_END, {}),
    (
        "cursor",
        make_cursor("sessionEnd", session_id="other", reason="user_close"),
        SESSION_END,
        {"reason": "user_close"},
    ),
    ("cursor", make_cursor("sessionEnd", workspace_roots=[], transcript_path=None), SESSION_END, {"cwd": None}),
    ("cursor", make_cursor("beforeSubmitPrompt", prompt="Fix"), OTHER, {}),
    (
        "copilot",
        make_copilot(source="startup", initialPrompt="Fix"),
        SESSION_START,
        {"reason": "startup"},
    ),
    (
        "copilot",
        make_copilot(transcriptPath=COPILOT_PATH, stopReason="end_turn", stop_hook_active=False),
        TURN_END,
        {"transcript_path": COPILOT_PATH, "reason": "end_turn"},
    ),
    ("copilot", make_copilot(reason="user_exit"), SESSION_END, {"reason": "user_exit", "transcript_path": None}),
    ("copilot", make_copilot(prompt="Fix"), OTHER, {}),
    ("copilot", make_copilot_pascal("SessionStart", source="new"), SESSION_START, {"reason": "new"}),
    ("copilot", make_copilot_pascal("Stop", transcript_path=COPILOT_PATH), TURN_END, {"transcript_path": COPILOT_PATH}),
    ("copilot", make_copilot_pascal("SessionEnd", reason="complete"), SESSION_END, {"reason": "complete"}),
    (
        "opencode",
        make_plain("turn-end", directory="/home/ada/demo", version="2.1"),
        TURN_END,
        {"cwd": "/home/ada/demo"},
    ),
    ("opencode", make_plain("turn-end", parent_id="ses_0"), TURN_END, {}),
    ("opencode", {"event": "session.idle", "sessionID": "s-1", "directory": "/d"}, TURN_END, {"cwd": "/d"}),
    ("opencode", make_plain("session.created", parentID="ses_0"), SESSION_START, {}),
    ("opencode", make_plain("session.compacted"), COMPACTION, {"summary": None}),
    ("opencode", make_plain("session.execution.interrupted"), TURN_END, {}),
    ("opencode", make_plain("dispose"), SESSION_END, {}),
    ("opencode", make_plain("session.deleted"), OTHER, {}),
    ("pi", make_plain("session_start", reason="fork"), SESSION_START, {"reason": "fork"}),
    ("pi", make_plain("session_compact", compactionEntry={"summary": "1. Goal."}), COMPACTION, {"summary": "1. Goal."}),
    (
        "pi",
        make_plain("session_shutdown", session_file="/home/ada/s.jsonl"),
        SESSION_END,
        {"transcript_path": "/home/ada/s.jsonl"},
    ),
    ("pi", make_plain("session_shutdown", reason="reload"), TURN_END, {"reason": "reload"}),
    ("openclaw", make_plain("session_start", agentId="main"), SESSION_START, {}),
    ("openclaw", make_plain("agent_end"), TURN_END, {}),
    (
        "openclaw",
        make_plain("session_end", sessionKey="chat:7", reason="daily"),
        SESSION_END,
        {"session_key": "chat:7"},
    ),
    ("openclaw", make_plain("after_compaction", session_key="chat:7"), COMPACTION, {"session_key": "chat:7"}),
    (
        "openclaw",
        make_plain("session-end", session_key="chat:7", lane="a", agent_id="main"),
        SESSION_END,
        {"lane": "a"},
    ),
    ("goose", make_goose("SessionStart"), SESSION_START, {}),
    ("goose", make_goose("Stop", last_assistant_message="Done."), TURN_END, {}),
    ("goose", make_goose("SessionEnd"), SESSION_END, {"transcript_path": None, "cwd": None}),
    ("goose", make_goose("PreToolUse", working_dir="/home/ada/demo"), OTHER, {"cwd": "/home/ada/demo"}),
    ("aider", make_plain("session-end", transcript_path="/d/.aider.chat.history.md"), SESSION_END, {}),
    ("antigravity", make_plain("session-end", transcript_path="/d/transcript.jsonl"), SESSION_END, {}),
    ("generic", make_plain("no-such-event"), OTHER, {}),
    ("opencode", make_plain("before-compaction"), BEFORE_COMPACTION, {}),
    ("qwen", make_qwen("PreCompact", trigger="auto"), BEFORE_COMPACTION, {"trigger": "auto"}),
    ("claude-code", make_claude("PreCompact", trigger="auto", custom_instructions=""), BEFORE_COMPACTION, {}),
    ("codex", make_codex("PreCompact", turn_id="t", trigger="auto"), BEFORE_COMPACTION, {}),
    ("cursor", make_cursor("preCompact", trigger="auto"), BEFORE_COMPACTION, {}),
    (
        "copilot",
        make_copilot(transcriptPath=COPILOT_PATH, trigger="auto", customInstructions=""),
        BEFORE_COMPACTION,
        {},
    ),
    ("pi", make_plain("session_before_compact"), BEFORE_COMPACTION, {}),
    ("openclaw", make_plain("before_compaction"), BEFORE_COMPACTION, {}),
]

IGNORED: list[tuple[str, Payload, str]] = [
    ("claude-code", make_claude("SubagentStop", agent_id="a1", agent_transcript_path="/x/agent-a1.jsonl"), SUB_AGENT),
    ("claude-code", make_claude("SubagentStart", agent_type="Explore"), SUB_AGENT),
    ("claude-code", make_claude("Stop", agent_id="a1"), SUB_AGENT),
    ("claude-code", make_claude("SessionEnd", session_id=""), NO_SESSION),
    ("claude-code", make_claude("SessionEnd", session_id=7), NO_SESSION),
    ("claude-code", {"session_id": "s-1"}, NO_EVENT),
    ("claude-code", {}, NO_EVENT),
    ("codex", make_codex("SubagentStop", turn_id="t", agent_id="a1"), SUB_AGENT),
    ("gemini", make_gemini("PreCompress", trigger="auto"), NO_COMPACTION),
    ("qwen", make_qwen("SubagentStop", agent_id="a1"), SUB_AGENT),
    ("cursor", make_cursor("subagentStop", summary="Found 2.", status="completed"), SUB_AGENT),
    ("copilot", make_copilot(transcriptPath=COPILOT_PATH, agentId="a1", agentType="x", response="Found."), SUB_AGENT),
    ("copilot", make_copilot(toolName="bash"), NO_EVENT),
    ("opencode", {"event": "dispose", "session_id": None, "directory": "/home/ada/demo"}, NO_SESSION),
    ("goose", {"event": "SessionEnd"}, NO_SESSION),
    ("typewriter", make_claude("SessionEnd"), NO_EVENT),
]

FOREIGN: list[tuple[str, Payload]] = [
    ("claude-code", make_cursor("sessionEnd", session_id="s-1")),
    ("claude-code", make_cursor("SessionEnd", session_id="s-1")),
    ("claude-code", {"hook_event_name": "sessionStart", "session_id": "s-1", "transcript_path": None}),
    ("claude-code", make_copilot(reason="complete")),
    ("claude-code", make_copilot_pascal("SessionEnd", reason="complete")),
    ("claude-code", make_copilot_pascal("Stop", transcript_path=COPILOT_PATH)),
    ("claude-code", make_codex("SessionEnd", reason="other")),
    ("claude-code", make_codex("Stop", turn_id="t", transcript_path=None)),
    ("codex", make_cursor("stop")),
    ("copilot", make_codex("Stop", turn_id="t")),
    ("cursor", make_copilot(reason="complete")),
    ("gemini", make_cursor("sessionEnd")),
    ("qwen", make_cursor("sessionEnd")),
]

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
ALL_DIALECTS = [PLAIN_FORMAT, *HOOK_FORMATS.values()]
NAMES_OF_FIELDS = sorted(
    {name.split(".")[0] for dialect in ALL_DIALECTS for names in dialect.fields.values() for name in names}
    | {"hook_event_name", "event", "type", "agent_id", "cursor_version", "turn_id", "model"}
)
NAMES_OF_EVENTS = sorted({name for dialect in ALL_DIALECTS for name in dialect.events | dialect.ignored_events})


@each(("harness", "payload", "event", "fields"), SIGNALS)
def test_a_payload_says_what_happened(harness: str, payload: Payload, event: str, fields: Payload) -> None:
    said = parse_hook_payload(harness, payload)
    assert said is not None
    assert (said.event, said.session_id) == (event, "s-1")
    assert {name: getattr(said, name) for name in fields} == fields
    assert find_ignore_reason(harness, payload) is None


@each(("harness", "payload", "reason"), IGNORED)
def test_a_payload_that_does_not_concern_us_has_a_reason(harness: str, payload: Payload, reason: str) -> None:
    assert parse_hook_payload(harness, payload) is None
    assert find_ignore_reason(harness, payload) == reason


@each(("harness", "payload"), FOREIGN)
def test_another_harnesss_payload_is_left_alone(harness: str, payload: Payload) -> None:
    assert parse_hook_payload(harness, payload) is None
    assert find_ignore_reason(harness, payload) == OTHER_HARNESS


def test_every_harness_has_payloads_here() -> None:
    missing = sorted(set(HARNESSES) - {harness for harness, *_ in SIGNALS})
    assert not missing, (
        f"add a line for every event of its hooks to SIGNALS of {__file__}: CONTRIBUTING, How to add a harness, 4"
    )
    assert {harness for harness, *_ in SIGNALS} <= set(HARNESSES)


@each("harness", HOOK_FORMATS)
def test_every_event_of_a_dialect_is_tried_here(harness: str) -> None:
    tried = {event for name, _, event, _ in SIGNALS if name == harness}
    assert set(HOOK_FORMATS[harness].events.values()) <= tried


def test_all_that_a_payload_says_is_there() -> None:
    payload = make_claude("SessionEnd", reason="clear")
    assert parse_hook_payload("claude-code", payload) == HookPayload(
        event=SESSION_END,
        session_id="s-1",
        transcript_path=payload["transcript_path"],
        cwd="/home/ada/demo",
        reason="clear",
    )


@each("harness", HARNESSES)
@each("event", [SESSION_START, TURN_END, SESSION_END, COMPACTION])
def test_the_plain_form_is_every_harnesss(harness: str, event: str) -> None:
    texts = {"session_id": "s-1", "session_key": "k", "lane": "l", "transcript_path": "/t"}
    more = {"cwd": "/d", "reason": "r", "trigger": "manual", "summary": "s"}
    said = parse_hook_payload(harness, {"event": event, **texts, **more})
    assert said == HookPayload(event=event, **texts, **more)


@pytest.mark.parametrize("path", ["C:\\Users\\ada\\.codex\\rollout-1.jsonl", "rollout-1.jsonl"])
def test_a_rollout_is_codexs_wherever_it_lies(path: str) -> None:
    assert find_ignore_reason("claude-code", make_claude("SessionEnd", transcript_path=path)) == OTHER_HARNESS


def test_ids_are_taken_as_they_are() -> None:
    said = parse_hook_payload("claude-code", make_claude("SessionEnd", session_id="../\nodd"))
    assert said is not None
    assert said.session_id == "../\nodd"


@given(harness=st.sampled_from([*HARNESSES, "typewriter"]), data=st.data())
def test_any_object_gives_a_signal_or_a_reason(harness: str, data: st.DataObject) -> None:
    values = JSON | st.sampled_from(NAMES_OF_EVENTS)
    payload = data.draw(st.dictionaries(st.sampled_from(NAMES_OF_FIELDS) | st.text(max_size=5), values, max_size=8))
    said, reason = parse_hook_payload(harness, payload), find_ignore_reason(harness, payload)
    assert (said is None) == (reason in REASONS)
    if said:
        assert said.event in EVENTS
        assert said.session_id.strip()
        assert all(isinstance(getattr(said, name), str | None) for name in HookPayload.__dataclass_fields__)
