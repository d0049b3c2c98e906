"""What keeps installed hooks from working, or makes them run twice, by harness. Damaged files are not reported here."""

import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lineage.harness.installing.commands import Entry, entries
from lineage.harness.installing.files import lenient_json, lenient_toml, target
from lineage.harness.installing.layouts import Machine, claude_code_folder, codex_folder, gemini_folder

DUPLICATE, DISABLED, UNTRUSTED, EXECUTABLE, OUTDATED, UNREADABLE = (
    "duplicate", "disabled", "untrusted", "executable", "outdated", "unreadable",
)  # fmt: skip

_MANAGED = (
    "etc/claude-code/managed-settings.json",
    "Library/Application Support/ClaudeCode/managed-settings.json",
)
HARMLESS = "nothing must be done: lineage makes one capture of it"

Installed = Sequence[tuple[Path, Entry]]


@dataclass(frozen=True, slots=True)
class Finding:
    """`kind`: duplicate, disabled, untrusted, executable, outdated or unreadable; `what` it is; how to `mend` it."""

    kind: str
    what: str
    mend: str


def findings(machine: Machine, harness: str, installed: Installed) -> list[Finding]:
    """Everything that can be told from this machine's files, in a fixed order."""
    named = (check(machine, harness, installed) for check in (_executable, _doubled, _plugin, _elsewhere, _imported))
    own = CHECKS.get(harness)
    return [*(one for each in named for one in each), *(own(machine, installed) if own else ())]


def runs(machine: Machine, program: str) -> bool:
    """Whether a program can be started."""
    return shutil.which(program, path=machine.environment.get("PATH")) is not None


def _executable(machine: Machine, harness: str, installed: Installed) -> Iterator[Finding]:
    for program in sorted({entry.words[0] for _, entry in installed}):
        if not runs(machine, program):
            yield Finding(EXECUTABLE, f"{program} cannot be started", f"run `lineage hooks install {harness}` again")


def _doubled(machine: Machine, harness: str, installed: Installed) -> Iterator[Finding]:
    """Two entries for one event, or two commands."""
    places = [(path, entry.event) for path, entry in installed]
    commands = {entry.words for _, entry in installed}
    if len(set(places)) < len(places) or len(commands) > 1:
        what = f"registered {len(places)} times with {len(commands)} commands in {_named(installed)}"
        yield Finding(DUPLICATE, what, f"run `lineage hooks install {harness}`: it keeps one")


def _plugin(machine: Machine, harness: str, installed: Installed) -> Iterator[Finding]:
    where = next(_plugins(machine, harness), None)
    if where and installed:
        what = f"both in {_named(installed)} and as a plugin ({where})"
        yield Finding(DUPLICATE, what, f"remove the plugin, or run `lineage hooks uninstall {harness}`")
    if where and not runs(machine, "lineage"):
        yield Finding(EXECUTABLE, f"the plugin ({where}) finds no `lineage` on PATH", "put lineage on PATH")


def _plugins(machine: Machine, harness: str) -> Iterator[str]:
    """The plugins or extensions that bring lineage's hooks a second time."""
    if harness == "claude-code":
        path = claude_code_folder(machine) / "settings.json"
        enabled = _table(lenient_json(path), "enabledPlugins")
        yield from (name for name, on in enabled.items() if name.startswith("lineage@") and on)
    if harness == "codex":
        plugins = _table(lenient_toml(codex_folder(machine) / "config.toml"), "plugins")
        yield from (name for name, one in plugins.items() if name.startswith("lineage@") and _is_on(one))
    if harness == "gemini":
        manifest = gemini_folder(machine) / "extensions" / "lineage" / "gemini-extension.json"
        yield from [str(manifest.parent)] if manifest.exists() else []


def _elsewhere(machine: Machine, harness: str, installed: Installed) -> Iterator[Finding]:
    """The same harness's other files: the project's, and the second one that it reads."""
    known = {target(path) for path, _ in installed}
    for path in _other_files(machine, harness):
        if installed and target(path) not in known and _holds(path, harness):
            what = f"registered in {path} too"
            yield Finding(DUPLICATE, what, "take it out there; " + HARMLESS)


