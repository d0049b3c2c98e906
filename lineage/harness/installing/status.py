"""What is installed on this machine, as data: for `lineage hooks status` and `lineage doctor`."""

from dataclasses import dataclass, replace

from lineage.errors import InvalidInput, LineageError
from lineage.harness.installing import files
from lineage.harness.installing.checks import OUTDATED, UNREADABLE, Finding, Installed, findings
from lineage.harness.installing.commands import Command, option
from lineage.harness.installing.installation import installing, read_record
from lineage.harness.installing.layouts import Machine, layout_of

INSTALLED, NOT_INSTALLED = "installed", "not installed"


@dataclass(frozen=True, slots=True)
class Status:
    """One harness.

    present    whether its own folder exists on this machine
    state      `installed`, `outdated` (installing again changes something), `not installed`, or `unreadable`
    files      those that hold lineage's entries; `events`: what they are registered for
    command    what the harness runs; `workspace` and `agent`: what that names
    """

    harness: str
    present: bool
    state: str
    files: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    workspace: str | None = None
    agent: str | None = None
    findings: tuple[Finding, ...] = ()


def status(machine: Machine, command: Command) -> Status:
    """The status of `command.harness`; what is installed may name another workspace. Raises InvalidInput for a harness
    without hooks."""
    present = layout_of(command.harness).folder(machine).is_dir()
    try:
        installed = _installed(machine, command)
        outdated = bool(installed) and _changes(machine, command, installed)
    except LineageError as error:
        return Status(command.harness, present, UNREADABLE, findings=(Finding(UNREADABLE, error.message, error.hint),))
    found = findings(machine, command.harness, installed)
    if outdated:
        what = "the entries are not those that this version of lineage makes"
        found.insert(0, Finding(OUTDATED, what, f"run `lineage hooks install {command.harness}`"))
    words = installed[0][1].words if installed else ()
    return Status(
        command.harness,
        present,
        (OUTDATED if outdated else INSTALLED) if installed else NOT_INSTALLED,
        files=tuple(dict.fromkeys(str(path) for path, _ in installed)),
        events=tuple(dict.fromkeys(entry.event for _, entry in installed)),
        command=words,
        workspace=option(words, "--workspace"),
        agent=option(words, "--agent"),
        findings=tuple(found),
    )


def _installed(machine: Machine, command: Command) -> Installed:
    found = []
    for part in layout_of(command.harness).parts(machine, command):
        data = files.read(part.path)
        name = str(part.path)
        ours = part.form.ours(files.text_of(data, name), name) if data is not None else []
        found += [(part.path, entry) for entry in ours]
    return found


def _changes(machine: Machine, command: Command, installed: Installed) -> bool:
    """Whether installing again, for the workspace and agent that are installed, would change a file."""
    words = installed[0][1].words
    workspace, agent = option(words, "--workspace"), option(words, "--agent")
    try:
        wanted = replace(command, workspace=workspace or command.workspace, agent=agent or command.agent)
    except InvalidInput:
        return True
    return any(change.before != change.after for change in installing(machine, wanted, read_record(machine)))
