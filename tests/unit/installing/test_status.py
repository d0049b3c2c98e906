"""The state of the hooks on a machine, and problems with them."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lineage.harness.registry import iter_formats
from lineage.installing import (
    INSTALLATIONS,
    HookCommand,
    HookStatus,
    HostMachine,
    apply_changes,
    plan_install,
    read_record,
    read_status,
    resolve_harness_folder,
)

RECALL_EVENTS = {event for one in iter_formats() for event in (*one.prompts, *one.actions)}
TEMPLATE = Path(__file__).parents[3] / "workspace_template"


@pytest.fixture
def machine(tmp_path: Path) -> HostMachine:
    for name in ("home", "project", "bin"):
        (tmp_path / name).mkdir()
    program = tmp_path / "bin" / "lineage"
    program.touch(0o755)
    return HostMachine(
        home=tmp_path / "home",
        environment={"PATH": str(program.parent)},
        template=TEMPLATE,
        project=tmp_path / "project",
        system=tmp_path / "system",
    )


def make_command(machine: HostMachine, harness: str, workspace: str = "/home/ada/memory") -> HookCommand:
    return HookCommand((f"{machine.environment['PATH']}/lineage",), harness, workspace, "default")


def install(machine: HostMachine, harness: str, workspace: str = "/home/ada/memory") -> None:
    apply_changes(machine, plan_install(machine, make_command(machine, harness, workspace), read_record(machine)))


def get_status(machine: HostMachine, harness: str) -> HookStatus:
    return read_status(machine, make_command(machine, harness, "/elsewhere"))


def list_kinds(machine: HostMachine, harness: str) -> list[str]:
    return [finding.kind for finding in get_status(machine, harness).findings]


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))


def change_json(path: Path, change: Callable[[Any], Any]) -> None:
    write_json(path, change(json.loads(path.read_text())))


@pytest.mark.parametrize("harness", INSTALLATIONS)
def test_a_machine_without_the_harness(machine: HostMachine, harness: str) -> None:
    assert get_status(machine, harness) == HookStatus(harness, present=False, state="not installed")


@pytest.mark.parametrize("harness", INSTALLATIONS)
def test_what_is_installed_says_for_whom(machine: HostMachine, harness: str) -> None:
    resolve_harness_folder(machine, harness).mkdir(parents=True)
    install(machine, harness)
    found = get_status(machine, harness)
    assert (found.present, found.state) == (True, "installed")
    assert (found.workspace, found.agent) == ("/home/ada/memory", "default")
    assert found.command == make_command(machine, harness).argv
    assert found.files and found.events
    assert [one.kind for one in found.findings] == (["untrusted"] if harness == "codex" else [])


@pytest.mark.parametrize("harness", INSTALLATIONS)
def test_another_program_is_outdated(machine: HostMachine, harness: str) -> None:
    install(machine, harness)
    found = read_status(machine, replace(make_command(machine, harness), program=("/new/lineage",)))
    assert (found.state, found.findings[0].kind) == ("outdated", "outdated")


def test_an_event_that_is_missing_and_a_bare_command_are_outdated(machine: HostMachine) -> None:
    install(machine, "claude-code")
    path = machine.home / ".claude" / "settings.json"
    change_json(path, lambda values: {"hooks": {"Stop": values["hooks"]["Stop"]}})
    assert get_status(machine, "claude-code").state == "outdated"
    write_json(path, {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "lineage hook claude-code"}]}]}})
    found = get_status(machine, "claude-code")
    assert (found.state, found.workspace, found.agent) == ("outdated", None, None)


def test_an_agent_that_is_none_is_outdated(machine: HostMachine) -> None:
    write_json(
        machine.home / ".cursor" / "hooks.json", {"hooks": {"stop": [{"command": "lineage hook cursor --agent a:b"}]}}
    )
    assert get_status(machine, "cursor").state == "outdated"


def test_a_damaged_file_is_named(machine: HostMachine) -> None:
    write_json(machine.home / ".gemini" / "settings.json", "{")
    found = get_status(machine, "gemini")
    assert (found.state, [one.kind for one in found.findings]) == ("unreadable", ["unreadable"])
    assert "settings.json:1: " in found.findings[0].what


@pytest.mark.parametrize("harness", INSTALLATIONS)
def test_a_program_that_is_gone(machine: HostMachine, harness: str) -> None:
    install(machine, harness)
    Path(make_command(machine, harness).program[0]).unlink()
    assert "executable" in list_kinds(machine, harness)


def test_a_program_without_a_path_is_looked_for_on_path(machine: HostMachine) -> None:
    write_json(machine.home / ".cursor" / "hooks.json", {"hooks": {"stop": [{"command": "lineage hook cursor"}]}})
    assert "executable" not in list_kinds(machine, "cursor")
    assert "executable" in list_kinds(replace(machine, environment={"PATH": "/nowhere"}), "cursor")


def test_two_commands_in_one_file(machine: HostMachine) -> None:
    install(machine, "cursor")
    other = {"command": "lineage hook cursor", "timeout": 10}
    change_json(
        machine.home / ".cursor" / "hooks.json",
        lambda values: {**values, "hooks": {**values["hooks"], "stop": [*values["hooks"]["stop"], other]}},
    )
    assert list_kinds(machine, "cursor") == ["outdated", "duplicate"]


def enable_claude_plugin(machine: HostMachine) -> None:
    change_json(
        machine.home / ".claude" / "settings.json", lambda v: {**v, "enabledPlugins": {"lineage@lineage": True}}
    )


def enable_codex_plugin(machine: HostMachine) -> None:
    path = machine.home / ".codex" / "config.toml"
    write_json(path, path.read_text() + '[plugins."lineage@lineage"]\nenabled = true\n')


def install_gemini_extension(machine: HostMachine) -> None:
    write_json(machine.home / ".gemini" / "extensions" / "lineage" / "gemini-extension.json", {"name": "lineage"})


PLUGINS = {"claude-code": enable_claude_plugin, "codex": enable_codex_plugin, "gemini": install_gemini_extension}


@pytest.mark.parametrize("harness", PLUGINS)
def test_a_plugin_beside_the_settings(machine: HostMachine, harness: str) -> None:
    install(machine, harness)
    before = list_kinds(machine, harness)
    PLUGINS[harness](machine)
    assert sorted(list_kinds(machine, harness)) == sorted(["duplicate", *before])
    assert "executable" in list_kinds(replace(machine, environment={"PATH": "/nowhere"}), harness)


@pytest.mark.parametrize("harness", INSTALLATIONS)
@pytest.mark.parametrize("left_out", [(), ("mcp",), ("skill",), ("recall",), ("mcp", "skill", "recall")])
def test_what_is_left_out_is_known_and_nothing_is_amiss(
    machine: HostMachine, harness: str, left_out: tuple[str, ...]
) -> None:
    command = replace(make_command(machine, harness), left_out=frozenset(left_out))
    apply_changes(machine, plan_install(machine, command, read_record(machine)))
    status = get_status(machine, harness)
    assert (status.state, status.left_out) == ("installed", left_out)
    layout = INSTALLATIONS[harness]
    parts = [part for part, is_there in (("mcp", layout.server), ("skill", layout.has_skills)) if is_there]
    assert list(status.parts) == [part for part in parts if part not in left_out]
    if RECALL_EVENTS & {*layout.events}:
        assert ("recall" in left_out) == (not RECALL_EVENTS & {*status.events})


def test_a_part_that_somebody_took_out_is_outdated(machine: HostMachine) -> None:
    install(machine, "claude-code")
    (machine.home / ".claude" / "skills" / "lineage" / "SKILL.md").unlink()
    assert list_kinds(machine, "claude-code") == ["outdated"]
    install(machine, "claude-code")
    assert list_kinds(machine, "claude-code") == []


def test_a_plugin_that_is_off_does_not_count(machine: HostMachine) -> None:
    install(machine, "claude-code")
    path = machine.home / ".claude" / "settings.json"
    change_json(path, lambda values: {**values, "enabledPlugins": {"lineage@x": False, "other@x": True}})
    assert list_kinds(machine, "claude-code") == []


PROJECT_FILES = {
    "claude-code": [".claude/settings.json", ".claude/settings.local.json"],
    "codex": [".codex/hooks.json"],
    "gemini": [".gemini/settings.json"],
    "qwen": [".qwen/settings.json"],
    "cursor": [".cursor/hooks.json"],
    "copilot": [".github/hooks/any.json"],
}


@pytest.mark.parametrize(("harness", "name"), [(key, name) for key, names in PROJECT_FILES.items() for name in names])
def test_the_project_s_own_settings_count_too(machine: HostMachine, harness: str, name: str) -> None:
    install(machine, harness)
    before = list_kinds(machine, harness)
    assert machine.project is not None
    write_json(machine.project / name, {"hooks": {"x": [{"command": f"lineage hook {harness}"}]}})
    assert sorted(list_kinds(machine, harness)) == sorted(["duplicate", *before])


def test_a_project_in_the_home_is_the_same_file(machine: HostMachine) -> None:
    install(machine, "claude-code")
    assert list_kinds(replace(machine, project=machine.home), "claude-code") == []


def test_cursor_and_copilot_may_run_claude_code_s_hooks(machine: HostMachine) -> None:
    for harness in ("cursor", "copilot", "claude-code"):
        install(machine, harness)
    assert list_kinds(machine, "cursor") == ["duplicate"]
    assert list_kinds(machine, "copilot") == []
    assert list_kinds(replace(machine, project=machine.home), "copilot") == ["duplicate"]


OFF = {
    "claude-code": ("home/.claude/settings.json", {"disableAllHooks": True}),
    "claude-code, managed": ("system/etc/claude-code/managed-settings.json", {"disableAllHooks": True}),
    "claude-code, managed only": ("system/etc/claude-code/managed-settings.json", {"allowManagedHooksOnly": True}),
    "codex": ("home/.codex/config.toml", "[features]\nhooks = false\n"),
    "codex, older": ("home/.codex/config.toml", "[features]\ncodex_hooks = false\n"),
    "gemini": ("home/.gemini/settings.json", {"hooksConfig": {"enabled": False}}),
    "gemini, by name": ("home/.gemini/settings.json", {"hooksConfig": {"disabled": ["lineage-turn"]}}),
    "qwen": ("home/.qwen/settings.json", {"disableAllHooks": True}),
}


@pytest.mark.parametrize("case", OFF)
def test_hooks_that_are_switched_off(machine: HostMachine, case: str) -> None:
    harness = case.partition(",")[0]
    name, value = OFF[case]
    assert "disabled" not in list_kinds(machine, harness)
    write_json(machine.home.parent / name, value)
    assert "disabled" in list_kinds(machine, harness)


class TestTrust:
    """Codex runs nothing that its user has not approved, and notes the approval by place."""

    EVENTS = (
        "session_start", "stop", "pre_compact", "post_compact", "session_end", "user_prompt_submit", "pre_tool_use",
        "post_tool_use",
    )  # fmt: skip

    def test_approved_hooks_need_nothing(self, machine: HostMachine) -> None:
        install(machine, "codex")
        self.approve(machine, self.EVENTS)
        assert list_kinds(machine, "codex") == []

    def test_those_that_are_not_are_named(self, machine: HostMachine) -> None:
        install(machine, "codex")
        self.approve(machine, self.EVENTS[:2])
        (finding,) = get_status(machine, "codex").findings
        assert (finding.kind, finding.what.rpartition(": ")[2]) == (
            "untrusted",
            "PreCompact, PostCompact, SessionEnd, UserPromptSubmit, PreToolUse, PostToolUse",
        )
        assert "/hooks" in finding.mend

    def test_an_approval_that_was_taken_back_is_none(self, machine: HostMachine) -> None:
        install(machine, "codex")
        self.approve(machine, self.EVENTS, more="enabled = false\n")
        assert list_kinds(machine, "codex") == ["untrusted"]

    def test_the_place_counts(self, machine: HostMachine) -> None:
        path = machine.home / ".codex" / "hooks.json"
        write_json(path, {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "echo"}]}]}})
        install(machine, "codex")
        self.approve(machine, self.EVENTS)
        (finding,) = get_status(machine, "codex").findings
        assert finding.what.endswith(": Stop")

    def approve(self, machine: HostMachine, events: tuple[str, ...], more: str = "") -> None:
        path = machine.home / ".codex" / "hooks.json"
        tables = [f'[hooks.state."{path}:{event}:0:0"]\ntrusted_hash = "sha256:1"\n{more}' for event in events]
        config = path.with_name("config.toml")
        write_json(config, config.read_text() + "".join(tables))
