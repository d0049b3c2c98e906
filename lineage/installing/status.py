"""The hooks on this machine, for `lineage hooks status` and `doctor`: state, and hooks that cannot run or run twice."""

import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lineage.errors import InvalidInput, LineageError
from lineage.harness.places import is_relative
from lineage.installing import config_files
from lineage.installing.commands import PARTS, HookCommand, HookEntry, find_entries, find_left_out, get_option
from lineage.installing.config_files import read_json_or_empty, read_toml_or_empty, resolve_target
from lineage.installing.hook_definitions import get_installation
from lineage.installing.installation import plan_install, read_record
from lineage.installing.layouts import HostMachine, list_hook_files, resolve_harness_folder

INSTALLED, NOT_INSTALLED = "installed", "not installed"
DUPLICATE, DISABLED, UNTRUSTED, EXECUTABLE, OUTDATED, UNREADABLE = (
    "duplicate", "disabled", "untrusted", "executable", "outdated", "unreadable",
)  # fmt: skip

HARMLESS_HINT = "nothing must be done: lineage makes one capture of it"

InstalledEntries = Sequence[tuple[Path, HookEntry]]


@dataclass(frozen=True, slots=True)
class HookFinding:
    """A problem: its kind (one of the constants above), in words (`what`), and the remedy (`mend`)."""

    kind: str
    what: str
    mend: str


def find_problems(machine: HostMachine, harness: str, installed: InstalledEntries) -> list[HookFinding]:
    """Return the problems that this machine's files show, in a fixed order."""
    checks = (
        _check_executable,
        _check_duplicates,
        _check_plugin,
        _check_other_files,
        _check_shared_files,
        _check_off_switches,
    )
    findings = [finding for check in checks for finding in check(machine, harness, installed)]
    if harness in CHECKS:
        findings += CHECKS[harness](machine, installed)
    return findings


def is_runnable(machine: HostMachine, program: str) -> bool:
    """Return whether a program can be started."""
    return shutil.which(program, path=machine.environment.get("PATH")) is not None


def _check_executable(machine: HostMachine, harness: str, installed: InstalledEntries) -> Iterator[HookFinding]:
    for program in sorted({entry.argv[0] for _, entry in installed}):
        if not is_runnable(machine, program):
            yield HookFinding(
                EXECUTABLE, f"{program} cannot be started", f"run `lineage hooks install {harness}` again"
            )


def _check_duplicates(machine: HostMachine, harness: str, installed: InstalledEntries) -> Iterator[HookFinding]:
    """Check for two entries of one event, and for two commands."""
    places = [(path, entry.event) for path, entry in installed]
    commands = {entry.argv for _, entry in installed}
    if len(set(places)) < len(places) or len(commands) > 1:
        what = f"registered {len(places)} times with {len(commands)} commands in {_format_paths(installed)}"
        yield HookFinding(DUPLICATE, what, f"run `lineage hooks install {harness}`: it keeps one")


def _check_plugin(machine: HostMachine, harness: str, installed: InstalledEntries) -> Iterator[HookFinding]:
    plugin = next(_find_plugins(machine, harness), None)
    if plugin and installed:
        what = f"both in {_format_paths(installed)} and as a plugin ({plugin}), whose hooks then do nothing"
        yield HookFinding(DUPLICATE, what, f"remove the plugin, or run `lineage hooks uninstall {harness}`")
    if plugin and not is_runnable(machine, "lineage"):
        yield HookFinding(EXECUTABLE, f"the plugin ({plugin}) finds no `lineage` on PATH", "put lineage on PATH")


def _find_plugins(machine: HostMachine, harness: str) -> Iterator[str]:
    """Yield the plugins or extensions that register lineage's hooks a second time."""
    installation, folder = get_installation(harness), resolve_harness_folder(machine, harness)
    if installation.plugins:
        file, key = installation.plugins
        plugins = _get_table(_read_settings(machine.resolve(file, folder)), key)
        yield from (name for name, plugin in plugins.items() if name.startswith("lineage@") and _is_on(plugin))
    if installation.extension and (manifest := machine.resolve(installation.extension, folder)).exists():
        yield str(manifest.parent)