def _other_files(machine: Machine, harness: str) -> list[Path]:
    project = machine.project
    names = {
        "claude-code": (".claude/settings.json", ".claude/settings.local.json"),
        "codex": (".codex/hooks.json",),
        "gemini": (".gemini/settings.json",),
        "qwen": (".qwen/settings.json",),
        "cursor": (".cursor/hooks.json",),
    }
    files = [project / name for name in names.get(harness, ())] if project else []
    if harness == "copilot":
        files.append(machine.folder("COPILOT_HOME", ".copilot") / "settings.json")
        files += sorted((project / ".github" / "hooks").glob("*.json")) if project else []
    return files


def _imported(machine: Machine, harness: str, installed: Installed) -> Iterator[Finding]:
    """Harnesses that run Claude Code's hook files beside their own."""
    files = {
        "cursor": [claude_code_folder(machine) / "settings.json"],
        "copilot": [machine.project / ".claude" / "settings.json"] if machine.project else [],
    }
    for path in files.get(harness, ()):
        if installed and _holds(path, "claude-code"):
            yield Finding(DUPLICATE, f"it may run the hooks of {path} too, which then do nothing", HARMLESS)


def _claude_code(machine: Machine, installed: Installed) -> Iterator[Finding]:
    user = claude_code_folder(machine) / "settings.json"
    managed = [machine.system / path for path in _MANAGED]
    for path in (user, *managed):
        if lenient_json(path).get("disableAllHooks") is True:
            yield Finding(DISABLED, f"{path} says disableAllHooks", "delete that setting")
    for path in managed:
        if lenient_json(path).get("allowManagedHooksOnly") is True:
            yield Finding(DISABLED, f"{path} says allowManagedHooksOnly", "ask who manages this machine")


def _codex(machine: Machine, installed: Installed) -> Iterator[Finding]:
    path = codex_folder(machine) / "config.toml"
    config = lenient_toml(path)
    features = _table(config, "features")
    if features.get("hooks", features.get("codex_hooks")) is False:
        yield Finding(DISABLED, f"{path} says hooks = false in [features]", "delete that setting")
    state = _table(_table(config, "hooks"), "state")
    events = [entry.event for where, entry in installed if not _is_trusted(state, where, entry)]
    if events:
        what = f"not approved yet, and so never run: {', '.join(events)}"
        yield Finding(UNTRUSTED, what, "start Codex, type /hooks and approve lineage's")


def _is_trusted(state: Mapping[str, Any], path: Path, entry: Entry) -> bool:
    """Whether somebody approved the hook at this place; whether it is still the same, Codex alone can tell."""
    event = re.sub(r"(?<=.)(?=[A-Z])", "_", entry.event).lower()
    keys = (f"{file}:{event}:{entry.index}:{entry.handler or 0}" for file in (path, target(path)))
    approvals = (_table(state, key) for key in keys)
    return any("trusted_hash" in approval and _is_on(approval) for approval in approvals)


def _gemini(machine: Machine, installed: Installed) -> Iterator[Finding]:
    path = gemini_folder(machine) / "settings.json"
    config = _table(lenient_json(path), "hooksConfig")
    if config.get("enabled") is False:
        yield Finding(DISABLED, f"{path} says hooksConfig.enabled = false", "delete that setting")
    listed = config.get("disabled")
    names = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    ours = [name for name in names if name.startswith("lineage") or any(_line(name) == e.words for _, e in installed)]
    if ours:
        yield Finding(DISABLED, f"{path} lists {', '.join(ours)} in hooksConfig.disabled", "take them out there")


def _qwen(machine: Machine, installed: Installed) -> Iterator[Finding]:
    path = machine.home / ".qwen" / "settings.json"
    if lenient_json(path).get("disableAllHooks") is True:
        yield Finding(DISABLED, f"{path} says disableAllHooks", "delete that setting")


CHECKS: Mapping[str, Callable[[Machine, Installed], Iterator[Finding]]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "gemini": _gemini,
    "qwen": _qwen,
}


def _line(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _holds(path: Path, harness: str) -> bool:
    return any(entries(lenient_json(path).get("hooks"), harness))


def _table(values: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = values.get(key)
    return value if isinstance(value, Mapping) else {}


def _is_on(value: Any) -> bool:
    return not isinstance(value, Mapping) or value.get("enabled") is not False


def _named(installed: Installed) -> str:
    return ", ".join(dict.fromkeys(str(path) for path, _ in installed))
