"""Composition of `lineage hooks`: entries in the settings of this machine's harnesses."""

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lineage.app.databases import describe_index
from lineage.app.locations import find_template, load_settings, open_store, require_extra
from lineage.config.workspace import RecallSettings
from lineage.errors import ExtraMissing, InvalidInput, LineageError
from lineage.installing import (
    INSTALLATIONS,
    FileChange,
    HookCommand,
    HookStatus,
    HostMachine,
    apply_changes,
    get_installation,
    plan_install,
    plan_uninstall,
    read_record,
    read_status,
    resolve_harness_folder,
)
from lineage.installing.commands import BLOCK, MCP, PARTS, RECALL, SKILL, find_left_out, get_option
from lineage.installing.hook_definitions import list_parts
from lineage.installing.status import HARMLESS_HINT

_MOMENTS = {"prompt": "a prompt", "action": "an edit or command"}


@dataclass(frozen=True, slots=True)
class HookOutcome:
    """The result for one harness: its changed files, or the error that left all of them unchanged.

    `next_step` is left to the user.
    """

    harness: str
    changes: tuple[FileChange, ...] = ()
    error: LineageError | None = None
    next_step: str | None = None


def detect_machine() -> HostMachine:
    """Return this machine with its environment and the current folder."""
    try:
        project = Path.cwd()
    except OSError:  # the folder was deleted
        project = None
    return HostMachine(home=Path.home(), environment=dict(os.environ), template=find_template(), project=project)


def find_program() -> tuple[str, ...]:
    """Return the words that start lineage in a hook: the installed command, else this Python."""
    name = "lineage.exe" if os.name == "nt" else "lineage"
    # the command rather than the interpreter behind it: its path survives an update
    started = Path(sys.argv[0])
    if started.name == name and started.is_file():
        return (str(started.absolute()),)
    program = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    return (str(Path(program).absolute()),) if program else (sys.executable, "-m", "lineage")


def is_on_path() -> bool:
    """Return whether a shell and plug-ins find `lineage`."""
    return shutil.which("lineage") is not None


def describe_off_path() -> str:
    """Return in a line what to type where PATH doesn't have `lineage`, and how to put it there."""
    program = find_program()
    line = f"`lineage` is not on PATH: type {shlex.join(program)}"
    if len(program) > 1:  # `python -m lineage`: no folder holds a command
        return line
    # last on PATH: the folder of an environment holds a Python, too
    export = f'export PATH="$PATH":{shlex.quote(str(Path(program[0]).parent))}'
    return f"{line}, or put it there, for plug-ins, too (your shell's profile keeps it) → {export}"


def install(
    root: Path, agent: str, names: Sequence[str], *, dry_run: bool, left_out: Collection[str] = ()
) -> list[HookOutcome]:
    """Install the hooks, MCP server and skill of the named harnesses, or of every harness on this machine.

    `left_out` are parts that nobody wants; without its extra the server is one of them. Raises InvalidInput for an
    unknown name or agent. An error of one harness does not stop the others.
    """
    machine = detect_machine()
    names = names or [name for name in INSTALLATIONS if resolve_harness_folder(machine, name).is_dir()]
    parts = frozenset(left_out) | ({MCP} if find_missing_extra() else set())
    commands = [replace(command, left_out=parts) for command in _build_commands(root, agent, names)]
    return _apply_each(machine, commands, plan_install, dry_run=dry_run)


def find_missing_extra() -> ExtraMissing | None:
    """Return the reason why the MCP server can't run, None if it can."""
    try:
        require_extra("mcp", "mcp")
    except ExtraMissing as error:
        return error
    return None


