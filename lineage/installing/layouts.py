"""The layout of each harness's hooks: its own folder, and the files that hold lineage's entries."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from lineage.core.base.hook_protocol import RECALL_KINDS
from lineage.errors import InvalidInput
from lineage.harness import validate_harness
from lineage.installing import hook_definitions as definitions
from lineage.installing.commands import MCP, RECALL, SKILL, HookCommand, HookEntry
from lineage.installing.config_files import FileMarks, read_toml_or_empty
from lineage.installing.json_hooks import JsonHooks, JsonServer
from lineage.installing.plugin_files import PluginCompanion, PluginScript, SkillFile
from lineage.installing.toml_hooks import TomlHooks, TomlServer

_SKILL_TEMPLATE = ("claude-code", "skills", "lineage", "SKILL.md")


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
    """A file of a harness's hooks. If `is_wanted` is False, installing removes entries from it.

    A harness's own state, written at each start, gets no backup: one would never be held by the file again.
    """

    path: Path
    file_format: FileFormat
    is_wanted: bool = True
    has_backup: bool = True


_FileLister = Callable[[Path, HostMachine, HookCommand], tuple[HookFile, ...]]


@dataclass(frozen=True, slots=True)
class HooksAndServer:
    """The form of a file that holds the hooks and the MCP server, each if it is wanted."""

    hooks: FileFormat
    server: JsonServer | TomlServer
    has_hooks: bool
    has_server: bool

    def find_entries(self, text: str, name: str) -> list[HookEntry]:
        """Return the entries of both."""
        return [*self.hooks.find_entries(text, name), *self.server.find_entries(text, name)]

    def install(self, text: str, marks: FileMarks, name: str) -> tuple[str, FileMarks]:
        """Return the text with the wanted parts, and without the rest."""
        if not self.has_server:
            text, marks = self.server.uninstall(text, marks, name), self.server.drop_marks(marks)
        if self.has_hooks:
            text, marks = self.hooks.install(text, marks, name)
        else:
            text = self.hooks.uninstall(text, marks, name)
        return self.server.install(text, marks, name) if self.has_server else (text, marks)

    def uninstall(self, text: str, marks: FileMarks, name: str) -> str:
        """Return the text without lineage's entries, the last one first."""
        return self.hooks.uninstall(self.server.uninstall(text, marks, name), marks, name)


@dataclass(frozen=True, slots=True)
class ServerFile:
    """The file of a harness's MCP servers, and the form of lineage's in it. For `has_backup` see `HookFile`."""

    path: Path
    file_format: JsonServer | TomlServer
    has_backup: bool = True


@dataclass(frozen=True, slots=True)
class HarnessLayout:
    """One harness: its own folder, the files of its hooks, and its user's next step after installing.

    `server` is the file and the form of its MCP server, `has_skills` whether skills lie in its folder, if it has any.
    """

    folder: Callable[[HostMachine], Path]
    list_files: _FileLister
    next_step: str | None = None
    server: Callable[[Path, HostMachine, HookCommand], ServerFile] | None = None
    has_skills: bool = False

    def files(self, machine: HostMachine, command: HookCommand) -> tuple[HookFile, ...]:
        """Return the files of the hooks of `command`, of the MCP server and the skill, each once."""
        folder = self.folder(machine)
        files = {file.path: file for file in self.list_files(folder, machine, command)}
        if self.server:
            place, is_wanted = self.server(folder, machine, command), MCP not in command.left_out
            path, server, hooks = place.path, place.file_format, files.get(place.path)
            form = HooksAndServer(hooks.file_format, server, hooks.is_wanted, is_wanted) if hooks else server
            files[path] = HookFile(path, form, is_wanted or bool(hooks and hooks.is_wanted), place.has_backup)
        if self.has_skills:
            path = folder / "skills" / "lineage" / "SKILL.md"
            files[path] = HookFile(
                path, SkillFile(machine.read_template(*_SKILL_TEMPLATE)), SKILL not in command.left_out
            )
        return tuple(files.values())


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
        HookFile(folder / path, JsonHooks(command.harness, _choose(build, command), root_members=members)),
    )


def _choose(build: Callable[[HookCommand], dict[str, Any]], command: HookCommand) -> dict[str, Any]:
    """Return the hooks of `command`, without those that it leaves out."""
    is_left_out = RECALL_KINDS if RECALL in command.left_out else ()
    return {event: hook for event, hook in build(command).items() if event not in is_left_out}


def _script(path: str) -> _FileLister:
    """Return the lister of one script. The template of the same name lies in the folder of the harness's name."""

    def list_script(folder: Path, machine: HostMachine, command: HookCommand) -> tuple[HookFile, ...]:
        template = machine.read_template(command.harness, Path(path).name)
        return (HookFile(folder / path, PluginScript(command.harness, template, command.argv)),)

    return list_script


