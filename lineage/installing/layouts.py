"""The layout of each harness's hooks: its own folder, and the files that hold lineage's entries."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from lineage.errors import InvalidInput
from lineage.harness import validate_harness
from lineage.installing import hook_definitions as definitions
from lineage.installing.commands import HookCommand, HookEntry
from lineage.installing.config_files import FileMarks, read_toml_or_empty
from lineage.installing.json_hooks import JsonHooks
from lineage.installing.plugin_files import PluginCompanion, PluginScript
from lineage.installing.toml_hooks import TomlHooks


@dataclass(frozen=True, slots=True)
class HostMachine:
    """The differences between machines: the folders of the workspace template and of a project with settings."""

    home: Path
    environment: Mapping[str, str]
    template: Path
    project: Path | None = None
    system: Path = Path("/")

    def resolve_folder(self, variable: str, *default: str) -> Path:
        """Return the folder that a variable names, else one below the home."""
        value = self.environment.get(variable)
        return Path(value).expanduser() if value else self.home.joinpath(*default)

    def read_template(self, *path: str) -> str:
        """Return a file of the template's integrations."""
        return self.template.joinpath("integrations", *path).read_text(encoding="utf-8")


class FileFormat(Protocol):
    """The form of hooks in one file: text in, text out. `name` is the file's name in errors."""

    def find_entries(self, text: str, name: str) -> list[HookEntry]:
        """Return lineage's entries in the text."""

    def install(self, text: str, marks: FileMarks, name: str) -> tuple[str, FileMarks]:
        """Return the text with lineage's entries, and the marks of other additions. A missing file is empty text."""

    def uninstall(self, text: str, marks: FileMarks, name: str) -> str:
        """Return the text without lineage's entries."""


@dataclass(frozen=True, slots=True)
class HookFile:
    """A file of a harness's hooks. If `is_wanted` is False, installing removes entries from it."""

    path: Path
    file_format: FileFormat
    is_wanted: bool = True


_FileLister = Callable[[Path, HostMachine, HookCommand], tuple[HookFile, ...]]


@dataclass(frozen=True, slots=True)
class HarnessLayout:
    """One harness: its own folder, the files of its hooks, and its user's next step after installing."""

    folder: Callable[[HostMachine], Path]
    list_files: _FileLister
    next_step: str | None = None

    def files(self, machine: HostMachine, command: HookCommand) -> tuple[HookFile, ...]:
        """Return the files that take the hooks of `command`."""
        return self.list_files(self.folder(machine), machine, command)


def get_layout(harness: str) -> HarnessLayout:
    """Return the layout of a harness. Raise InvalidInput for an unknown harness or one without hooks."""
    if validate_harness(harness) not in LAYOUTS:
        hint = f"`lineage import {harness}` reads its history; with hooks: {', '.join(LAYOUTS)}"
        raise InvalidInput(f"{harness} has no hooks", hint=hint)
    return LAYOUTS[harness]


def resolve_claude_code_folder(machine: HostMachine) -> Path:
    """Return Claude Code's folder."""
    return machine.resolve_folder("CLAUDE_CONFIG_DIR", ".claude")


def resolve_codex_folder(machine: HostMachine) -> Path:
    """Return Codex's folder."""
    return machine.resolve_folder("CODEX_HOME", ".codex")


def resolve_gemini_folder(machine: HostMachine) -> Path:
    """Return Gemini CLI's folder."""
    return machine.resolve_folder("GEMINI_CLI_HOME") / ".gemini"


def _json_file(path: str, build: Callable[[HookCommand], dict[str, Any]], **members: Any) -> _FileLister:
    """Return the lister of one JSON file, with `members` beside the hooks."""
    return lambda folder, _, command: (
        HookFile(folder / path, JsonHooks(command.harness, build(command), root_members=members)),
    )


def _script(path: str) -> _FileLister:
    """Return the lister of one script. The template of the same name lies in the folder of the harness's name."""

    def list_script(folder: Path, machine: HostMachine, command: HookCommand) -> tuple[HookFile, ...]:
        template = machine.read_template(command.harness, Path(path).name)
        return (HookFile(folder / path, PluginScript(command.harness, template, command.argv)),)

    return list_script


def _codex_files(folder: Path, _: HostMachine, command: HookCommand) -> tuple[HookFile, ...]:
    hooks = definitions.build_codex(command)
    in_toml = read_toml_or_empty(folder / "config.toml").get("hooks")
    # `state` alone is the state of hooks in other files.
    has_toml_hooks = isinstance(in_toml, dict) and bool(in_toml.keys() - {"state"})
    # Codex warns if both files hold hooks, so follow users who keep theirs in `config.toml`.
    keeps_toml = not (folder / "hooks.json").exists() and has_toml_hooks
    return (
        HookFile(folder / "hooks.json", JsonHooks("codex", hooks), is_wanted=not keeps_toml),
        HookFile(folder / "config.toml", TomlHooks("codex", hooks), is_wanted=keeps_toml),
    )


def _goose_files(_: Path, machine: HostMachine, command: HookCommand) -> tuple[HookFile, ...]:
    folder = machine.home / ".agents" / "plugins" / "lineage"
    return (
        HookFile(folder / "plugin.json", PluginCompanion(machine.read_template("goose", "plugin.json"))),
        HookFile(folder / "hooks" / "hooks.json", JsonHooks("goose", definitions.build_goose(command))),
    )


def _openclaw_files(folder: Path, machine: HostMachine, command: HookCommand) -> tuple[HookFile, ...]:
    manifests = ("openclaw.plugin.json", "package.json")
    folder = folder / "extensions" / "lineage"
    return (
        *(HookFile(folder / name, PluginCompanion(machine.read_template("openclaw", name))) for name in manifests),
        *_script("index.mjs")(folder, machine, command),
    )


LAYOUTS: Mapping[str, HarnessLayout] = {
    "claude-code": HarnessLayout(
        resolve_claude_code_folder, _json_file("settings.json", definitions.build_claude_code)
    ),
    "codex": HarnessLayout(
        resolve_codex_folder, _codex_files, "start Codex, type /hooks and approve lineage's: before, none is run"
    ),
    "gemini": HarnessLayout(resolve_gemini_folder, _json_file("settings.json", definitions.build_gemini)),
    "qwen": HarnessLayout(lambda host: host.home / ".qwen", _json_file("settings.json", definitions.build_qwen)),
    "copilot": HarnessLayout(
        lambda host: host.resolve_folder("COPILOT_HOME", ".copilot"),
        _json_file("hooks/lineage.json", definitions.build_copilot, version=1),
    ),
    "cursor": HarnessLayout(
        lambda host: host.home / ".cursor", _json_file("hooks.json", definitions.build_cursor, version=1)
    ),
    "opencode": HarnessLayout(
        lambda host: host.resolve_folder("XDG_CONFIG_HOME", ".config") / "opencode",
        _script("plugins/lineage.js"),
        "start OpenCode again",
    ),
    "pi": HarnessLayout(
        lambda host: host.resolve_folder("PI_CODING_AGENT_DIR", ".pi", "agent"),
        _script("extensions/lineage.ts"),
        "type /reload in pi",
    ),
    "openclaw": HarnessLayout(
        lambda host: host.resolve_folder("OPENCLAW_STATE_DIR", ".openclaw"), _openclaw_files, "start the gateway again"
    ),
    "goose": HarnessLayout(lambda host: host.resolve_folder("XDG_CONFIG_HOME", ".config") / "goose", _goose_files),
}
