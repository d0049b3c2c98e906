"""Installing and uninstalling: what is to change is worked out first, as data, then carried out."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from difflib import unified_diff
from pathlib import Path

from lineage.installing import config_files
from lineage.installing import install_record as marks
from lineage.installing.commands import HookCommand
from lineage.installing.install_record import FileMarks, InstallRecord, compute_digest
from lineage.installing.layouts import HookFile, HostMachine, get_layout


@dataclass(frozen=True, slots=True)
class FileChange:
    """What becomes of one file: its bytes before and after (None: no file), the marks that belong to it then (None: it
    holds nothing of lineage's), and those it had."""

    path: Path
    before: bytes | None
    after: bytes | None
    marks: FileMarks | None
    old_marks: FileMarks | None

    @property
    def diff(self) -> str:
        """The change as a unified diff; empty where only the record changes."""
        sides = (self.before, self.after)
        old, new = ((side or b"").decode("utf-8", "replace").splitlines(keepends=True) for side in sides)
        name = str(self.path)
        fromfile, tofile = ("/dev/null" if side is None else name for side in sides)
        lines = unified_diff(old, new, fromfile, tofile)
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def find_record_path(machine: HostMachine) -> Path:
    """Where this machine keeps the marks: `$XDG_STATE_HOME/lineage/hooks.json`."""
    return machine.resolve_folder("XDG_STATE_HOME", ".local", "state") / "lineage" / "hooks.json"


def read_record(machine: HostMachine) -> InstallRecord:
    """Raises InvalidInput where the record is damaged."""
    path = find_record_path(machine)
    data = config_files.read(path)
    return InstallRecord() if data is None else marks.parse_record(config_files.decode_text(data, str(path)), str(path))


def plan_install(machine: HostMachine, command: HookCommand, record: InstallRecord) -> list[FileChange]:
    """What installing changes; nothing where it is done already. Raises InvalidInput where a file cannot take hooks."""
    return list(
        _plan_changes(
            machine, command, record, lambda part: _plan_file_install if part.is_wanted else _plan_file_uninstall
        )
    )


def plan_uninstall(machine: HostMachine, command: HookCommand, record: InstallRecord) -> list[FileChange]:
    """What uninstalling changes, the last file first. Raises InvalidInput where a file cannot be understood."""
    return list(_plan_changes(machine, command, record, lambda part: _plan_file_uninstall))[::-1]


def apply_changes(machine: HostMachine, changes: Iterable[FileChange]) -> None:
    """Makes the changes. The record knows of what is made before it is there, and forgets it when it is gone.

    Raises WorkspaceError where a file cannot be written or has changed since; what was made until then stays noted.
    """
    for change in changes:
        if change.marks is not None:
            made = [str(folder) for folder in config_files.make_folders(change.path)]
            folders = (*made, *(folder for folder in change.marks.folders if folder not in made))
            _update_record(machine, change.path, replace(change.marks, folders=folders))
        if change.before != change.after:
            written = change.old_marks.written if change.old_marks else None
            config_files.replace(change.path, change.before, change.after, last_digest=written)
        if change.marks is None:
            config_files.remove_folders(change.old_marks.folders if change.old_marks else ())
            _update_record(machine, change.path, None)


_FilePlanner = Callable[[HookFile, InstallRecord], FileChange | None]


def _plan_changes(
    machine: HostMachine,
    command: HookCommand,
    record: InstallRecord,
    choose_planner: Callable[[HookFile], _FilePlanner],
) -> Iterator[FileChange]:
    for part in get_layout(command.harness).files(machine, command):
        change = choose_planner(part)(part, record)
        if change is not None:
            yield change


def _plan_file_install(part: HookFile, record: InstallRecord) -> FileChange | None:
    path, name = config_files.resolve_target(part.path), str(part.path)
    before, old = config_files.read(path), record.get_marks(path)
    text = config_files.decode_text(before or b"", name)
    known = old if before is not None and old and _is_same_file(part, text, old) else FileMarks()
    result, noted = part.file_format.install(text, known, name)
    after = result.encode()
    if after == before:
        return None
    noted = replace(noted, file=known.file or before is None, written=compute_digest(after))
    return FileChange(path, before, after, noted, old)


def _is_same_file(part: HookFile, text: str, old: FileMarks) -> bool:
    """Whether what was noted of a file is about this one: it holds entries, or is what lineage wrote."""
    return bool(part.file_format.find_entries(text, str(part.path))) or compute_digest(text.encode()) == old.written


def _plan_file_uninstall(part: HookFile, record: InstallRecord) -> FileChange | None:
    path, name = config_files.resolve_target(part.path), str(part.path)
    before, old = config_files.read(path), record.get_marks(path)
    if before is None:
        return FileChange(path, None, None, None, old) if old else None
    text = config_files.decode_text(before, name)
    result = part.file_format.uninstall(text, old or FileMarks(), name)
    if result == text and old is None:
        return None
    gone = result == "" != text and (old is None or old.file)
    return FileChange(path, before, None if gone else result.encode(), None, old)


def _update_record(machine: HostMachine, path: Path, marks: FileMarks | None) -> None:
    place, kept = find_record_path(machine), read_record(machine)
    now = kept.with_marks(path, marks)
    if now == kept:
        return
    made = tuple(str(folder) for folder in config_files.make_folders(place))
    now = replace(now, folders=made or now.folders)
    before = config_files.read(place)
    after = now.to_json().encode() if now.files else None
    config_files.replace(place, before, after, last_digest=None if before is None else compute_digest(before))
    if after is None:
        config_files.remove_folders(now.folders)
