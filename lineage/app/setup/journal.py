"""The journal of a set-up: what every changed file held before, written down before it is changed.

It holds settings of other programs, so it is for its user alone: `$XDG_STATE_HOME/lineage/setup.json`. An undo removes
it; what set-ups made of a memory that stays is then kept in that memory, `.lineage/setup.json`.
"""

import base64
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from lineage.app.locations import STATE_FOLDER
from lineage.errors import InvalidInput, LineageError, WorkspaceError, describe_os_error
from lineage.installing import HostMachine, config_files
from lineage.installing.config_files import compute_digest
from lineage.store.platform import lock_file

_NAME, _LOCK = "setup.json", "setup.lock"


@dataclass(frozen=True, slots=True)
class FileBefore:
    """A file before the first set-up that changed it: base64 of its bytes, None for no file.

    `after` is the SHA-256 of what the set-up wrote. `folders` are new folders of the file, outermost first.
    """

    before: str | None
    after: str | None
    folders: tuple[str, ...] = ()

    @property
    def data(self) -> bytes | None:
        """The bytes of the file."""
        return None if self.before is None else base64.b64decode(self.before)


@dataclass(frozen=True, slots=True)
class SetupJournal:
    """What set-ups changed on this machine.

    `is_new` says that a set-up made this memory; `made` are its new folders, and files outside of it, outermost first.
    `harnesses` holds each connected harness with the command line of its former hooks, none without any. `config` is
    the file of this machine's configuration, "" if it was not changed. `folders` are the journal's own new folders.
    `others` are the memories of set-ups before this one, and of those that failed: each with what `made` would say of
    it, None for one that was there before.
    """

    workspace: str
    is_new: bool = False
    made: tuple[str, ...] = ()
    config: str = ""
    files: Mapping[str, FileBefore] = field(default_factory=dict)
    harnesses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    others: Mapping[str, tuple[str, ...] | None] = field(default_factory=dict)

    def with_made(self, location: str, made: tuple[str, ...]) -> "SetupJournal":
        """Return the journal with a memory that a set-up makes, and what it makes for it."""
        old = self.made if location == self.workspace else self.others.get(location) or ()
        made = (*(one for one in old if one not in made), *made)
        if location == self.workspace:
            return replace(self, is_new=True, made=made)
        return replace(self, others={**self.others, location: made})

    def with_workspace(self, location: str) -> "SetupJournal":
        """Return the journal of a set-up of this memory; what is known of the one before it stays."""
        if location == self.workspace:
            return self
        others = {**self.others, self.workspace: self.made if self.is_new else None}
        made = others.pop(location, None)
        return replace(self, workspace=location, is_new=made is not None, made=made or (), others=others)

    def with_file(self, path: Path, before: bytes | None, after: bytes | None) -> "SetupJournal":
        """Return the journal with a file's change; what it held before an earlier set-up stays."""
        old = self.files.get(str(path))
        text = None if before is None else base64.b64encode(before).decode()
        folders = tuple(str(folder) for folder in reversed(path.parents) if not folder.exists())
        entry = old or FileBefore(text, None, folders)
        entry = replace(entry, after=None if after is None else compute_digest(after))
        return replace(self, files={**self.files, str(path): entry})


def find_state_folder(machine: HostMachine) -> Path:
    """Return this machine's folder for what lineage did on it."""
    return machine.resolve_folder("XDG_STATE_HOME", ".local", "state") / "lineage"


def read_journal(machine: HostMachine) -> SetupJournal | None:
    """Return the journal, None without one. Raise InvalidInput if it is damaged."""
    path = find_state_folder(machine) / _NAME
    data = config_files.read(path)
    if data is None:
        return None
    try:
        values: dict[str, Any] = json.loads(data)
        return SetupJournal(
            workspace=values["workspace"],
            is_new=values["is_new"],
            made=tuple(values["made"]),
            config=values["config"],
            files={
                name: FileBefore(**{**one, "folders": tuple(one["folders"])}) for name, one in values["files"].items()
            },
            harnesses={name: tuple(argv) for name, argv in values["harnesses"].items()},
            folders=tuple(values["folders"]),
            others={name: None if made is None else tuple(made) for name, made in values.get("others", {}).items()},
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        hint = "move it away; `lineage hooks uninstall` takes the hooks out without it"
        raise InvalidInput(f"{path}: damaged", hint=hint) from error


def write_journal(machine: HostMachine, journal: SetupJournal | None) -> None:
    """Write the journal durably, or remove it (None). Raise WorkspaceError if that can't be."""
    path = find_state_folder(machine) / _NAME
    before = config_files.read(path)
    after = None if journal is None else (json.dumps(asdict(journal), indent=1, sort_keys=True) + "\n").encode()
    if before != after:
        digest = None if before is None else compute_digest(before)  # lineage's own: no backup
        config_files.replace(path, before, after, last_digest=digest)


def record_made(root: Path, made: tuple[str, ...]) -> None:
    """Keep in a memory that a set-up made it, and what for it: the next set-up knows. One of no place keeps nothing."""
    path = root / STATE_FOLDER / _NAME
    with suppress(LineageError, OSError):  # without it a later undo keeps the memory
        before = config_files.read(path)
        after = json.dumps({"made": made, **_identify(root)}, indent=1, sort_keys=True).encode() + b"\n"
        config_files.replace(path, before, after, last_digest=None if before is None else compute_digest(before))


def read_made(root: Path) -> tuple[str, ...] | None:
    """Return what a set-up before the last undo made for a memory, None if none made it, or if that isn't known.

    A copy at another place, or another folder at this one, wasn't made by it.
    """
    try:
        values: dict[str, Any] = json.loads(config_files.read(root / STATE_FOLDER / _NAME) or b"{}")
        made = tuple(map(str, values.pop("made", ())))
        return made if values == _identify(root) else None
    except (ValueError, TypeError, AttributeError, RecursionError, LineageError, OSError):
        return None


def forget_made(root: Path) -> None:
    """Remove what `record_made` kept. Raise WorkspaceError if that can't be."""
    path = root / STATE_FOLDER / _NAME
    if (before := config_files.read(path)) is not None:
        config_files.replace(path, before, None, last_digest=compute_digest(before))


def _identify(root: Path) -> dict[str, Any]:
    """Return what a copy of a folder does not have: its path, and the numbers that the file system gave it."""
    return {"path": str(root), "inodes": [folder.stat().st_ino for folder in (root, root / STATE_FOLDER)]}


@contextmanager
def lock_setup(machine: HostMachine) -> Iterator[tuple[str, ...]]:
    """Let one set-up at a time change this machine; yield the new folders of its state.

    They go again if no journal comes into them.
    Raise WorkspaceError if another set-up runs, or if there is no place for the journal.
    """
    path = find_state_folder(machine) / _LOCK
    folders = config_files.make_folders(path)
    try:
        unlock = lock_file(path, wait=False)
    except BlockingIOError as error:
        raise WorkspaceError("another set-up is running", hint="wait for its end, then run it again") from error
    except OSError as error:
        raise describe_os_error(str(path), error, f"look at the rights of {path.parent}, then run it again") from error
    try:
        yield tuple(map(str, folders))
    finally:
        if folders and not (path.parent / _NAME).exists():
            path.unlink(missing_ok=True)
            config_files.remove_folders(tuple(map(str, folders)))
        unlock()


def remove_lock(machine: HostMachine) -> None:
    """Remove the lock's file, while it is held: whoever waits for it makes a new one."""
    (find_state_folder(machine) / _LOCK).unlink(missing_ok=True)
