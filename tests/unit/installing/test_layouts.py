"""lineage's MCP server and its skill beside the hooks: wired by the same command, and gone to the byte.

Fails where a server of somebody else's is changed, where a part that is left out stays, and where the marks of hooks
and server in one file get in each other's way.
"""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.errors import InvalidInput
from lineage.installing import INSTALLATIONS, HostMachine
from lineage.installing.commands import HookCommand
from lineage.installing.config_files import FileMarks
from lineage.installing.installation import apply_changes, plan_install, plan_uninstall, read_record
from lineage.installing.json_hooks import JsonServer
from lineage.installing.toml_hooks import TomlServer
from tests.unit.installing.generated import scattered, settings

TEMPLATE = Path(__file__).parents[3] / "workspace_template"
PROGRAM = "/opt/lineage"
WORDS = ["mcp", "--workspace", "/w", "--agent", "default"]
SERVER = {"command": PROGRAM, "args": WORDS}
THEIRS = {"command": "lineage", "args": ["--workspace", "/theirs", "mcp"]}
PLACES = {
    "claude-code": (".claude.json", "mcpServers", {"type": "stdio", **SERVER}),
    "codex": (".codex/config.toml", "mcp_servers", SERVER),
    "gemini": (".gemini/settings.json", "mcpServers", SERVER),
    "qwen": (".qwen/settings.json", "mcpServers", SERVER),
    "copilot": (".copilot/mcp-config.json", "mcpServers", {"type": "local", **SERVER, "tools": ["*"]}),
    "cursor": (".cursor/mcp.json", "mcpServers", SERVER),
    "opencode": (
        ".config/opencode/opencode.json",
        "mcp",
        {"type": "local", "command": [PROGRAM, *WORDS], "enabled": True},
    ),
    "openclaw": (".openclaw/openclaw.json", "mcp.servers", SERVER),
}


@pytest.fixture
def machine(tmp_path: Path) -> HostMachine:
    return HostMachine(home=tmp_path, environment={}, template=TEMPLATE)


def install(machine: HostMachine, harness: str, *left_out: str, workspace: str = "/w") -> None:
    command = HookCommand((PROGRAM,), harness, workspace, "default", frozenset(left_out))
    apply_changes(machine, plan_install(machine, command, read_record(machine)))


def uninstall(machine: HostMachine, harness: str) -> None:
    command = HookCommand((PROGRAM,), harness, "/elsewhere", "default")
    apply_changes(machine, plan_uninstall(machine, command, read_record(machine)))


