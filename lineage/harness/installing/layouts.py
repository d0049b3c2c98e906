"""Where each harness keeps its hooks: its own folder, and the files that lineage's entries take."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lineage.errors import InvalidInput
from lineage.harness import checked_name
from lineage.harness.installing import events
from lineage.harness.installing.commands import Command, Entry
from lineage.harness.installing.files import lenient_toml
from lineage.harness.installing.json_hooks import JsonHooks
from lineage.harness.installing.marks import Marks
from lineage.harness.installing.toml_hooks import TomlHooks
from lineage.harness.installing.whole_files import Companion, Script


@dataclass(frozen=True, slots=True)
class Machine:
    """What differs between machines. `project`: the folder whose own settings count too; `template`: the folder of the
    workspace template; `system`: the root of the file system."""

    home: Path
    environment: Mapping[str, str]
    template: Path
    project: Path | None = None
    system: Path = Path("/")

    def folder(self, variable: str, *default: str) -> Path:
        """The folder that a variable names, else one below the home."""
        named = self.environment.get(variable)
        return Path(named).expanduser() if named else self.home.joinpath(*default)

    def text(self, *path: str) -> str:
        """A file of the template's integrations."""
        return self.template.joinpath("integrations", *path).read_text(encoding="utf-8")


class Form(Protocol):
    """How one file holds hooks: text in, text out. `name` is what errors call the file."""

    def ours(self, text: str, name: str) -> list[Entry]:
        """Lineage's entries in it."""
        ...

    def install(self, text: str, marks: Marks, name: str) -> tuple[str, Marks]:
        """The text with lineage's entries, and what else was made; a file that is not there is the empty text."""
        ...

    def uninstall(self, text: str, marks: Marks, name: str) -> str:
        """The text without."""
        ...


@dataclass(frozen=True, slots=True)
class Part:
    """A file of a harness's hooks. `wanted` is False where entries are taken out, not put in."""

    path: Path
    form: Form
    wanted: bool = True


@dataclass(frozen=True, slots=True)
class Layout:
    """One harness: its own folder, the files that its hooks take, and what its user does after installing."""

    folder: Callable[[Machine], Path]
    parts: Callable[[Machine, Command], tuple[Part, ...]]
    then: str | None = None


def layout_of(harness: str) -> Layout:
    """Raises InvalidInput for a harness that nobody knows, or that has no hooks."""
    if checked_name(harness) not in LAYOUTS:
        raise InvalidInput(
            f"{harness} has no hooks",
            hint=f"`lineage import {harness}` reads its history; with hooks: {', '.join(LAYOUTS)}",
        )
    return LAYOUTS[harness]


def claude_code_folder(machine: Machine) -> Path:
    return machine.folder("CLAUDE_CONFIG_DIR", ".claude")


def codex_folder(machine: Machine) -> Path:
    return machine.folder("CODEX_HOME", ".codex")


def gemini_folder(machine: Machine) -> Path:
    return machine.folder("GEMINI_CLI_HOME") / ".gemini"


def _copilot_folder(machine: Machine) -> Path:
    return machine.folder("COPILOT_HOME", ".copilot")


def _pi_folder(machine: Machine) -> Path:
    return machine.folder("PI_CODING_AGENT_DIR", ".pi", "agent")


def _openclaw_folder(machine: Machine) -> Path:
    return machine.folder("OPENCLAW_STATE_DIR", ".openclaw")


def _configuration(machine: Machine, name: str) -> Path:
    return machine.folder("XDG_CONFIG_HOME", ".config") / name


def _settings(machine: Machine, command: Command) -> tuple[Part, ...]:
    hooks = {"claude-code": events.claude_code, "gemini": events.gemini, "qwen": events.qwen}[command.harness](command)
    return (Part(LAYOUTS[command.harness].folder(machine) / "settings.json", JsonHooks(command.harness, hooks)),)


def _codex_parts(machine: Machine, command: Command) -> tuple[Part, ...]:
    """`hooks.json`, unless the user keeps hooks in `config.toml` and has no such file: both at once are a warning."""
    folder, hooks = codex_folder(machine), events.codex(command)
    in_json, in_toml = JsonHooks("codex", hooks), TomlHooks("codex", hooks)
    keeps_toml = not (folder / "hooks.json").exists() and _keeps_hooks(folder / "config.toml")
    return (
        Part(folder / "hooks.json", in_json, wanted=not keeps_toml),
        Part(folder / "config.toml", in_toml, wanted=keeps_toml),
    )


def _keeps_hooks(path: Path) -> bool:
    """Whether a `config.toml` holds hooks, and not just the state of those elsewhere."""
    hooks = lenient_toml(path).get("hooks")
    return isinstance(hooks, dict) and bool(hooks.keys() - {"state"})


def _cursor_parts(machine: Machine, command: Command) -> tuple[Part, ...]:
    form = JsonHooks("cursor", events.cursor(command), {"version": 1})
    return (Part(machine.home / ".cursor" / "hooks.json", form),)


def _copilot_parts(machine: Machine, command: Command) -> tuple[Part, ...]:
    form = JsonHooks("copilot", events.copilot(command), {"version": 1})
    return (Part(_copilot_folder(machine) / "hooks" / "lineage.json", form),)


def _goose_parts(machine: Machine, command: Command) -> tuple[Part, ...]:
    folder = machine.home / ".agents" / "plugins" / "lineage"
    return (
        Part(folder / "plugin.json", Companion(machine.text("goose", "plugin.json"))),
        Part(folder / "hooks" / "hooks.json", JsonHooks("goose", events.goose(command))),
    )


def _opencode_parts(machine: Machine, command: Command) -> tuple[Part, ...]:
    form = Script("opencode", machine.text("opencode", "lineage.js"), command.words)
    return (Part(_configuration(machine, "opencode") / "plugins" / "lineage.js", form),)


def _pi_parts(machine: Machine, command: Command) -> tuple[Part, ...]:
    form = Script("pi", machine.text("pi", "lineage.ts"), command.words)
    return (Part(_pi_folder(machine) / "extensions" / "lineage.ts", form),)


def _openclaw_parts(machine: Machine, command: Command) -> tuple[Part, ...]:
    folder = _openclaw_folder(machine) / "extensions" / "lineage"
    manifests = ("openclaw.plugin.json", "package.json")
    script = Script("openclaw", machine.text("openclaw", "index.mjs"), command.words)
    return (
        *(Part(folder / name, Companion(machine.text("openclaw", name))) for name in manifests),
        Part(folder / "index.mjs", script),
    )


LAYOUTS: Mapping[str, Layout] = {
    "claude-code": Layout(claude_code_folder, _settings),
    "codex": Layout(codex_folder, _codex_parts, "start Codex, type /hooks and approve lineage's: before, none is run"),
    "gemini": Layout(gemini_folder, _settings),
    "qwen": Layout(lambda machine: machine.home / ".qwen", _settings),
    "copilot": Layout(_copilot_folder, _copilot_parts),
    "cursor": Layout(lambda machine: machine.home / ".cursor", _cursor_parts),
    "opencode": Layout(lambda machine: _configuration(machine, "opencode"), _opencode_parts, "start OpenCode again"),
    "pi": Layout(_pi_folder, _pi_parts, "type /reload in pi"),
    "openclaw": Layout(_openclaw_folder, _openclaw_parts, "start the gateway again"),
    "goose": Layout(lambda machine: _configuration(machine, "goose"), _goose_parts),
}
