"""lineage's server in the settings of each harness, as that harness's own command writes it.

Fails without `_holds_server`, or where a command isn't the one that the program takes (each was run as it stands here).
"""

import json
from pathlib import Path

import pytest

from lineage.installing.layouts import HostMachine
from lineage.installing.mcp_servers import MCP_CLIENTS, suggest_registration

ROOT = "/home/ada/my agents"
ARGS = ["--workspace", ROOT, "mcp"]
TABLE = {"lineage": {"command": "lineage", "args": ARGS}}
IN_TOML = f'[mcp_servers.lineage]\ncommand = "lineage"\nargs = {json.dumps(ARGS)}\n'
IN_JSONC = '{ // mine\n "mcp": {"lineage": {"type": "local", "command": ["lineage", "--workspace", "/w", "mcp"]}}}'
WORDS = "lineage --workspace '/home/ada/my agents' mcp"
WRITTEN = {
    "claude-code": (".claude.json", {"mcpServers": TABLE}, f"claude mcp add --scope user lineage -- {WORDS}"),
    "codex": (".codex/config.toml", IN_TOML, f"codex mcp add lineage -- {WORDS}"),
    "gemini": (
        ".gemini/settings.json",
        {"mcpServers": TABLE},
        "gemini mcp add --scope user lineage lineage -- --workspace '/home/ada/my agents' mcp",
    ),
    "qwen": (
        ".qwen/settings.json",
        {"mcpServers": TABLE},
        "qwen mcp add --scope user lineage lineage -- --workspace '/home/ada/my agents' mcp",
    ),
    "copilot": (".copilot/mcp-config.json", {"mcpServers": TABLE}, f"copilot mcp add lineage -- {WORDS}"),
    "opencode": (".config/opencode/opencode.jsonc", IN_JSONC, f"opencode mcp add lineage -- {WORDS}"),
    "openclaw": (
        ".openclaw/openclaw.json",
        {"mcp": {"servers": TABLE}},
        "openclaw mcp add lineage --command lineage --arg=--workspace '--arg=/home/ada/my agents' --arg=mcp",
    ),
}


@pytest.fixture
def machine(tmp_path: Path) -> HostMachine:
    return HostMachine(home=tmp_path, environment={}, template=tmp_path, project=tmp_path / "project")


def write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


@pytest.mark.parametrize("harness", MCP_CLIENTS)
def test_each_harness_s_own_command_is_named_until_it_was_run(machine: HostMachine, harness: str) -> None:
    path, content, command = WRITTEN[harness]
    assert suggest_registration(machine, harness, ROOT) == command
    others = {"tools": {"command": "lineage", "args": ["status"]}, "mcp": {"command": "mcp"}}
    write(machine.home / path, "# lineage" if path.endswith("toml") else {"mcpServers": others, "about": "lineage mcp"})
    assert suggest_registration(machine, harness, ROOT) == command
    write(machine.home / path, content)
    assert suggest_registration(machine, harness, ROOT) is None


def test_a_project_s_own_server_counts_and_a_damaged_file_doesn_t(machine: HostMachine) -> None:
    write(machine.home / ".claude.json", '{"lineage": ')
    assert suggest_registration(machine, "claude-code", ROOT)
    write(machine.home / "project/.mcp.json", {"mcpServers": {"memory": {"command": "/opt/lineage", "args": ["mcp"]}}})
    assert suggest_registration(machine, "claude-code", ROOT) is None


def test_a_harness_without_such_a_command_is_asked_for_none(machine: HostMachine) -> None:
    assert suggest_registration(machine, "pi", ROOT) is None