def _check_other_files(machine: HostMachine, harness: str, installed: InstalledEntries) -> Iterator[HookFinding]:
    """Check the same harness's other files: those of the project, and a second one of the user."""
    targets = {resolve_target(path) for path, _ in installed}
    for path in _list_other_files(machine, harness):
        if installed and resolve_target(path) not in targets and _has_entries(path, harness):
            yield HookFinding(DUPLICATE, f"registered in {path} too", f"take it out there; {HARMLESS_HINT}")


def _list_other_files(machine: HostMachine, harness: str) -> list[Path]:
    installation, project = get_installation(harness), machine.project
    files = [machine.resolve(name, resolve_harness_folder(machine, harness)) for name in installation.other_files]
    found = [path for name in installation.project_files for path in sorted(project.glob(name))] if project else []
    return files + found


def _check_shared_files(machine: HostMachine, harness: str, installed: InstalledEntries) -> Iterator[HookFinding]:
    """Check harnesses that run another's hook files beside their own."""
    for file, other in get_installation(harness).shared_files if installed else ():
        if is_relative(file) and not machine.project:
            continue
        path = machine.resolve(file, machine.project or Path())
        if _has_entries(path, other):
            yield HookFinding(DUPLICATE, f"it may run the hooks of {path} too, which then do nothing", HARMLESS_HINT)


def _check_off_switches(machine: HostMachine, harness: str, _: InstalledEntries) -> Iterator[HookFinding]:
    for switch in get_installation(harness).off_switches:
        path = machine.resolve(switch.file, resolve_harness_folder(machine, harness))
        for key in switch.key.split("|"):
            value = _find_value(_read_settings(path), key)
            if value is switch.value:
                said = key if switch.value else f"{key} = false"
                yield HookFinding(DISABLED, f"{path} says {said}", switch.mend)
            if value is not None:
                break


def _check_codex(machine: HostMachine, installed: InstalledEntries) -> Iterator[HookFinding]:
    config = read_toml_or_empty(resolve_harness_folder(machine, "codex") / "config.toml")
    state = _get_table(_get_table(config, "hooks"), "state")
    events = [entry.event for path, entry in installed if not _is_trusted(state, path, entry)]
    if events:
        what = f"not approved yet, and so never run: {', '.join(events)}"
        yield HookFinding(UNTRUSTED, what, "start Codex, type /hooks and approve lineage's")


def _is_trusted(state: Mapping[str, Any], path: Path, entry: HookEntry) -> bool:
    """Return whether somebody approved the hook at this place. Only Codex can tell whether it has changed since."""
    # The key names the place of a hook, with its event in snake case.
    event = re.sub(r"(?<=.)(?=[A-Z])", "_", entry.event).lower()
    keys = (f"{file}:{event}:{entry.index}:{entry.handler or 0}" for file in (path, resolve_target(path)))
    approvals = (_get_table(state, key) for key in keys)
    return any("trusted_hash" in approval and _is_on(approval) for approval in approvals)


def _check_gemini(machine: HostMachine, installed: InstalledEntries) -> Iterator[HookFinding]:
    path = resolve_harness_folder(machine, "gemini") / "settings.json"
    disabled = _find_value(read_json_or_empty(path), "hooksConfig.disabled")
    names = [name for name in disabled if isinstance(name, str)] if isinstance(disabled, list) else []
    # Gemini disables a hook by its name or, for one without, by its command.
    commands = {entry.argv for _, entry in installed}
    ours = [name for name in names if name.startswith("lineage") or tuple(name.split()) in commands]
    if ours:
        yield HookFinding(DISABLED, f"{path} lists {', '.join(ours)} in hooksConfig.disabled", "take them out there")


CHECKS: Mapping[str, Callable[[HostMachine, InstalledEntries], Iterator[HookFinding]]] = {
    "codex": _check_codex,
    "gemini": _check_gemini,
}
"""What one harness alone needs, beside what its entry in the registry says."""