def _codex_files(folder: Path, _: HostMachine, command: HookCommand) -> tuple[HookFile, ...]:
    hooks = _choose(definitions.build_codex, command)
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
        HookFile(folder / "hooks" / "hooks.json", JsonHooks("goose", _choose(definitions.build_goose, command))),
    )


def _openclaw_files(folder: Path, machine: HostMachine, command: HookCommand) -> tuple[HookFile, ...]:
    manifests = ("openclaw.plugin.json", "package.json")
    folder = folder / "extensions" / "lineage"
    return (
        *(HookFile(folder / name, PluginCompanion(machine.read_template("openclaw", name))) for name in manifests),
        *_script("index.mjs")(folder, machine, command),
    )


def _json_server(
    file: str, container: str, build: Callable[[tuple[str, ...]], dict[str, Any]]
) -> Callable[[Path, HostMachine, HookCommand], ServerFile]:
    """Return the place of the MCP server in a JSON file of the harness's folder, or in its `.jsonc` if there is one."""

    def find_server(folder: Path, _: HostMachine, command: HookCommand) -> ServerFile:
        commented = (folder / file).with_suffix(".jsonc")
        path = commented if commented.exists() else folder / file
        return ServerFile(path, JsonServer(container, build(command.server)))

    return find_server


def _build_server(words: tuple[str, ...], **more: Any) -> dict[str, Any]:
    return {**more, "command": words[0], "args": list(words[1:])}


def _find_claude_code_server(_: Path, machine: HostMachine, command: HookCommand) -> ServerFile:
    path = machine.resolve_folder("CLAUDE_CONFIG_DIR") / ".claude.json"
    return ServerFile(path, JsonServer("mcpServers", _build_server(command.server, type="stdio")), has_backup=False)


LAYOUTS: Mapping[str, HarnessLayout] = {
    "claude-code": HarnessLayout(
        resolve_claude_code_folder,
        _json_file("settings.json", definitions.build_claude_code),
        server=_find_claude_code_server,
        has_skills=True,
    ),
    "codex": HarnessLayout(
        resolve_codex_folder,
        _codex_files,
        "start Codex, type /hooks and approve lineage's: before, none is run",
        server=lambda folder, _, command: ServerFile(folder / "config.toml", TomlServer(_build_server(command.server))),
        has_skills=True,
    ),
    "gemini": HarnessLayout(
        resolve_gemini_folder,
        _json_file("settings.json", definitions.build_gemini),
        server=_json_server("settings.json", "mcpServers", _build_server),
        has_skills=True,
    ),
    "qwen": HarnessLayout(
        lambda host: host.home / ".qwen",
        _json_file("settings.json", definitions.build_qwen),
        server=_json_server("settings.json", "mcpServers", _build_server),
        has_skills=True,
    ),
    "copilot": HarnessLayout(
        lambda host: host.resolve_folder("COPILOT_HOME", ".copilot"),
        _json_file("hooks/lineage.json", definitions.build_copilot, version=1),
        server=_json_server(
            "mcp-config.json", "mcpServers", lambda words: _build_server(words, type="local") | {"tools": ["*"]}
        ),
        has_skills=True,
    ),
    "cursor": HarnessLayout(
        lambda host: host.home / ".cursor",
        _json_file("hooks.json", definitions.build_cursor, version=1),
        server=_json_server("mcp.json", "mcpServers", _build_server),
        has_skills=True,
    ),
    "opencode": HarnessLayout(
        lambda host: host.resolve_folder("XDG_CONFIG_HOME", ".config") / "opencode",
        _script("plugins/lineage.js"),
        "start OpenCode again",
        server=_json_server(
            "opencode.json", "mcp", lambda words: {"type": "local", "command": list(words), "enabled": True}
        ),
        has_skills=True,
    ),
    "pi": HarnessLayout(
        lambda host: host.resolve_folder("PI_CODING_AGENT_DIR", ".pi", "agent"),
        _script("extensions/lineage.ts"),
        "type /reload in pi",
        has_skills=True,
    ),
    "openclaw": HarnessLayout(
        lambda host: host.resolve_folder("OPENCLAW_STATE_DIR", ".openclaw"),
        _openclaw_files,
        "start the gateway again",
        server=_json_server("openclaw.json", "mcp.servers", _build_server),
        has_skills=True,
    ),
    "goose": HarnessLayout(lambda host: host.resolve_folder("XDG_CONFIG_HOME", ".config") / "goose", _goose_files),
}
"""Goose keeps its servers in YAML, pi has no MCP client."""
