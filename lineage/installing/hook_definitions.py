"""Which events lineage registers with each harness that runs commands, with the units and limits of its timeouts.

Not registered: what comes before a compaction (it carries no summary, and Gemini's fires at every turn), and Claude
Code's SubagentStart (another harness that imports its settings rejects the whole file for it).
"""

from collections.abc import Mapping
from typing import Any

from lineage.installing.commands import HookCommand


def _exec_form(command: HookCommand, **more: Any) -> dict[str, Any]:
    program, *arguments = command.argv
    return {"type": "command", "command": program, "args": arguments, **more}


def _shell_form(command: HookCommand, **more: Any) -> dict[str, Any]:
    return {"type": "command", "command": command.shell, **more}


def _group(handler: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {**more, "hooks": [handler]}


def build_claude_code(command: HookCommand) -> dict[str, Any]:
    """Seconds. All hooks of SessionEnd share 1.5 s unless a settings file declares a timeout."""
    return {
        "SessionStart": _group(_exec_form(command, timeout=10)),
        "PostCompact": _group(_exec_form(command, timeout=10)),
        "Stop": _group({**_exec_form(command), "async": True, "timeout": 30}),
        "SessionEnd": _group(_exec_form(command, timeout=5)),
    }


def build_codex(command: HookCommand) -> dict[str, Any]:
    """Seconds. SessionEnd has 1 s by default and 3 s at most; more is a warning at each launch."""
    return {
        "SessionStart": _group(_shell_form(command, timeout=10), matcher="startup|resume|clear"),
        "Stop": _group(_shell_form(command, timeout=10)),
        "PostCompact": _group(_shell_form(command, timeout=10)),
        "SessionEnd": _group(_shell_form(command, timeout=3)),
    }


def build_gemini(command: HookCommand) -> dict[str, Any]:
    """Milliseconds; the names are what `hooksConfig.disabled` lists."""

    def named(name: str) -> dict[str, Any]:
        return {"name": name, **_shell_form(command, timeout=5000)}

    return {
        "SessionStart": _group(named("lineage-start")),
        "AfterAgent": _group(named("lineage-turn")),
        "SessionEnd": _group(named("lineage"), matcher="*"),
    }


def build_qwen(command: HookCommand) -> dict[str, Any]:
    """Milliseconds for commands."""
    events = ("SessionStart", "Stop", "PostCompact", "SessionEnd")
    return {event: _group(_shell_form(command, timeout=10000)) for event in events}


def build_goose(command: HookCommand) -> dict[str, Any]:
    """Seconds. No matcher: `*` is invalid there, and the rule would be dropped in silence."""
    return {event: _group(_shell_form(command, timeout=10)) for event in ("SessionStart", "Stop", "SessionEnd")}


def build_cursor(command: HookCommand) -> dict[str, Any]:
    """Seconds; handlers without groups."""
    events = ("sessionStart", "stop", "sessionEnd")
    return {event: {"command": command.shell, "timeout": 10} for event in events}


def build_copilot(command: HookCommand) -> dict[str, Any]:
    """Seconds. Names in camel case select the payload in camel case."""
    handler = {"type": "command", "bash": command.bash, "powershell": command.powershell, "timeoutSec": 10}
    return {event: dict(handler) for event in ("sessionStart", "agentStop", "sessionEnd")}
