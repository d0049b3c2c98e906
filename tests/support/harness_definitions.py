"""The harnesses that have hooks, as data: files, payloads, environments, and how each runs a command."""

import html
import json
from dataclasses import replace
from functools import partial

from tests.support.fake_harnesses import END, SHELL, START, TURN, Events, FakeHarness, Handler, HarnessSession, Object


def _claude_handler(entry: Object) -> Handler:
    """Exec form where there are arguments. A longer timeout may raise the budget, or not: the shared one is taken."""
    argv = (entry["command"], *entry["args"]) if "args" in entry else ("sh", "-c", entry["command"])
    return Handler(argv, 1.5)


def _codex_handler(entry: Object) -> Handler:
    """A login shell; more than three seconds is cut to three."""
    return Handler((SHELL, "-lc", entry["command"]), min(entry.get("timeout", 1), 3))


def _shell_handler(entry: Object, *, key: str = "command", time: str = "timeout", unit: float = 1.0) -> Handler:
    return Handler(("bash" if key == "bash" else "sh", "-c", entry[key]), entry.get(time, 30 / unit) * unit)


def _claude_fields(visit: HarnessSession, event: str) -> Object:
    shared = {"session_id": visit.session, "transcript_path": str(visit.path), "cwd": visit.cwd}
    return {**shared, "permission_mode": "default", "hook_event_name": event}


def _timed_fields(visit: HarnessSession, event: str) -> Object:
    shared = {"session_id": visit.session, "transcript_path": str(visit.path), "cwd": visit.cwd}
    return {**shared, "hook_event_name": event, "timestamp": "2026-10-04T09:10:00.000Z"}


def _codex_fields(visit: HarnessSession, event: str) -> Object:
    turn = {"turn_id": "019f9000-0000-7000-8000-000000000100"} if event == "Stop" else {}
    return _claude_fields(visit, event) | {"model": "gpt-5.4-codex"} | turn


def _cursor_fields(visit: HarnessSession, event: str) -> Object:
    """No `cwd`, and a transcript that the CLI does not name."""
    return {
        "conversation_id": visit.session,
        "generation_id": "9d0c62a3-1f6b-4f0e-9a67-0a5f7d2b6c11",
        "session_id": visit.session,
        "model": "claude-opus-5",
        "hook_event_name": event,
        "cursor_version": "2026.09.23",
        "workspace_roots": [visit.cwd],
        "user_email": "ada@example.org",
        "transcript_path": None,
    }


def _copilot_fields(visit: HarnessSession, event: str) -> Object:
    """No name of the event, and only the end of a turn names the transcript."""
    named = {"transcriptPath": str(visit.path)} if event == "agentStop" else {}
    return {"sessionId": visit.session, "timestamp": 1790932200000, "cwd": visit.cwd, **named}


def _copilot_pascal_fields(visit: HarnessSession, event: str) -> Object:
    """What it sends to hooks that are registered as Claude Code's are, with a capital."""
    shared = {"hook_event_name": event, "session_id": visit.session, "cwd": visit.cwd}
    return {**shared, "timestamp": "2026-10-02T09:10:00.000Z"}


def _goose_fields(visit: HarnessSession, event: str) -> Object:
    return {"event": event, "session_id": visit.session}


def _before_prompt(sample: str, block: str, *, prompt: str) -> str:
    """In the message that was typed, before its words."""
    assert f'"{prompt}' in sample
    return sample.replace(f'"{prompt}', f'"{_json_escaped(block)}\\n\\n{prompt}')


def _codex_echo(sample: str, block: str) -> str:
    """A developer message."""
    first, _, rest = sample.partition("\n")
    content = [{"type": "input_text", "text": block}]
    payload = {"type": "message", "role": "developer", "content": content}
    record = {"timestamp": "2026-10-02T09:00:00.500Z", "type": "response_item", "payload": payload}
    return f"{first}\n{json.dumps(record)}\n{rest}"


def _gemini_echo(sample: str, block: str) -> str:
    """Escaped, in a wrapper of its own."""
    context = "<hook_context>Earlier sessions are listed in MEMORY.md.</hook_context>"
    assert context in sample
    return sample.replace(context, f"<hook_context>{_json_escaped(html.escape(block, quote=False))}</hook_context>")


def _json_escaped(text: str) -> str:
    return json.dumps(text)[1:-1]


