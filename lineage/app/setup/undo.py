"""Undo set-ups: take the hooks out, put the configuration back, and leave the memory unless it is asked for."""

import os
import shlex
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from lineage.app import hooks
from lineage.app.hooks import detect_machine
from lineage.app.locations import STATE_FOLDER, format_location, is_bucket, open_private_store, resolve_workspace_root
from lineage.app.setup.journal import (
    FileBefore,
    SetupJournal,
    lock_setup,
    read_journal,
    record_made,
    remove_lock,
    write_journal,
)
from lineage.app.setup.observe import find_root, find_variable
from lineage.config.checks import parse_toml
from lineage.config.edit_toml import revert_edit, set_value
from lineage.core.base.hook_protocol import WORKER_LOCK
from lineage.core.base.naming import DEFAULT_AGENT
from lineage.errors import InvalidInput, LineageError, describe_os_error
from lineage.installing import config_files
from lineage.installing.config_files import compute_digest
from lineage.store import BusyError

_MEND = "mend it, and run it again"
_MAX_LOOKS, _PAUSE = 300, 0.1  # a worker that captures the last session is given half a minute


@dataclass(slots=True)
class UndoResult:
    """What was undone; the field names are JSON keys. `left` says what stays, and why.

    `workspace` is the memory that set-ups made or filled, "" if there was nothing to undo.
    """

    workspace: str = ""
    restored: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """Whether nothing failed: else the next undo goes on."""
        return not any(isinstance(one, _Failure) for one in self.left)


def find_setup(option: str | None) -> SetupJournal | None:
    """Return what set-ups changed on this machine, None for nothing.

    Raise InvalidInput if the journal is damaged, or if `option`, else a variable of the environment, names another
    workspace than the one that is set up.
    """
    journal = read_journal(detect_machine())
    if journal:
        _require_named(journal, option)
    return journal


def undo_setup(option: str | None, *, with_memory: bool = False) -> UndoResult:
    """Leave every byte of other programs' settings as it was before the first set-up.

    A file that others changed meanwhile loses exactly what lineage added. Cut off, the next run goes on. `with_memory`
    also removes a memory that a set-up made. Raise InvalidInput as `find_setup` does, WorkspaceError if another set-up
    runs or a file can't be written.
    """
    machine, result = detect_machine(), UndoResult()
    if read_journal(machine) is None:
        return result
    with lock_setup(machine):
        journal = read_journal(machine)
        if journal is None:  # another process undid it in between
            return result
        _require_named(journal, option)
        result.workspace = journal.workspace
        found = {name: _read_or_none(Path(name)) for name in journal.files}
        untouched = {name for name, file in journal.files.items() if _is_as_written(file, found[name])}
        undone = {name for name, file in journal.files.items() if found[name] == file.data}
        for name, argv in journal.harnesses.items():
            _disconnect(journal, name, argv, result)
        for name, file in journal.files.items():
            _restore(journal, Path(name), file, name in untouched, result)
        result.restored = [name for name in result.restored if name not in undone]  # by an earlier run
        result.left += _find_other_hooks(journal)
        if with_memory:
            _remove_memory(journal, result)
        if result.is_complete:
            _record_memories(journal)
            write_journal(machine, None)
            remove_lock(machine)
            config_files.remove_folders(journal.folders)
    return result


def describe_undo(journal: SetupJournal, *, with_memory: bool = False) -> list[str]:
    """Return what an undo does, a line for each step."""
    lines = [
        f"give {name} its former hooks back" if argv else f"disconnect {name} (hooks, MCP server, skill)"
        for name, argv in journal.harnesses.items()
    ]
    for name, file in journal.files.items():
        verb = "remove" if file.data is None else "restore"
        lines.append(
            f"{verb if _is_as_written(file, _read_or_none(Path(name))) else 'take what is of lineage out of'} {name}"
        )
    if resolve_workspace_root(journal.workspace).exists():
        verb = "remove" if with_memory and can_remove_memory(journal) else "keep"
        reason = f": {_explain_kept(journal)}" if with_memory and verb == "keep" else ""
        lines.append(f"{verb} the memory {journal.workspace}{reason}")
    return lines


def can_remove_memory(journal: SetupJournal) -> bool:
    """Return whether a set-up made the memory, and it is there: an undo may remove it."""
    root = resolve_workspace_root(journal.workspace)
    return journal.is_new and not is_bucket(root) and root.exists()


def _require_named(journal: SetupJournal, option: str | None) -> None:
    """Raise InvalidInput if another workspace is named than the one that is set up."""
    variable = find_variable(os.environ)
    name = option or os.environ.get(variable)
    if not name:
        return
    folder = resolve_workspace_root(name)
    places = {os.path.realpath(place) for place in (folder, find_root(folder))}  # a vault is named for the memory in it
    current, *others = (
        os.path.realpath(resolve_workspace_root(memory)) in places for memory in _list_memories(journal)
    )
    if not current:
        source = "" if option else f", which {variable} names,"
        line = f"`lineage -w {shlex.quote(journal.workspace)} setup --undo`"
        raise InvalidInput(
            f"{format_location(folder)}{source} is not the memory that is set up: {journal.workspace} is;"
            " nothing was changed",
            hint=f"{line} undoes {'both set-ups' if any(others) else 'that set-up'}",
        )


class _Failure(str):
    """A reason that keeps the journal, so that the undo can be run again."""

    __slots__ = ()


def _read_or_none(path: Path) -> bytes | None:
    try:
        return config_files.read(path)
    except LineageError:  # the undo itself says so
        return None


