"""Installing and uninstalling: plan the changes as data, then apply them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import unified_diff
from functools import partial
from pathlib import Path
from typing import Any

from lineage.errors import LineageError
from lineage.installing import config_files
from lineage.installing.commands import HookCommand
from lineage.installing.config_files import FileMarks, InstallRecord, compute_digest, parse_record
from lineage.installing.layouts import HookFile, HostMachine, list_hook_files


@dataclass(frozen=True, slots=True)
class FileChange:
    """The change of one file: its bytes and its marks before and after, None for no file and no marks."""

    path: Path
    before: bytes | None
    after: bytes | None
    marks: FileMarks | None
    old_marks: FileMarks | None
    is_held: Callable[[bytes], bool] = lambda _: False
    """Whether the file then holds all of a backup, so that the backup may go."""

    @property
    def diff(self) -> str:
        """The change as a unified diff, empty if only the record changes."""
        sides = (self.before, self.after)
        old, new = ((side or b"").decode("utf-8", "replace").splitlines(keepends=True) for side in sides)
        name = str(self.path)
        fromfile, tofile = ("/dev/null" if side is None else name for side in sides)
        lines = unified_diff(old, new, fromfile, tofile)
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def find_record_path(machine: HostMachine) -> Path:
    """Return the path of this machine's record: `$XDG_STATE_HOME/lineage/hooks.json`."""
    return machine.resolve_folder("XDG_STATE_HOME", ".local", "state") / "lineage" / "hooks.json"


def read_record(machine: HostMachine) -> InstallRecord:
    """Return this machine's record. Raise InvalidInput if it is damaged."""
    path = find_record_path(machine)
    data = config_files.read(path)
    return InstallRecord() if data is None else parse_record(config_files.decode_text(data, str(path)), str(path))


def plan_install(machine: HostMachine, command: HookCommand, record: InstallRecord) -> list[FileChange]:
    """Return the changes of installing, none if nothing is missing. Raise InvalidInput if a file cannot take hooks."""
    changes = (
        _plan_file_install(file, record) if file.is_wanted else _plan_file_uninstall(file, record)
        for file in list_hook_files(machine, command)
    )
    return [change for change in changes if change is not None]


def plan_uninstall(machine: HostMachine, command: HookCommand, record: InstallRecord) -> list[FileChange]:
    """Return the changes of uninstalling, the last file first. Raise InvalidInput if a file cannot be parsed."""
    files = list_hook_files(machine, command)
    changes = [_plan_file_uninstall(file, record) for file in files]
    return [change for change in reversed(changes) if change is not None]


def apply_changes(machine: HostMachine, changes: Iterable[FileChange]) -> None:
    """Apply the changes. Raise WorkspaceError if a file cannot be written or has changed since.

    The record lists an addition before it exists, and drops it after it is gone, so an interrupted run can be undone.
    """
    for change in changes:
        if change.marks is not None:
            new = [str(folder) for folder in config_files.make_folders(change.path)]
            folders = (*new, *(folder for folder in change.marks.folders if folder not in new))
            # Before the file is written: a crash in between leaves a record too many, never an unknown addition.
            _update_record(machine, change.path, replace(change.marks, folders=folders))
        if change.before != change.after:
            last_digest = change.old_marks.written if change.old_marks else None
            replaced = partial(config_files.replace, change.path, change.before, change.after)
            replaced(last_digest=last_digest, is_held=change.is_held)
        if change.marks is None:
            config_files.remove_folders(change.old_marks.folders if change.old_marks else ())
            _update_record(machine, change.path, None)


def _plan_file_install(file: HookFile, record: InstallRecord) -> FileChange | None:
    path, name = config_files.resolve_target(file.path), str(file.path)
    before, old_marks = config_files.read(path), record.files.get(str(path))
    text = config_files.decode_text(before or b"", name)
    marks = FileMarks()
    if before is not None and old_marks:
        # The marks are about this file if it holds entries, or is as lineage wrote it. Else somebody replaced it.
        is_unchanged = compute_digest(text.encode()) == old_marks.written
        marks = old_marks if file.file_format.find_entries(text, name) or is_unchanged else marks
    result, new_marks = file.file_format.install(text, marks, name)
    after = result.encode()
    if after == before:
        return None
    new_marks = replace(new_marks, file=marks.file or before is None, written=compute_digest(after))
    return FileChange(path, before, after, new_marks, old_marks, lambda _: not file.has_backup)


def _plan_file_uninstall(file: HookFile, record: InstallRecord) -> FileChange | None:
    path, name = config_files.resolve_target(file.path), str(file.path)
    before, old_marks = config_files.read(path), record.files.get(str(path))
    if before is None:
        return FileChange(path, None, None, None, old_marks) if old_marks else None
    text = config_files.decode_text(before, name)
    result = file.file_format.uninstall(text, old_marks or FileMarks(), name)
    if result == text and old_marks is None:
        return None
    # An empty file that lineage did not make was there before, and stays.
    is_removed = result == "" != text and (old_marks is None or old_marks.file)
    if is_removed:
        return FileChange(path, before, None, None, old_marks)
    is_held = partial(_is_held, file=file, text=result)
    return FileChange(path, before, result.encode(), None, old_marks, is_held)


def _is_held(backup: bytes, *, file: HookFile, text: str) -> bool:
    """Return whether a file's text holds every value and comment of a backup but lineage's entries.

    A harness that rewrites its settings takes nothing out of them: only a person's own change is worth a backup.
    """
    if not file.has_backup:
        return True
    try:
        old = file.file_format.uninstall(config_files.decode_text(backup, "backup"), FileMarks(), "backup")
        (values, comments), (held, held_comments) = (config_files.parse_settings(file.path, one) for one in (old, text))
    except LineageError:
        return False
    return comments <= held_comments and _contains(held, values)


def _contains(held: Any, values: Any) -> bool:
    if isinstance(values, Mapping) and isinstance(held, Mapping):
        return all(key in held and _contains(held[key], value) for key, value in values.items())
    if isinstance(values, list) and isinstance(held, list):
        return all(value in held for value in values)
    return bool(values == held)


def _update_record(machine: HostMachine, path: Path, marks: FileMarks | None) -> None:
    record_path, old = find_record_path(machine), read_record(machine)
    record = old.with_marks(path, marks)
    if record == old:
        return
    new_folders = tuple(str(folder) for folder in config_files.make_folders(record_path))
    record = replace(record, folders=new_folders or record.folders)
    before = config_files.read(record_path)
    after = record.to_json().encode() if record.files else None
    # The record is lineage's own: with its digest as the last one, no backup is made.
    config_files.replace(record_path, before, after, last_digest=None if before is None else compute_digest(before))
    if after is None:
        config_files.remove_folders(record.folders)
