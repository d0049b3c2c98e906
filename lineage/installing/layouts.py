"""Where each harness keeps its hooks: its own folder, and the files that lineage's entries take."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lineage.errors import InvalidInput
from lineage.harness import validate_harness
from lineage.installing import hook_definitions
from lineage.installing.commands import HookCommand, HookEntry
from lineage.installing.config_files import read_toml_or_empty
from lineage.installing.install_record import FileMarks
from lineage.installing.json_hooks import JsonHooks
from lineage.installing.plugin_files import PluginCompanion, PluginScript
from lineage.installing.toml_hooks import TomlHooks


@dataclass(frozen=True, slots=True)
class HostMachine:
    """What differs between machines. `project`: the folder whose own settings count too; `template`: the folder of the
    workspace template; `system`: the root of the file system."""

    home: Path
    environment: Mapping[str, str]
    template: Path
    project: Path | None = None
    system: Path = Path("/")

    def resolve_folder(self, variable: str, *default: str) -> Path:
        """The folder that a variable names, else one below the home."""
        named = self.environment.get(variable)
        return Path(named).expanduser() if named else self.home.joinpath(*default)

    def read_template(self, *path: str) -> str:
        """A file of the template's integrations."""
        return self.template.joinpath("integrations", *path).read_text(encoding="utf-8")


class FileFormat(Protocol):
    """How one file holds hooks: text in, text out. `name` is what errors call the file."""

    def find_entries(self, text: str, name: str) -> list[HookEntry]:
        """Lineage's entries in it."""
        ...

    def install(self, text: str, marks: FileMarks, name: str) -> tuple[str, FileMarks]:
        """The text with lineage's entries, and what else was made; a file that is not there is the empty text."""
        ...

    def uninstall(self, text: str, marks: FileMarks, name: str) -> str:
        """The text without."""
        ...


@dataclass(frozen=True, slots=True)
class HookFile:
    """A file of a harness's hooks. `wanted` is False where entries are taken out, not put in."""

    path: Path
    file_format: FileFormat
    is_wanted: bool = True


@dataclass(frozen=True, slots=True)
class HarnessLayout:
    """One harness: its own folder, the files that its hooks take, and what its user does after installing."""

    folder: Callable[[HostMachine], Path]
    files: Callable[[HostMachine, HookCommand], tuple[HookFile, ...]]
    next_step: str | None = None


def get_layout(harness: str) -> HarnessLayout:
    """Raises InvalidInput for a harness that nobody knows, or that has no hooks."""
    if validate_harness(harness) not in LAYOUTS:
        raise InvalidInput(
            f"{harness} has no hooks",
            hint=f"`lineage import {harness}` reads its history; with hooks: {', '.join(LAYOUTS)}",
        )
    return LAYOUTS[harness]


def resolve_claude_code_folder(machine: HostMachine) -> Path:
    return machine.resolve_folder("CLAUDE_CONFIG_DIR", ".claude")


def resolve_codex_folder(machine: HostMachine) -> Path:
    return machine.resolve_folder("CODEX_HOME", ".codex")


def resolve_gemini_folder(machine: HostMachine) -> Path:
    return machine.resolve_folder("GEMINI_CLI_HOME") / ".gemini"


def _copilot_folder(machine: HostMachine) -> Path:
    return machine.resolve_folder("COPILOT_HOME", ".copilot")


def _pi_folder(machine: HostMachine) -> Path:
    return machine.resolve_folder("PI_CODING_AGENT_DIR", ".pi", "agent")


def _openclaw_folder(machine: HostMachine) -> Path:
    return machine.resolve_folder("OPENCLAW_STATE_DIR", ".openclaw")


def _config_folder(machine: HostMachine, name: str) -> Path:
    return machine.resolve_folder("XDG_CONFIG_HOME", ".config") / name


def _settings_files(machine: HostMachine, command: HookCommand) -> tuple[HookFile, ...]:
    hooks = {
        "claude-code": hook_definitions.build_claude_code,
        "gemini": hook_definitions.build_gemini,
        "qwen": hook_definitions.build_qwen,
    }[command.harness](command)
    return (HookFile(LAYOUTS[command.harness].folder(machine) / "settings.json", JsonHooks(command.harness, hooks)),)


