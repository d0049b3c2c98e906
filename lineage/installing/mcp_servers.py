"""lineage's MCP server in the harnesses' settings: whether it is registered, and each harness's command for it."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lineage.errors import LineageError
from lineage.installing import config_files
from lineage.installing.layouts import LAYOUTS, HostMachine, resolve_codex_folder, resolve_gemini_folder


@dataclass(frozen=True, slots=True)
class McpClient:
    """A harness with a command that registers a server: where it keeps them, and the command before `lineage`'s words.

    `words` turns the words of lineage's own command into those behind `command`.
    """

    files: Callable[[HostMachine], tuple[Path, ...]]
    command: str
    words: Callable[[list[str]], list[str]] = lambda words: ["--", *words]


def _list_claude_code_files(machine: HostMachine) -> tuple[Path, ...]:
    user = machine.resolve_folder("CLAUDE_CONFIG_DIR") / ".claude.json"
    return (user, machine.project / ".mcp.json") if machine.project else (user,)


def _behind_program(words: list[str]) -> list[str]:
    return [words[0], "--", *words[1:]]


def _in_flags(words: list[str]) -> list[str]:
    return ["--command", words[0], *(f"--arg={word}" for word in words[1:])]


MCP_CLIENTS: Mapping[str, McpClient] = {
    "claude-code": McpClient(_list_claude_code_files, "claude mcp add --scope user lineage"),
    "codex": McpClient(lambda host: (resolve_codex_folder(host) / "config.toml",), "codex mcp add lineage"),
    "gemini": McpClient(
        lambda host: (resolve_gemini_folder(host) / "settings.json",),
        "gemini mcp add --scope user lineage",
        _behind_program,
    ),
    "qwen": McpClient(
        lambda host: (host.home / ".qwen" / "settings.json",), "qwen mcp add --scope user lineage", _behind_program
    ),
    "copilot": McpClient(
        lambda host: (LAYOUTS["copilot"].folder(host) / "mcp-config.json",), "copilot mcp add lineage"
    ),
    "opencode": McpClient(
        lambda host: tuple(LAYOUTS["opencode"].folder(host) / f"opencode.{end}" for end in ("json", "jsonc")),
        "opencode mcp add lineage",
    ),
    "openclaw": McpClient(
        lambda host: (LAYOUTS["openclaw"].folder(host) / "openclaw.json",), "openclaw mcp add lineage", _in_flags
    ),
}
"""Cursor and Goose have no such command, pi has no MCP client."""


def suggest_registration(machine: HostMachine, harness: str, root: str) -> str | None:
    """Return the command that registers lineage's server for a workspace, None if one is registered already."""
    client = MCP_CLIENTS.get(harness)
    if client is None or any(map(_holds_server, map(_read_settings, client.files(machine)))):
        return None
    words = client.words(["lineage", "--workspace", root, "mcp"])
    return f"{client.command} {shlex.join(words)}"


def _read_settings(path: Path) -> dict[str, Any]:
    try:
        if b"lineage" not in (config_files.read(path) or b""):  # Claude Code's file may have grown to megabytes
            return {}
    except LineageError:
        return {}
    is_toml = path.suffix == ".toml"
    return config_files.read_toml_or_empty(path) if is_toml else config_files.read_json_or_empty(path)


def _holds_server(value: Any) -> bool:
    """Return whether a value holds a command line of lineage's server, at any depth."""
    if isinstance(value, list):
        return any(map(_holds_server, value))
    if not isinstance(value, Mapping):
        return False
    command, arguments = value.get("command"), value.get("args")
    words = [
        *(command if isinstance(command, list) else [command]),
        *(arguments if isinstance(arguments, list) else []),
    ]
    texts = [word for word in words if isinstance(word, str)]
    is_lineage = any(Path(text).name.removesuffix(".exe") == "lineage" for text in texts)
    return (is_lineage and "mcp" in texts) or any(map(_holds_server, value.values()))