def _has_entries(path: Path, harness: str) -> bool:
    return any(find_entries(read_json_or_empty(path).get("hooks"), harness))


def _read_settings(path: Path) -> Mapping[str, Any]:
    return read_toml_or_empty(path) if path.suffix == ".toml" else read_json_or_empty(path)


def _find_value(values: Mapping[str, Any], key: str) -> Any:
    """Return the value at a path of keys, None without one."""
    *parents, name = key.split(".")
    for parent in parents:
        values = _get_table(values, parent)
    return values.get(name)


def _get_table(values: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = values.get(key)
    return value if isinstance(value, Mapping) else {}


def _is_on(value: Any) -> bool:
    return value.get("enabled") is not False if isinstance(value, Mapping) else bool(value)


def _format_paths(installed: InstalledEntries) -> str:
    return ", ".join(dict.fromkeys(str(path) for path, _ in installed))


@dataclass(frozen=True, slots=True)
class HookStatus:
    """The state of one harness's hooks, with the files, events and command of lineage's entries.

    `present` says whether the harness's own folder exists. `outdated` hooks are those that installing again changes.
    `parts` are what is there beside the hooks: the MCP server, the skill; `left_out` are those that nobody wants.
    """

    harness: str
    present: bool
    state: str
    files: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    workspace: str | None = None
    agent: str | None = None
    parts: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    findings: tuple[HookFinding, ...] = ()


def read_status(machine: HostMachine, command: HookCommand) -> HookStatus:
    """Return the status of `command.harness`. Raise InvalidInput for a harness without hooks.

    The installed hooks may name another workspace.
    """
    present = resolve_harness_folder(machine, command.harness).is_dir()
    try:
        entries = _find_installed(machine, command)
        installed = [(path, entry) for path, entry in entries if entry.event not in PARTS]
        is_outdated = bool(installed) and _is_outdated(machine, command, installed)
    except LineageError as error:
        finding = HookFinding(UNREADABLE, error.message, error.hint)
        return HookStatus(command.harness, present, UNREADABLE, findings=(finding,))
    findings = find_problems(machine, command.harness, installed)
    if is_outdated:
        what = "the entries are not those that this version of lineage makes"
        findings.insert(0, HookFinding(OUTDATED, what, f"run `lineage hooks install {command.harness}`"))
    argv = installed[0][1].argv if installed else ()
    return HookStatus(
        command.harness,
        present,
        (OUTDATED if is_outdated else INSTALLED) if installed else NOT_INSTALLED,
        files=tuple(dict.fromkeys(str(path) for path, _ in installed)),
        events=tuple(dict.fromkeys(entry.event for _, entry in installed)),
        command=argv,
        workspace=get_option(argv, "--workspace"),
        agent=get_option(argv, "--agent"),
        parts=tuple(part for part in PARTS if part in {entry.event for _, entry in entries}),
        left_out=tuple(part for part in PARTS if part in find_left_out(argv)),
        findings=tuple(findings),
    )


def _find_installed(machine: HostMachine, command: HookCommand) -> InstalledEntries:
    entries = []
    for file in list_hook_files(machine, command):
        data, name = config_files.read(file.path), str(file.path)
        if data is not None:
            text = config_files.decode_text(data, name)
            entries += [(file.path, entry) for entry in file.file_format.find_entries(text, name)]
    return entries


def _is_outdated(machine: HostMachine, command: HookCommand, installed: InstalledEntries) -> bool:
    """Return whether installing again, for the installed workspace and agent, would change a file."""
    argv = installed[0][1].argv
    workspace, agent = get_option(argv, "--workspace"), get_option(argv, "--agent")
    try:
        current = replace(command, workspace=workspace or command.workspace, agent=agent or command.agent)
        current = replace(current, left_out=find_left_out(argv))
    except InvalidInput:
        return True
    return any(change.before != change.after for change in plan_install(machine, current, read_record(machine)))