def _is_as_written(file: FileBefore, data: bytes | None) -> bool:
    return (None if data is None else compute_digest(data)) == file.after


def _disconnect(journal: SetupJournal, name: str, argv: tuple[str, ...], result: UndoResult) -> None:
    """Take a harness's hooks out, or put the former ones back; those of another workspace are not ours."""
    root = resolve_workspace_root(journal.workspace)
    (status,) = hooks.read_statuses(root, DEFAULT_AGENT, [name])
    if status.workspace and status.workspace not in map(str, map(resolve_workspace_root, _list_memories(journal))):
        result.left.append(f"{name}: its hooks capture into {status.workspace} by now")
        return
    if argv and not status.files:
        result.left.append(f"{name}: its hooks were taken out since")
        return
    outcome = hooks.reinstall(argv, name) if argv else hooks.uninstall(root, DEFAULT_AGENT, [name], dry_run=False)[0]
    if outcome.error:
        result.left.append(_Failure(f"{name} may still have what lineage added: {outcome.error.message}"))


def _find_other_hooks(journal: SetupJournal) -> Iterator[str]:
    """Yield a line for each harness whose hooks capture into the memory, and were there before the set-up."""
    root = resolve_workspace_root(journal.workspace)
    for status in hooks.read_statuses(root, DEFAULT_AGENT, ()):
        if status.workspace == str(root) and status.harness not in journal.harnesses:
            remedy = f"`lineage hooks uninstall {status.harness}` takes them out"
            yield f"{status.harness}: hooks that no set-up installed capture into it; {remedy}"


def _restore(journal: SetupJournal, path: Path, file: FileBefore, is_untouched: bool, result: UndoResult) -> None:
    """Put a file's bytes back; of one that others changed, take out the setting of lineage's configuration."""
    try:
        now = config_files.read(path)
        wanted = file.data if is_untouched else now
        if not is_untouched and str(path) == journal.config and now is not None:
            wanted = _take_out_workspace(now, file, journal, str(path))
        if wanted != now:
            if wanted is not None:
                config_files.make_folders(path)
            config_files.replace(path, now, wanted, last_digest=None if now is None else compute_digest(now))
        if config_files.read(path) == file.data:
            result.restored.append(str(path))
            if file.data is None:
                config_files.remove_folders(file.folders)
        elif not any(isinstance(one, _Failure) and f"{path}:" in one for one in result.left):
            result.left.append(f"{path}: others changed it since; lineage's part is out of it")
    except LineageError as error:
        result.left.append(_Failure(error.message))


def _take_out_workspace(now: bytes, file: FileBefore, journal: SetupJournal, name: str) -> bytes:
    """Return the configuration with the former workspace, or without one, unless another was set since."""
    text = config_files.decode_text(now, name)
    ours = parse_toml(text, name, _MEND).get("workspace")
    if ours not in _list_memories(journal):
        return now
    before = config_files.decode_text(file.data or b"", name)
    reverted = revert_edit(text, before, set_value(before, name, ["workspace"], ours))
    if reverted is not None:
        return reverted.encode()
    former = parse_toml(before, name, _MEND).get("workspace")
    return set_value(text, name, ["workspace"], former).encode()


def _remove_memory(journal: SetupJournal, result: UndoResult) -> None:
    """Remove the memory if a set-up made it; the folder that it was made in stays as empty as it was."""
    for other, made in journal.others.items():
        if made is not None and Path(other).exists():
            result.left.append(f"{other}: another set-up made it; delete the folder to be rid of it")
    root = resolve_workspace_root(journal.workspace)
    if is_bucket(root) or not journal.is_new:
        result.left.append(f"{journal.workspace}: {_explain_kept(journal)}")
        return
    is_there = root.exists()
    if not _wait_for_worker(root):
        result.left.append(_Failure(f"{root}: its worker still captures; run it again in a minute"))
        return
    try:
        for path in sorted(root.iterdir()) if root.is_dir() else ():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        for path in map(Path, reversed(journal.made)):
            if path.is_dir():
                config_files.remove_folders((str(path),))
            else:
                path.unlink(missing_ok=True)
    except OSError as error:
        result.left.append(_Failure(describe_os_error(str(root), error).message))
        return
    if is_there:
        result.removed.append(journal.workspace)


def _explain_kept(journal: SetupJournal) -> str:
    """Return why an undo doesn't remove the memory."""
    is_in_bucket = is_bucket(resolve_workspace_root(journal.workspace))
    return "what a bucket holds stays" if is_in_bucket else "it was there before this set-up"


def _record_memories(journal: SetupJournal) -> None:
    """Keep in each memory that stays that a set-up made it: the journal, which knows, goes."""
    made = {journal.workspace: journal.made if journal.is_new else None, **journal.others}
    for location, places in made.items():
        root = resolve_workspace_root(location)
        if places is not None and not is_bucket(root):
            record_made(root, places)


def _list_memories(journal: SetupJournal) -> tuple[str, ...]:
    """Return the memories that set-ups connected harnesses to."""
    return (journal.workspace, *journal.others)


def _wait_for_worker(root: Path) -> bool:
    """Wait until no worker writes into a memory. Return whether it came to that in time."""
    if not (root / STATE_FOLDER).is_dir():
        return True
    private = open_private_store(root)
    for _ in range(_MAX_LOOKS):
        with suppress(BusyError), private.lock(WORKER_LOCK, wait=False):
            return True
        time.sleep(_PAUSE)
    return False
