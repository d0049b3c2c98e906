"""Composition for the hooks in harnesses' settings: this machine, this program, and what was asked for."""

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lineage.app import template
from lineage.errors import InvalidInput, LineageError
from lineage.harness.installing import (
    LAYOUTS,
    Change,
    Command,
    Machine,
    Status,
    carry_out,
    installing,
    layout_of,
    read_record,
    status,
    uninstalling,
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became, or with a dry run would become, of one harness: its changed files, or the error that left them all
    as they were. `then` is what its user does next."""

    harness: str
    changes: tuple[Change, ...] = ()
    error: LineageError | None = None
    then: str | None = None


def machine() -> Machine:
    """This machine, as its environment describes it, and the folder that the command was started in."""
    return Machine(home=Path.home(), environment=dict(os.environ), template=template(), project=_here())


def program() -> tuple[str, ...]:
    """How a hook starts lineage, in a form that an update keeps: the command as it was found, else this Python."""
    name = "lineage.exe" if os.name == "nt" else "lineage"
    started = Path(sys.argv[0])
    if started.name == name and started.is_file():
        return (str(started.absolute()),)
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    return (str(Path(found).absolute()),) if found else (sys.executable, "-m", "lineage")


def install(root: Path, agent: str, names: Sequence[str], *, dry_run: bool) -> list[Outcome]:
    """Installs the hooks of the named harnesses, or of every one that is on this machine.

    Raises InvalidInput for an unknown name or agent. What goes wrong with one harness does not keep the others back.
    """
    here = machine()
    chosen = names or [name for name, layout in LAYOUTS.items() if layout.folder(here).is_dir()]
    return _each(here, _commands(root, agent, chosen), installing, dry_run=dry_run)


def uninstall(root: Path, agent: str, names: Sequence[str], *, dry_run: bool) -> list[Outcome]:
    """Takes lineage's hooks out again, whatever workspace and agent they name. Raises and goes on as `install` does."""
    return _each(machine(), _commands(root, agent, names or list(LAYOUTS)), uninstalling, dry_run=dry_run)


def statuses(root: Path, agent: str, names: Sequence[str]) -> list[Status]:
    """The status of the named harnesses, or of all that have hooks."""
    here = machine()
    return [status(here, command) for command in _commands(root, agent, names or list(LAYOUTS))]


def _commands(root: Path, agent: str, names: Sequence[str]) -> list[Command]:
    if agent == "all":
        raise InvalidInput("a hook captures for one agent", hint="name it: --agent default")
    for name in names:
        layout_of(name)
    return [Command(program(), name, str(root), agent) for name in dict.fromkeys(names)]


def _each(
    here: Machine,
    commands: Sequence[Command],
    planned: Callable[..., list[Change]],
    *,
    dry_run: bool,
) -> list[Outcome]:
    outcomes = []
    for command in commands:
        try:
            changes = planned(here, command, read_record(here))
            if not dry_run:
                carry_out(here, changes)
        except LineageError as error:
            outcomes.append(Outcome(command.harness, error=error))
            continue
        seen = tuple(change for change in changes if change.before != change.after)
        then = layout_of(command.harness).then if seen and planned is installing else None
        outcomes.append(Outcome(command.harness, seen, then=then))
    return outcomes


def _here() -> Path | None:
    try:
        return Path.cwd()
    except OSError:
        return None
