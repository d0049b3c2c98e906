"""The harness programs: where each comes from, what points it at the scripted model, and how it is driven."""

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.harness.sandbox import PROGRAMS, Sandbox, Terminal


def write(path: Path, content: Any) -> None:
    """Write a file of settings: text as it is, anything else as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1), encoding="utf-8")


def merge(path: Path, more: dict[str, Any]) -> None:
    """Add keys to a file of JSON settings."""
    write(path, {**(json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}), **more})


@dataclass(frozen=True)
class Program:
    """A harness program.

    `prompt`, `second` (where a second session takes other words) and `resume` are the words behind the program's name
    for one headless request, `{prompt}` stands for it. `approve` does what a person does once hooks are installed.
    `terminal` starts it at a terminal, `ready` is what it shows there when it takes input, `leave` the line that ends
    it, `compact` the one that makes it compact and `compacted` what it shows then; `described` is what it shows under a
    command once it knows it. `service` starts what the terminal's sessions run in, and `serving` is what that shows
    then. `write` is the tool that writes a file, with its arguments. `impossible` names the cells that the program
    can't hold, with the reason; `unseen` those that haven't been seen to hold yet.
    """

    name: str
    executable: str
    prompt: Sequence[str]
    resume: Sequence[str]
    configure: Callable[[Sandbox], None]
    variables: dict[str, str] = field(default_factory=dict)
    terminal: Sequence[str] = ()
    ready: str = ""
    compact: str = "/compact"
    compacted: str = ""
    leave: str = "/exit"
    second: Sequence[str] = ()
    approve: Callable[[Sandbox], None] | None = None
    described: dict[str, str] = field(default_factory=dict)
    service: Sequence[str] = ()
    serving: str = ""
    impossible: dict[str, str] = field(default_factory=dict)
    unseen: Sequence[str] = ()
    write: tuple[str, dict[str, str]] = ("write_file", {"file_path": "{path}", "content": "low"})

    @property
    def another(self) -> Sequence[str]:
        """The words for a session beside the first one."""
        return self.second or self.prompt

    @property
    def folder(self) -> Path:
        """The folder that npm installed the program in."""
        return PROGRAMS / self.name

    def command(self, words: Sequence[str], prompt: str) -> list[str]:
        """Return a command line for the prompt."""
        return [self.executable, *(word.format(prompt=prompt) if "{prompt}" in word else word for word in words)]


def _claude_code(sandbox: Sandbox) -> None:
    write(sandbox.home / ".claude" / "settings.json", {"permissions": {"allow": ["Bash", "mcp__lineage"]}})
    trusted = {str(sandbox.project): {"hasTrustDialogAccepted": True, "projectOnboardingSeenCount": 9}}
    approved = {"approved": ["dummy"], "rejected": []}
    write(
        sandbox.home / ".claude.json",
        {"hasCompletedOnboarding": True, "theme": "dark", "customApiKeyResponses": approved, "projects": trusted},
    )


def _codex(sandbox: Sandbox) -> None:
    write(
        sandbox.home / ".codex" / "config.toml",
        f"""\
# The settings of somebody who keeps comments.
model_provider = "scripted"
model = "gpt-5"
check_for_update_on_startup = false
approval_policy = "never"
sandbox_mode = "danger-full-access"

[analytics]
enabled = false

[model_providers.scripted]
name = "scripted"
base_url = "http://127.0.0.1:{sandbox.port}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
supports_websockets = false