def _codex_files(machine: HostMachine, command: HookCommand) -> tuple[HookFile, ...]:
    """`hooks.json`, unless the user keeps hooks in `config.toml` and has no such file: both at once are a warning."""
    folder, hooks = resolve_codex_folder(machine), hook_definitions.build_codex(command)
    in_json, in_toml = JsonHooks("codex", hooks), TomlHooks("codex", hooks)
    keeps_toml = not (folder / "hooks.json").exists() and _has_hooks(folder / "config.toml")
    return (
        HookFile(folder / "hooks.json", in_json, is_wanted=not keeps_toml),
        HookFile(folder / "config.toml", in_toml, is_wanted=keeps_toml),
    )


def _has_hooks(path: Path) -> bool:
    """Whether a `config.toml` holds hooks, and not just the state of those elsewhere."""
    hooks = read_toml_or_empty(path).get("hooks")
    return isinstance(hooks, dict) and bool(hooks.keys() - {"state"})


def _cursor_files(machine: HostMachine, command: HookCommand) -> tuple[HookFile, ...]:
    form = JsonHooks("cursor", hook_definitions.build_cursor(command), {"version": 1})
    return (HookFile(machine.home / ".cursor" / "hooks.json", form),)


def _copilot_files(machine: HostMachine, command: HookCommand) -> tuple[HookFile, ...]:
    form = JsonHooks("copilot", hook_definitions.build_copilot(command), {"version": 1})
    return (HookFile(_copilot_folder(machine) / "hooks" / "lineage.json", form),)


def _goose_files(machine: HostMachine, command: HookCommand) -> tuple[HookFile, ...]:
    folder = machine.home / ".agents" / "plugins" / "lineage"
    return (
        HookFile(folder / "plugin.json", PluginCompanion(machine.read_template("goose", "plugin.json"))),
        HookFile(folder / "hooks" / "hooks.json", JsonHooks("goose", hook_definitions.build_goose(command))),
    )


def _opencode_files(machine: HostMachine, command: HookCommand) -> tuple[HookFile, ...]:
    form = PluginScript("opencode", machine.read_template("opencode", "lineage.js"), command.argv)
    return (HookFile(_config_folder(machine, "opencode") / "plugins" / "lineage.js", form),)


def _pi_files(machine: HostMachine, command: HookCommand) -> tuple[HookFile, ...]:
    form = PluginScript("pi", machine.read_template("pi", "lineage.ts"), command.argv)
    return (HookFile(_pi_folder(machine) / "extensions" / "lineage.ts", form),)


def _openclaw_files(machine: HostMachine, command: HookCommand) -> tuple[HookFile, ...]:
    folder = _openclaw_folder(machine) / "extensions" / "lineage"
    manifests = ("openclaw.plugin.json", "package.json")
    script = PluginScript("openclaw", machine.read_template("openclaw", "index.mjs"), command.argv)
    return (
        *(HookFile(folder / name, PluginCompanion(machine.read_template("openclaw", name))) for name in manifests),
        HookFile(folder / "index.mjs", script),
    )


LAYOUTS: Mapping[str, HarnessLayout] = {
    "claude-code": HarnessLayout(resolve_claude_code_folder, _settings_files),
    "codex": HarnessLayout(
        resolve_codex_folder, _codex_files, "start Codex, type /hooks and approve lineage's: before, none is run"
    ),
    "gemini": HarnessLayout(resolve_gemini_folder, _settings_files),
    "qwen": HarnessLayout(lambda machine: machine.home / ".qwen", _settings_files),
    "copilot": HarnessLayout(_copilot_folder, _copilot_files),
    "cursor": HarnessLayout(lambda machine: machine.home / ".cursor", _cursor_files),
    "opencode": HarnessLayout(
        lambda machine: _config_folder(machine, "opencode"), _opencode_files, "start OpenCode again"
    ),
    "pi": HarnessLayout(_pi_folder, _pi_files, "type /reload in pi"),
    "openclaw": HarnessLayout(_openclaw_folder, _openclaw_files, "start the gateway again"),
    "goose": HarnessLayout(lambda machine: _config_folder(machine, "goose"), _goose_files),
}