def describe_parts(root: Path, harnesses: Iterable[str], left_out: Collection[str] = ()) -> list[str]:
    """Return in plain words the texts that sessions of harnesses get, when, and how each part is turned off.

    A part that none of these harnesses takes is left out.
    """
    taken = frozenset[str]().union(*map(list_parts, harnesses))
    settings = load_settings(open_store(root))
    recall = settings.recall
    moments = [name for name, is_on in (("a prompt", recall.prompt), ("an edit or command", recall.action)) if is_on]
    if describe_index():  # no hook asks a server
        moments = []
    block = f"when it starts, up to {settings.context.budget} tokens of what came before"
    texts = {
        BLOCK: block if settings.context.budget else "",
        RECALL: f"at {' or '.join(moments)}, up to three quotes where memory holds something about it"
        if moments
        else "",
        MCP: "an MCP server, whose tools the agent uses when it decides to search or remember",
        SKILL: "a page that says when to do so, which the agent reads when it decides to",
    }
    switches = {
        BLOCK: "`lineage config set context.budget 0`",
        RECALL: "`lineage hooks install --no-recall`, or `lineage config set recall.prompt false` (and recall.action)",
        MCP: "`lineage hooks install --no-mcp`",
        SKILL: "`lineage hooks install --no-skill`",
    }
    return [
        f"{part}: {text}; turn it off by {switches[part]}"
        for part, text in texts.items()
        if text and part in taken and part not in left_out
    ]


def describe_installed_parts(root: Path, statuses: Iterable[HookStatus]) -> list[str]:
    """Return the texts of `describe_parts` for the harnesses with hooks; empty without one."""
    installed = {status.harness: status.left_out for status in statuses if status.files}
    left_out = set(PARTS).intersection(*installed.values())
    return describe_parts(root, installed, left_out) if installed else []


def uninstall(root: Path, agent: str, names: Sequence[str], *, dry_run: bool) -> list[HookOutcome]:
    """Remove lineage's hooks of any workspace and agent. Errors as with `install`."""
    return _apply_each(
        detect_machine(), _build_commands(root, agent, names or list(INSTALLATIONS)), plan_uninstall, dry_run=dry_run
    )


def reinstall(argv: Sequence[str], harness: str) -> HookOutcome:
    """Install the hooks that an earlier command line stands for, with its program, workspace, agent and parts."""
    program, workspace = tuple(argv[: list(argv).index("hook")]), get_option(argv, "--workspace")
    agent = get_option(argv, "--agent") or "default"
    command = HookCommand(program, harness, workspace or "", agent, find_left_out(argv))
    return _apply_each(detect_machine(), [command], plan_install, dry_run=False)[0]


def read_statuses(root: Path, agent: str, names: Sequence[str]) -> list[HookStatus]:
    """Return the status of the named harnesses, or of all with hooks."""
    machine = detect_machine()
    return [read_status(machine, command) for command in _build_commands(root, agent, names or list(INSTALLATIONS))]


def read_recall_settings(root: Path) -> RecallSettings:
    """Return the settings of recall: the permission to tell sessions something at prompts and actions."""
    return load_settings(open_store(root)).recall


def summarize_hooks(root: Path) -> dict[str, str]:
    """Return the state of the hooks of each harness on this machine, with the kinds of problems."""
    return {
        status.harness: ", ".join(
            dict.fromkeys([status.state, *(one.kind for one in status.findings if one.mend != HARMLESS_HINT)])
        )
        for status in read_statuses(root, "default", ())
        if status.present
    }


def _build_commands(root: Path, agent: str, names: Sequence[str]) -> list[HookCommand]:
    if agent == "all":
        raise InvalidInput("a hook captures for one agent", hint="name it: --agent default")
    for name in names:
        get_installation(name)
    return [HookCommand(find_program(), name, str(root), agent) for name in dict.fromkeys(names)]


def _apply_each(
    machine: HostMachine, commands: Sequence[HookCommand], plan: Callable[..., list[FileChange]], *, dry_run: bool
) -> list[HookOutcome]:
    outcomes = []
    for command in commands:
        try:
            changes = plan(machine, command, read_record(machine))
            if not dry_run:
                apply_changes(machine, changes)
        except LineageError as error:  # one harness with broken settings must not stop the others
            outcomes.append(HookOutcome(command.harness, error=error))
            continue
        effective = tuple(change for change in changes if change.before != change.after)
        next_step = get_installation(command.harness).next_step if effective and plan is plan_install else None
        outcomes.append(HookOutcome(command.harness, effective, next_step=next_step))
    return outcomes