[projects."{sandbox.project}"]
trust_level = "trusted"
""",
    )


def _approve_codex(sandbox: Sandbox) -> None:
    terminal = Terminal(sandbox, "codex")
    assert terminal.wait_for("2. Trust all and continue", 120), terminal.shown
    # the first keys are lost where it still starts
    assert terminal.press_until("2", "› 2. Trust", every=3, times=40), terminal.shown
    assert terminal.press_until("\r", "Ask Codex to do anything"), terminal.shown
    sandbox.end_terminals()
    sandbox.end(("codex",))


def _gemini_settings(kind: str) -> dict[str, Any]:
    return {
        "security": {"auth": {"selectedType": kind}},
        "general": {"enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
        "ui": {"hideBanner": True, "hideTips": True},
    }


def _gemini(sandbox: Sandbox) -> None:
    write(sandbox.home / ".gemini" / "settings.json", _gemini_settings("gemini-api-key"))


def _qwen(sandbox: Sandbox) -> None:
    shown = {
        "tools": {"toolSearch": {"enabled": False}}
    }  # else MCP's tools are in no request until they are looked for
    write(sandbox.home / ".qwen" / "settings.json", {**_gemini_settings("openai"), **shown})


def _opencode(sandbox: Sandbox) -> None:
    folder = sandbox.home / ".config" / "opencode"
    # Without this package beside its settings, a start with any plug-in waits 80 seconds for the network.
    shutil.copytree(PROGRAMS / "opencode-plugin", folder, symlinks=True)
    model = {"npm": "@ai-sdk/openai-compatible", "models": {"scripted": {"name": "scripted"}}}
    model["options"] = {"baseURL": f"http://127.0.0.1:{sandbox.port}/v1", "apiKey": "dummy"}
    write(
        folder / "opencode.json",
        {
            "autoupdate": False,
            "share": "disabled",
            "permission": {"bash": "allow"},
            "model": "scripted/scripted",
            "provider": {"scripted": model},
        },
    )


def _pi(sandbox: Sandbox) -> None:
    folder = sandbox.home / ".pi" / "agent"
    provider = {"baseUrl": f"http://127.0.0.1:{sandbox.port}/v1", "api": "openai-completions", "apiKey": "dummy"}
    write(folder / "models.json", {"providers": {"scripted": {**provider, "models": [{"id": "scripted"}]}}})
    write(
        folder / "settings.json",
        {"defaultProvider": "scripted", "defaultModel": "scripted", "compaction": {"keepRecentTokens": 5}},
    )


def _copilot(sandbox: Sandbox) -> None:
    write(sandbox.home / ".copilot" / "config.json", {"trusted_folders": [str(sandbox.project)]})


def _openclaw(sandbox: Sandbox) -> None:
    provider = {"baseUrl": f"http://127.0.0.1:{sandbox.port}/v1", "apiKey": "dummy", "api": "openai-completions"}
    provider["models"] = [{"id": "scripted", "name": "scripted"}]
    agents = {"defaults": {"model": {"primary": "scripted/scripted"}, "workspace": str(sandbox.project)}}
    write(
        sandbox.home / ".openclaw" / "openclaw.json",
        {
            "models": {"providers": {"scripted": provider}},
            "agents": agents,
            "plugins": {"entries": {"lineage": {"hooks": {"allowConversationAccess": True}}}},
            "gateway": {"mode": "local", "bind": "loopback", "auth": {"mode": "token", "token": "dummy"}},
            "tools": {"toolSearch": {"enabled": False}},
        },
    )


_ANTHROPIC = {
    "ANTHROPIC_BASE_URL": "http://127.0.0.1:{port}",
    "ANTHROPIC_API_KEY": "dummy",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "IS_SANDBOX": "1",
    "ENABLE_TOOL_SEARCH": "false",
}
_GEMINI = {
    "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:{port}",
    "GEMINI_API_KEY": "dummy",
    "GEMINI_CLI_TRUST_WORKSPACE": "true",
    "GEMINI_CLI_NO_RELAUNCH": "true",
    "GEMINI_TELEMETRY_ENABLED": "false",
}
_QWEN = {"OPENAI_BASE_URL": "http://127.0.0.1:{port}/v1", "OPENAI_API_KEY": "dummy", "OPENAI_MODEL": "scripted"}
_OPENCODE = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
}
_COPILOT = {
    "COPILOT_PROVIDER_BASE_URL": "http://127.0.0.1:{port}/v1",
    "COPILOT_PROVIDER_TYPE": "openai",
    "COPILOT_PROVIDER_API_KEY": "dummy",
    "COPILOT_MODEL": "gpt-5",
    "COPILOT_OFFLINE": "true",
    "COPILOT_AUTO_UPDATE": "false",
}
_CODEX = ("exec", "--skip-git-repo-check")
_GEMINI_WORDS = ("-m", "gemini-2.5-flash", "--yolo")

PROGRAMS_BY_NAME = {
    program.name: program
    for program in (
        Program(
            "claude-code",
            "claude",
            ("-p", "{prompt}"),
            ("--continue", "-p", "{prompt}"),
            _claude_code,
            _ANTHROPIC,
            terminal=("claude",),
            ready="/effort",
            write=("Write", {"file_path": "{path}", "content": "low"}),
            compacted="Compacted (ctrl+o",
        ),
        Program(
            "codex",
            "codex",
            (*_CODEX, "{prompt}"),
            (*_CODEX, "resume", "--last", "{prompt}"),
            _codex,
            {"SCRIPTED_KEY": "dummy"},
            terminal=("codex",),
            write=(
                "exec_command",
                {"cmd": "apply_patch <<'E'\n*** Begin Patch\n*** Add File: tides.txt\n+low\n*** End Patch\nE"},
            ),
            ready="Ask Codex to do anything",
            compacted="Context compacted",
            approve=_approve_codex,
            impossible={
                "killed behind a turn": "Codex's terminal leaves its turns to a daemon, which outlives it; a sweep "
                "brings them in after ten quiet minutes."
            },
            leave="/quit",
        ),
        Program(
            "gemini",
            "gemini",
            (*_GEMINI_WORDS, "-p", "{prompt}"),
            (*_GEMINI_WORDS, "--resume", "latest", "-p", "{prompt}"),
            _gemini,
            _GEMINI,
            terminal=("gemini", *_GEMINI_WORDS),
            ready="Type your message",
            compact="/compress",
            compacted="compressed",
            described={"/quit": "Exit the cli", "/compress": "Compresses the context"},
            impossible={
                "told after /compact": "Gemini CLI runs no hook behind a compression, so nothing tells it again."
            },
            leave="/quit",
        ),
        Program(
            "qwen",
            "qwen",
            ("--yolo", "-p", "{prompt}"),
            ("--yolo", "--continue", "-p", "{prompt}"),
            _qwen,
            _QWEN,
            terminal=("qwen", "--yolo"),
            ready="Type your message",
            compact="/compress",
            compacted="compressed",
            leave="/quit",
        ),
        Program(
            "opencode",
            "opencode",
            ("run", "{prompt}"),
            ("run", "--continue", "{prompt}"),
            _opencode,
            _OPENCODE,
            terminal=("opencode",),
            write=("write", {"filePath": "{path}", "content": "low"}),
            ready="Ask anything",
            compacted="Compaction",
        ),
        Program(
            "pi",
            "pi",
            ("-p", "{prompt}"),
            ("--continue", "-p", "{prompt}"),
            _pi,
            {"PI_OFFLINE": "1"},
            terminal=("pi",),
            write=("write", {"path": "{path}", "content": "low"}),
            ready="scripted",
            compacted="compact",
            leave="/quit",
            impossible={"MCP": "pi has no MCP client.", "remembered": "pi has no MCP client."},
        ),
        Program(
            "copilot",
            "copilot",
            ("--allow-all-tools", "-p", "{prompt}"),
            ("--allow-all-tools", "--continue", "-p", "{prompt}"),
            _copilot,
            _COPILOT,
            terminal=("copilot", "--allow-all-tools"),
            write=("create", {"path": "{path}", "file_text": "low"}),
            ready="Check for mistakes.",
            compacted="Compaction completed",
            impossible={"told after /compact": "Copilot runs no hook behind a compaction, so nothing tells it again."},
        ),
        Program(
            "openclaw",
            "openclaw",
            ("agent", "--local", "--session-id", "quayside", "--message", "{prompt}"),
            ("agent", "--local", "--session-id", "quayside", "--message", "{prompt}"),
            _openclaw,
            second=("agent", "--local", "--session-id", "breakwater", "--message", "{prompt}"),
            terminal=("openclaw", "tui"),
            ready="connected | idle",
            compacted="⚙",
            service=("openclaw", "gateway", "run"),
            serving="http server listening",
            impossible={
                "told at an action": "OpenClaw's tool hooks block a call or ask a person; none tells the model "
                "anything."
            },
        ),
    )
}


def why_not(program: Program) -> str:
    """Return why the program can't be run here, or nothing."""
    if not sys.platform.startswith("linux"):
        return "the sandbox needs Linux"
    if not (program.folder / "node_modules" / ".bin" / program.executable).exists():
        return f"{program.name} is not installed: scripts/environment harnesses"
    return ""