def read_files(home: Path) -> dict[str, bytes]:
    return {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def read_servers(path: Path, container: str) -> Any:
    text = path.read_text() if path.exists() else "{}"
    values = tomllib.loads(text.replace("{}", "")) if path.suffix == ".toml" else json.loads(text)
    for key in container.split("."):
        values = values.get(key, {})
    return values


def write(path: Path, container: str, servers: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".toml":
        tables = "".join(
            f"[mcp_servers.{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in server.items())
            for name, server in servers.items()
        )
        path.write_text(f'model = "x" # mine\n{tables}')
        return
    value: Any = servers
    for key in reversed(container.split(".")):
        value = {key: value}
    path.write_text(json.dumps({"theme": "dark", **value}))


def test_every_place_is_known() -> None:
    assert {*PLACES} == {name for name, layout in INSTALLATIONS.items() if layout.server}


@pytest.mark.parametrize("harness", PLACES)
def test_the_server_comes_and_goes_with_the_hooks(machine: HostMachine, harness: str) -> None:
    name, container, server = PLACES[harness]
    others = {"notes": {"command": "notes", "args": ["mcp"]}}
    write(machine.home / name, container, others)
    before = read_files(machine.home)
    install(machine, harness)
    assert read_servers(machine.home / name, container) == {**others, "lineage": server}
    install(machine, harness, workspace="/other")
    assert "/other" in str(read_servers(machine.home / name, container)["lineage"])
    uninstall(machine, harness)
    assert read_files(machine.home) == before


@pytest.mark.parametrize("harness", PLACES)
@pytest.mark.parametrize("key", ["lineage", "memory"])
def test_a_server_that_somebody_registered_stays_as_it_is(machine: HostMachine, harness: str, key: str) -> None:
    name, container, _ = PLACES[harness]
    write(machine.home / name, container, {key: THEIRS})
    install(machine, harness)
    assert read_servers(machine.home / name, container) == {key: THEIRS}
    uninstall(machine, harness)
    assert read_servers(machine.home / name, container) == {key: THEIRS}


@pytest.mark.parametrize("harness", INSTALLATIONS)
@pytest.mark.parametrize("part", ["mcp", "skill", "recall"])
def test_what_is_left_out_goes_and_comes_back(machine: HostMachine, harness: str, part: str) -> None:
    install(machine, harness, part)
    without = read_files(machine.home)
    if part == "mcp":
        assert not any(b'"--workspace", "/w", "--agent"' in data and b'"mcp"' in data for data in without.values())
    if part == "skill":
        assert not any(name.endswith("SKILL.md") for name in without)
    install(machine, harness)
    whole = read_files(machine.home)
    assert whole != without
    install(machine, harness, part)
    assert {name: data for name, data in read_files(machine.home).items() if "state" not in name} == {
        name: data for name, data in without.items() if "state" not in name
    }
    uninstall(machine, harness)
    assert read_files(machine.home) == {}


@pytest.mark.parametrize("is_toml", [False, True])
def test_the_harness_may_write_its_file_anew_in_between(machine: HostMachine, is_toml: bool) -> None:
    harness = "codex" if is_toml else "claude-code"
    name, container, _ = PLACES[harness]
    path = machine.home / name
    install(machine, harness)
    if is_toml:
        path.write_text('model="y"\n' + path.read_text().replace(" = ", "="))
    else:
        path.write_text(json.dumps({"numStartups": 5, **json.loads(path.read_text())}, indent=1))
    install(machine, harness, workspace="/other")
    assert "/other" in str(read_servers(path, container)["lineage"])
    if not is_toml:  # it counts, in a file of its own state, which gets no backup for that
        path.write_text(path.read_text().replace('"numStartups": 5', '"numStartups": 6'))
    uninstall(machine, harness)
    assert "lineage" not in path.read_text()
    assert ("model" if is_toml else "numStartups") in path.read_text()
    assert [one for one in path.parent.iterdir() if "backup" in one.name] == []


def test_a_skill_of_somebody_else_s_stays_and_an_edited_one_leaves_a_backup(machine: HostMachine) -> None:
    path = machine.home / ".claude" / "skills" / "lineage" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\nname: family-trees\n---\n")
    before = read_files(machine.home)
    with pytest.raises(InvalidInput, match="--no-skill"):
        install(machine, "claude-code")
    assert read_files(machine.home) == before
    path.unlink()
    install(machine, "claude-code")
    path.write_text(path.read_text() + "Mine.\n")
    install(machine, "claude-code")
    uninstall(machine, "claude-code")
    (left,) = read_files(machine.home).values()
    assert b"Mine." in left


@given(st.data(), st.booleans(), settings(), st.sampled_from(["mcpServers", "mcp.servers", "permissions"]))
def test_any_json_file_comes_back_to_the_byte(data: Any, comments: bool, value: dict[str, Any], container: str) -> None:
    text = data.draw(scattered(value, comments=comments))
    form = JsonServer(container, SERVER)
    try:
        installed, marks = form.install(text, FileMarks(), "x")
    except InvalidInput:
        assert not isinstance(value.get("permissions", {}), dict)
        return
    assert form.install(installed, marks, "x") == (installed, marks)
    assert len(form.find_entries(installed, "x")) == 1
    assert form.uninstall(installed, marks, "x") == text


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "text", ["", "a = 1", "a = 1\n", "# mine\n\n", "[mcp_servers.x]\ncommand = 'y'\n\n# end", "\ufeff[t]\nb = 2\n"]
)
def test_any_toml_file_comes_back_to_the_byte(text: str, newline: str) -> None:
    text, form = text.replace("\n", newline), TomlServer(SERVER)
    installed, marks = form.install(text, FileMarks(), "x")
    assert tomllib.loads(installed.removeprefix("\ufeff"))["mcp_servers"]["lineage"] == SERVER
    assert form.install(installed, marks, "x") == (installed, marks)
    assert form.uninstall(installed, marks, "x") == text
    assert not form.find_entries(form.uninstall(installed, FileMarks(), "x"), "x")


MOVED = {**SERVER, "command": "/opt/lineage"}


@pytest.mark.parametrize(
    "more",
    [
        "startup_timeout_sec = 60\n",
        "enabled = false # not today\n\n[features]\na = 1\n",
        'type = "stdio"\n',
        # what Codex writes when its user lets a tool run without asking
        '\n[mcp_servers.lineage.tools.search]\napproval_mode = "approve"\n',
        '\n[x]\ny = 1\n\n[mcp_servers.lineage.tools.search]\napproval_mode = "approve"\n\n[z]\ny = 2\n',
    ],
)
@pytest.mark.parametrize("has_record", [True, False])
def test_what_is_set_of_the_server_in_toml_stays_while_it_does(more: str, has_record: bool) -> None:
    before = "[features]\nhooks = true\n"
    before = "[memory]\nhooks = true\n" if "[features]" in more else before
    text, marks = TomlServer(SERVER).install(before, FileMarks(), "x")
    text, marks = text + more, marks if has_record else FileMarks()
    theirs = tomllib.loads(before + "[mcp_servers.lineage]\n" + more)
    assert TomlServer(SERVER).install(text, marks, "x") == (text, marks)
    moved, moved_marks = TomlServer(MOVED).install(text, marks, "x")
    found = tomllib.loads(moved)
    assert found["mcp_servers"].pop("lineage") == {**MOVED, **theirs["mcp_servers"].pop("lineage")}
    assert found == theirs
    assert "not today" in moved or "not today" not in more
    for form, installed, own in ((TomlServer(SERVER), text, marks), (TomlServer(MOVED), moved, moved_marks)):
        assert {**tomllib.loads(form.uninstall(installed, own, "x")), "mcp_servers": {}} == theirs


def test_half_a_server_that_an_older_version_left_is_made_whole_or_goes() -> None:
    text = '[x]\ny = 1\n\n[mcp_servers.lineage.tools.search]\napproval_mode = "approve"\n'
    installed, marks = TomlServer(SERVER).install(text, FileMarks(), "x")
    assert tomllib.loads(installed) == {"x": {"y": 1}, "mcp_servers": {"lineage": SERVER}}
    for one, own in ((installed, marks), (text, FileMarks())):
        assert tomllib.loads(TomlServer(SERVER).uninstall(one, own, "x")) == {"x": {"y": 1}}


def test_what_is_set_of_the_server_in_json_stays_while_it_does() -> None:
    text, marks = JsonServer("mcpServers", SERVER).install('{"a": 1}', FileMarks(), "x")
    data = json.loads(text)
    data["mcpServers"]["lineage"] |= {"trust": True, "timeout": 5}
    text = json.dumps(data)
    assert JsonServer("mcpServers", SERVER).install(text, marks, "x") == (text, marks)
    moved, _ = JsonServer("mcpServers", MOVED).install(text, marks, "x")
    assert json.loads(moved)["mcpServers"]["lineage"] == {**MOVED, "trust": True, "timeout": 5}
    assert json.loads(JsonServer("mcpServers", SERVER).uninstall(moved, marks, "x")) == {"a": 1}


@pytest.mark.parametrize("text", ["mcp_servers = 5\n", "mcp_servers = {x = {command = 'y'}}\n"])
def test_a_toml_file_without_room_for_a_table_says_so(text: str) -> None:
    with pytest.raises(InvalidInput, match="x:1: MCP servers"):
        TomlServer(SERVER).install(text, FileMarks(), "x")
