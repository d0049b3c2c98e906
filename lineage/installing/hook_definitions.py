"""The events registered with each harness that runs commands, with the units and limits of its timeouts.

Gemini's event before a compaction is left out: it fires at every turn. So is Claude Code's SubagentStart: another
harness that imports its settings rejects the whole file for it.
"""

from collections.abc import Mapping
from typing import Any

from lineage.installing.commands import HookCommand

PROMPT_SECONDS = 5
"""What a harness waits for a hook that hangs before it takes a prompt, or an action, without its answer."""


def _exec_form(command: HookCommand, **more: Any) -> dict[str, Any]:
    program, *arguments = command.argv
    return {"type": "command", "command": program, "args": arguments, **more}


def _shell_form(command: HookCommand, **more: Any) -> dict[str, Any]:
    return {"type": "command", "command": command.shell, **more}


def _group(handler: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {**more, "hooks": [handler]}


def build_claude_code(command: HookCommand) -> dict[str, Any]:
    """Return the hooks. Timeouts are in seconds."""
    return {
        "SessionStart": _group(_exec_form(command, timeout=10)),
        "UserPromptSubmit": _group(_exec_form(command, timeout=PROMPT_SECONDS)),
        "PreToolUse": _group(
            _exec_form(command, timeout=PROMPT_SECONDS), matcher="Edit|MultiEdit|Write|NotebookEdit|Bash"
        ),
        "PostToolUseFailure": _group(_exec_form(command, timeout=PROMPT_SECONDS), matcher="Bash"),
        "PreCompact": _group(_exec_form(command, timeout=10)),
        "PostCompact": _group(_exec_form(command, timeout=10)),
        "Stop": _group({**_exec_form(command), "async": True, "timeout": 30}),
        # All hooks of a session end share 1.5 s, unless a settings file declares a timeout.
        "SessionEnd": _group(_exec_form(command, timeout=5)),
    }


def build_codex(command: HookCommand) -> dict[str, Any]:
    """Return the hooks. Timeouts are in seconds."""
    return {
        "SessionStart": _group(_shell_form(command, timeout=10), matcher="startup|resume|clear|compact"),
        "Stop": _group(_shell_form(command, timeout=10)),
        "PreCompact": _group(_shell_form(command, timeout=10)),
        "PostCompact": _group(_shell_form(command, timeout=10)),
        # 1 s by default and 3 s at most: a larger value gives a warning at each launch.
        "SessionEnd": _group(_shell_form(command, timeout=3)),
        "UserPromptSubmit": _group(_shell_form(command, timeout=PROMPT_SECONDS)),
        "PreToolUse": _group(_shell_form(command, timeout=PROMPT_SECONDS), matcher="Bash|apply_patch"),
        "PostToolUse": _group(_shell_form(command, timeout=PROMPT_SECONDS), matcher="Bash"),
    }


def build_gemini(command: HookCommand) -> dict[str, Any]:
    """Return the hooks. Timeouts are in milliseconds; `hooksConfig.disabled` refers to the names."""

    def named(name: str) -> dict[str, Any]:
        return {"name": name, **_shell_form(command, timeout=1000 * PROMPT_SECONDS)}

    return {
        "SessionStart": _group(named("lineage-start")),
        "BeforeAgent": _group(named("lineage-recall")),
        # What is told before a tool never reaches the model.
        "AfterTool": _group(named("lineage-action"), matcher="replace|write_file|run_shell_command"),
        "AfterAgent": _group(named("lineage-turn")),
        "SessionEnd": _group(named("lineage"), matcher="*"),
    }


def build_qwen(command: HookCommand) -> dict[str, Any]:
    """Return the hooks. Timeouts are in milliseconds for commands."""
    events = ("SessionStart", "Stop", "PreCompact", "PostCompact", "SessionEnd")
    hooks = {event: _group(_shell_form(command, timeout=10000)) for event in events}
    quick = _shell_form(command, timeout=1000 * PROMPT_SECONDS)
    return hooks | {
        "UserPromptSubmit": _group(quick),
        # Before a tool it takes context with a permission alone, and that is the user's to give.
        "PostToolUse": _group(quick, matcher="edit|write_file|run_shell_command"),
        "PostToolUseFailure": _group(quick, matcher="run_shell_command"),
    }


def build_goose(command: HookCommand) -> dict[str, Any]:
    """Return the hooks. Timeouts are in seconds."""
    # No matcher: `*` is invalid there, and Goose would drop the rule in silence.
    return {event: _group(_shell_form(command, timeout=10)) for event in ("SessionStart", "Stop", "SessionEnd")}


def build_cursor(command: HookCommand) -> dict[str, Any]:
    """Return the hooks, handlers without groups. Timeouts are in seconds."""
    events = ("sessionStart", "stop", "preCompact", "sessionEnd")
    return {event: {"command": command.shell, "timeout": 10} for event in events}


def build_copilot(command: HookCommand) -> dict[str, Any]:
    """Return the hooks. Timeouts are in seconds."""
    # Event names in camel case select the payload in camel case.
    handler = {"type": "command", "bash": command.bash, "powershell": command.powershell, "timeoutSec": 10}
    hooks = {event: dict(handler) for event in ("sessionStart", "agentStop", "preCompact", "sessionEnd")}
    quick = {**handler, "timeoutSec": PROMPT_SECONDS}
    return hooks | dict.fromkeys(("userPromptSubmitted", "preToolUse", "postToolUse"), quick)