_CLAUDE_EVENTS: Events = {
    START: ("SessionStart", {"source": "startup"}),
    TURN: ("Stop", {"stop_hook_active": False, "last_assistant_message": "Done."}),
    END: ("SessionEnd", {"reason": "prompt_input_exit"}),
}
_CODEX_EVENTS: Events = {**_CLAUDE_EVENTS, END: ("SessionEnd", {"reason": "other"})}
_CONTEXT = ("hookSpecificOutput", "additionalContext")
_GROUPS = '{"hooks": {"%s": [{"hooks": [{"type": "command", "command": "true"}]}]}}'
_CODEX = FakeHarness(
    label="codex",
    name="codex",
    settings=".codex/hooks.json",
    before=_GROUPS % "SessionEnd",
    sample="codex/sessions/2026/10/02/rollout-2026-10-02T11-00-00-019f9000-0000-7000-8000-00000000000a.jsonl",
    transcript_path=".codex/sessions/2026/10/02/rollout-2026-10-02T11-00-00-{session}.jsonl",
    session="019f9000-0000-7000-8000-00000000000a",
    prompt="Fix the reader",
    events=_CODEX_EVENTS,
    fields=_codex_fields,
    handler=_codex_handler,
    injected=_CONTEXT,
    echo=_codex_echo,
)
_COPILOT = FakeHarness(
    label="copilot",
    name="copilot",
    settings=".copilot/hooks/lineage.json",
    sample="copilot/session-state/ee99248c-46ed-55c0-a61a-8a778fbf68fe/events.jsonl",
    transcript_path=".copilot/session-state/{session}/events.jsonl",
    session="ee99248c-46ed-55c0-a61a-8a778fbf68fe",
    prompt="Fix the reader",
    events={
        START: ("sessionStart", {"source": "new", "initialPrompt": "Fix the reader"}),
        TURN: ("agentStop", {"stopReason": "end_turn", "stop_hook_active": False}),
        END: ("sessionEnd", {"reason": "complete"}),
    },
    fields=_copilot_fields,
    handler=partial(_shell_handler, key="bash", time="timeoutSec"),
    injected=("additionalContext",),
    echo=partial(_before_prompt, prompt="Fix the reader"),
)
COMMANDS = (
    FakeHarness(
        label="claude-code",
        name="claude-code",
        settings=".claude/settings.json",
        before=_GROUPS % "SessionEnd",
        sample="claude-code/projects/-home-ada-demo/2489c83d-fca2-5674-a85a-9f9be83b8d4e.jsonl",
        transcript_path=".claude/projects/-home-ada-demo/{session}.jsonl",
        session="2489c83d-fca2-5674-a85a-9f9be83b8d4e",
        prompt="Please find why the parser drops the last line",
        events=_CLAUDE_EVENTS,
        fields=_claude_fields,
        environment=lambda visit: {
            "CLAUDE_PROJECT_DIR": visit.cwd,
            "CLAUDECODE": "1",
            "CLAUDE_CODE_SESSION_ID": visit.session,
        },
        handler=_claude_handler,
        injected=_CONTEXT,
        echo=partial(_before_prompt, prompt="Please find why"),
    ),
    _CODEX,
    replace(
        _CODEX,
        label="codex, hooks in TOML",
        settings=".codex/config.toml",
        before='[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "true" # mine\n',
    ),
    FakeHarness(
        label="gemini",
        name="gemini",
        settings=".gemini/settings.json",
        before=_GROUPS % "SessionEnd",
        sample="gemini/tmp/demo/chats/session-2026-10-04T09-00-071ea8f7.jsonl",
        transcript_path=".gemini/tmp/demo/chats/session-2026-10-04T09-00-{session:.8}.jsonl",
        session="071ea8f7-7d87-561d-a4c5-c0ed55aecd08",
        prompt="Why does @reader.py lose the last line?",
        events={
            START: ("SessionStart", {"source": "startup"}),
            TURN: ("AfterAgent", {"prompt": "Why?", "prompt_response": "Done.", "stop_hook_active": False}),
            END: ("SessionEnd", {"reason": "exit"}),
        },
        fields=_timed_fields,
        environment=lambda visit: {
            "GEMINI_PROJECT_DIR": visit.cwd,
            "GEMINI_CWD": visit.cwd,
            "GEMINI_SESSION_ID": visit.session,
            "CLAUDE_PROJECT_DIR": visit.cwd,
        },
        handler=partial(_shell_handler, unit=0.001),
        injected=_CONTEXT,
        echo=_gemini_echo,
    ),
    FakeHarness(
        label="qwen",
        name="qwen",
        settings=".qwen/settings.json",
        before=_GROUPS % "SessionEnd",
        sample="qwen/projects/-home-ada-demo/chats/1a46b76c-3b4d-5460-9668-518f120efcef.jsonl",
        transcript_path=".qwen/projects/-home-ada-demo/chats/{session}.jsonl",
        session="1a46b76c-3b4d-5460-9668-518f120efcef",
        prompt="Why does @reader.py lose the last line?",
        events=_CLAUDE_EVENTS,
        fields=_timed_fields,
        environment=lambda visit: {"QWEN_PROJECT_DIR": visit.cwd, "CLAUDE_PROJECT_DIR": visit.cwd},
        handler=partial(_shell_handler, unit=0.001),
        injected=_CONTEXT,
        echo=partial(_before_prompt, prompt="Why does @reader.py"),
    ),
    FakeHarness(
        label="cursor",
        name="cursor",
        settings=".cursor/hooks.json",
        before='{"version": 1, "hooks": {"sessionEnd": [{"command": "true"}]}}',
        sample="cursor/projects/home-ada-demo/agent-transcripts/3a55bfa4-4938-5588-bc80-23355f5613ea/"
        "3a55bfa4-4938-5588-bc80-23355f5613ea.jsonl",
        transcript_path=".cursor/projects/home-ada-demo/agent-transcripts/{session}/{session}.jsonl",
        session="3a55bfa4-4938-5588-bc80-23355f5613ea",
        prompt="Fix the reader",
        events={
            START: ("sessionStart", {"is_background_agent": False}),
            TURN: ("stop", {"status": "completed", "loop_count": 0}),
            END: ("sessionEnd", {"reason": "completed", "duration_ms": 9000, "final_status": "completed"}),
        },
        fields=_cursor_fields,
        environment=lambda visit: {
            "CURSOR_PROJECT_DIR": visit.cwd,
            "CURSOR_VERSION": "2026.09.23",
            "CURSOR_USER_EMAIL": "ada@example.org",
            "CLAUDE_PROJECT_DIR": visit.cwd,
        },
        handler=_shell_handler,
        folder=lambda visit: visit.machine.home / ".cursor",
        injected=("additional_context",),
        echo=partial(_before_prompt, prompt="<timestamp>"),
    ),
    _COPILOT,
    FakeHarness(
        label="goose",
        name="goose",
        settings=".agents/plugins/lineage/hooks/hooks.json",
        sample="goose/export.json",
        transcript_path=".local/share/goose/sessions/sessions.db",
        session="20261002_1",
        prompt="Fix the reader",
        events={START: ("SessionStart", {}), TURN: ("Stop", {}), END: ("SessionEnd", {})},
        fields=_goose_fields,
        handler=_shell_handler,
        project="/home/ada/demo",
    ),
)
PLUGINS = (
    FakeHarness(
        label="opencode 1",
        name="opencode",
        settings=".config/opencode/plugins/lineage.js",
        sample="opencode/opencode-v1.db",
        transcript_path=".local/share/opencode/opencode.db",
        session="ses_main01",
        prompt="Fix the reader",
        play="opencode1",
    ),
    FakeHarness(
        label="opencode 2",
        name="opencode",
        settings=".config/opencode/plugins/lineage.js",
        sample="opencode/opencode-v2.db",
        transcript_path=".local/share/opencode/opencode.db",
        session="ses_v2main",
        prompt="Fix the reader",
        play="opencode2",
    ),
    FakeHarness(
        label="pi",
        name="pi",
        settings=".pi/agent/extensions/lineage.ts",
        sample="pi/sessions/--home-ada-demo--/2026-10-02T09-00-00-000Z_5d0c1a52-7f0e-5f3a-9d51-0c7a35b1c0de.jsonl",
        transcript_path=".pi/agent/sessions/--home-ada-demo--/2026-10-02T09-00-00-000Z_{session}.jsonl",
        session="5d0c1a52-7f0e-5f3a-9d51-0c7a35b1c0de",
        prompt="Why does the reader drop the last line?",
        play="pi",
    ),
    FakeHarness(
        label="openclaw",
        name="openclaw",
        settings=".openclaw/extensions/lineage/package.json",
        sample="openclaw/agents/main/sessions/3c1e9f60-2b7d-5a48-b6a0-9e5d4c3b2a19.jsonl",
        transcript_path=".openclaw/agents/main/sessions/{session}.jsonl",
        session="3c1e9f60-2b7d-5a48-b6a0-9e5d4c3b2a19",
        prompt="Look at the reader and tell me in the chat.",
        play="openclaw",
        lane="chat:ada",
    ),
)
AS_CLAUDE_CODE = {
    "cursor": next(one for one in COMMANDS if one.name == "cursor"),
    "copilot": replace(_COPILOT, fields=_copilot_pascal_fields, events={END: ("SessionEnd", {"reason": "complete"})}),
}
"""The harnesses that run Claude Code's hooks too, with what they send to those."""
