"""Composition for the hooks in harnesses' settings: this machine, this program, and what was asked for."""

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lineage.app.template import find_template
from lineage.errors import InvalidInput, LineageError
from lineage.installing import (
    LAYOUTS,
    FileChange,
    HookCommand,
    HookStatus,
    HostMachine,
    apply_changes,
    get_layout,
    plan_install,
    plan_uninstall,
    read_record,
    read_status,
)


@dataclass(frozen=True, slots=True)
class HookOutcome:
    """What became, or with a dry run would become, of one harness: its changed files, or the error that left them all
    as they were. `then` is what its user does next."""

    harness: str
    changes: tuple[FileChange, ...] = ()
    error: LineageError | None = None
    next_step: str | None = None


def detect_machine() -> HostMachine:
    """This machine, as its environment describes it, and the folder that the command was started in."""
    return HostMachine(
        home=Path.home(), environment=dict(os.environ), template=find_template(), project=_current_folder()
    )


def find_program() -> tuple[str, ...]:
    """How a hook starts lineage, in a form that an update keeps: the command as it was found, else this Python."""
    name = "lineage.exe" if os.name == "nt" else "lineage"
    started = Path(sys.argv[0])
    if started.name == name and started.is_file():
        return (str(started.absolute()),)
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    return (str(Path(found).absolute()),) if found else (sys.executable, "-m", "lineage")


def install(root: Path, agent: str, names: Sequence[str], *, dry_run: bool) -> list[HookOutcome]:
    """Installs the hooks of the named harnesses, or of every one that is on this machine.

    Raises InvalidInput for an unknown name or agent. What goes wrong with one harness does not keep the others back.
    """
    here = detect_machine()
    chosen = names or [name for name, layout in LAYOUTS.items() if layout.folder(here).is_dir()]
    return _apply_each(here, _build_commands(root, agent, chosen), plan_install, dry_run=dry_run)


def uninstall(root: Path, agent: str, names: Sequence[str], *, dry_run: bool) -> list[HookOutcome]:
    """Takes lineage's hooks out again, whatever workspace and agent they name. Raises and goes on as `install` does."""
    return _apply_each(
        detect_machine(), _build_commands(root, agent, names or list(LAYOUTS)), plan_uninstall, dry_run=dry_run
    )


def read_statuses(root: Path, agent: str, names: Sequence[str]) -> list[HookStatus]:
    """The status of the named harnesses, or of all that have hooks."""
    here = detect_machine()
    return [read_status(here, command) for command in _build_commands(root, agent, names or list(LAYOUTS))]


def _build_commands(root: Path, agent: str, names: Sequence[str]) -> list[HookCommand]:
    if agent == "all":
        raise InvalidInput("a hook captures for one agent", hint="name it: --agent default")
    for name in names:
        get_layout(name)
    return [HookCommand(find_program(), name, str(root), agent) for name in dict.fromkeys(names)]


def _apply_each(
    machine: HostMachine,
    commands: Sequence[HookCommand],
    plan: Callable[..., list[FileChange]],
    *,
    dry_run: bool,
) -> list[HookOutcome]:
    outcomes = []
    for command in commands:
        try:
            changes = plan(machine, command, read_record(machine))
            if not dry_run:
                apply_changes(machine, changes)
        except LineageError as error:
            outcomes.append(HookOutcome(command.harness, error=error))
            continue
        seen = tuple(change for change in changes if change.before != change.after)
        then = get_layout(command.harness).next_step if seen and plan is plan_install else None
        outcomes.append(HookOutcome(command.harness, seen, next_step=then))
    return outcomes


def _current_folder() -> Path | None:
    try:
        return Path.cwd()
    except OSError:
        return None
