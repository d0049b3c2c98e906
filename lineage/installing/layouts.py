"""The layout of each harness's hooks: its own folder, and the files that hold lineage's entries."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lineage.harness.places import is_relative, resolve_place
from lineage.harness.spec import HOOKS, SCRIPT, TOML_HOOKS, Installation
from lineage.installing.commands import MCP, SKILL, HookCommand, HookEntry
from lineage.installing.config_files import FileMarks, read_toml_or_empty
from lineage.installing.hook_definitions import build_hooks, build_server, get_installation
from lineage.installing.json_hooks import JsonHooks, JsonServer
from lineage.installing.packages import read_skill
from lineage.installing.plugin_files import PluginCompanion, PluginScript, SkillFile
from lineage.installing.toml_hooks import TomlHooks, TomlServer


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

    def resolve(self, place: str, folder: Path = Path()) -> Path:
        """Return the path of a place in the registry; a relative one lies below `folder`, `/` is the system's root."""
        if is_relative(place):
            return folder / place
        path = resolve_place(place, self.home, self.environment) or self.home
        return self.system / place[1:] if place.startswith("/") else path

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


def resolve_harness_folder(machine: HostMachine, harness: str) -> Path:
    """Return a harness's own folder. Raise InvalidInput for an unknown harness or one without hooks."""
    return machine.resolve(get_installation(harness).folder)


def list_hook_files(machine: HostMachine, command: HookCommand) -> tuple[HookFile, ...]:
    """Return the files of the hooks of `command`, of the MCP server and the skill, each once.

    Raise InvalidInput for an unknown harness or one without hooks.
    """
    installation, folder = get_installation(command.harness), resolve_harness_folder(machine, command.harness)
    files = {file.path: file for file in _list_files(machine, command, installation, folder)}
    if installation.server:
        path = machine.resolve(installation.server.file, folder)
        commented = path.with_suffix(".jsonc")
        path = commented if commented.exists() else path
        value = build_server(installation.server.value, command)
        server = TomlServer(value) if path.suffix == ".toml" else JsonServer(installation.server.container, value)
        is_wanted, hooks = MCP not in command.left_out, files.get(path)
        form = HooksAndServer(hooks.file_format, server, hooks.is_wanted, is_wanted) if hooks else server
        is_file_wanted = is_wanted or bool(hooks and hooks.is_wanted)
        files[path] = HookFile(path, form, is_file_wanted, installation.server.has_backup)
    if installation.has_skills:
        path = folder / "skills" / "lineage" / "SKILL.md"
        files[path] = HookFile(path, SkillFile(read_skill()), SKILL not in command.left_out)
    return tuple(files.values())


def _list_files(
    machine: HostMachine, command: HookCommand, installation: Installation, folder: Path
) -> Iterator[HookFile]:
    paths = {kind: machine.resolve(name, folder) for name, kind in installation.files.items()}
    keeps_toml = TOML_HOOKS in paths and _keeps_hooks_in_toml(paths[TOML_HOOKS], paths[HOOKS])
    hooks = build_hooks(command)
    for name, kind in installation.files.items():
        path = machine.resolve(name, folder)
        if kind == HOOKS:
            form = JsonHooks(command.harness, hooks, root_members=installation.members)
            yield HookFile(path, form, is_wanted=not keeps_toml)
        elif kind == TOML_HOOKS:
            yield HookFile(path, TomlHooks(command.harness, hooks), is_wanted=keeps_toml)
        else:
            template = machine.read_template(command.harness, path.name)
            is_script = kind == SCRIPT
            yield HookFile(
                path, PluginScript(command.harness, template, command.argv) if is_script else PluginCompanion(template)
            )


def _keeps_hooks_in_toml(path: Path, json_path: Path) -> bool:
    """Return whether a user keeps hooks in the TOML file: Codex warns if both files hold some."""
    in_toml = read_toml_or_empty(path).get("hooks")
    # `state` alone is the state of hooks in other files.
    return not json_path.exists() and isinstance(in_toml, dict) and bool(in_toml.keys() - {"state"})
