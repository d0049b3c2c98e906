"""Configuration files: reading, atomic replacement, and backups of other people's content.

Additions beside lineage's own entries are recorded, so that uninstalling removes exactly these. The entries themselves
need no record: their command identifies them. A lost record costs a restored line break, no entry: empty containers go
then.
"""

import hashlib
import json
import os
import secrets
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from dataclasses import replace as replace_fields
from itertools import count
from pathlib import Path
from typing import Any

from lineage import file_swap
from lineage.errors import InvalidInput, LineageError, WorkspaceError, describe_os_error
from lineage.installing.jsonc import parse_jsonc

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

BACKUP = ".lineage-backup-"
_TEMPORARY = ".lineage-tmp-"
_DIGEST_LETTERS = 16


def resolve_target(path: Path) -> Path:
    """Return the file behind a path. Links are written through: they manage many people's dotfiles."""
    with _translate_os_errors(path):
        try:
            return path.resolve()
        except RuntimeError as error:  # a loop of links
            raise OSError(str(error)) from error


def read(path: Path) -> bytes | None:
    """Return the bytes of a file, None for a missing one. Raise WorkspaceError if it cannot be read."""
    with _translate_os_errors(path):
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None


def decode_text(data: bytes, name: str) -> str:
    """Return bytes as text. Raise InvalidInput unless they are UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidInput(f"{name}:{line}: not UTF-8", hint="nothing was changed; save the file as UTF-8") from error


def read_json_or_empty(path: Path) -> dict[str, Any]:
    """Return the settings in a JSON file, none if it is missing or damaged: others report that."""
    try:
        root = parse_jsonc(decode_text(read(path) or b"", str(path)), str(path)).root
    except LineageError:
        return {}
    values = root.to_python() if root else None
    return values if isinstance(values, dict) else {}


def read_toml_or_empty(path: Path) -> dict[str, Any]:
    """Return the settings in a TOML file, none if it is missing or damaged: others report that."""
    try:
        return tomllib.loads(decode_text(read(path) or b"", str(path)).removeprefix("\ufeff"))
    except (LineageError, ValueError, RecursionError):
        return {}


def parse_settings(path: Path, text: str) -> tuple[dict[str, Any], set[str]]:
    """Return the values and the comments in the text of a settings file. Raise InvalidInput for a damaged one."""
    if path.suffix == ".toml":
        try:
            lines = (line.strip() for line in text.splitlines())
            return tomllib.loads(text.removeprefix("\ufeff")), {line for line in lines if "#" in line}
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"{path}: not TOML: {error}", hint="mend it") from error
    document = parse_jsonc(text, str(path))
    values = document.root.to_python() if document.root else None
    comments = {text[start:end].strip() for start, end in document.comments}
    return values if isinstance(values, dict) else {}, comments


def replace(
    path: Path,
    before: bytes | None,
    after: bytes | None,
    *,
    last_digest: str | None,
    is_held: Callable[[bytes], bool] = lambda _: False,
) -> None:
    """Change a file's bytes from `before` to `after` atomically and durably, or remove it (None). Its mode stays.

    The former content stays beside it as `NAME.lineage-backup-N`, unless lineage wrote it last (`last_digest`, a
    SHA-256). A backup equal to the new content goes, and all of them if `is_held` says of each that the file holds
    it: some remain only if somebody else took something out in between, or still had the file open. Raise
    WorkspaceError if the file cannot be written, or is no longer `before`.
    """
    with _translate_os_errors(path), _lock_folder(path.parent):
        for file in path.parent.iterdir():  # what a dead writer left
            if file.name.startswith(_TEMPORARY) and file.is_file():
                _discard(file, path)
        # The plan may be minutes old: its user looked at a diff.
        if read(path) != before:
            raise _ChangedError(path)
        backups = _read_backups(path)
        is_ours = before is not None and compute_digest(before) == last_digest
        are_held = before is not None and all(map(is_held, (before, *backups.values())))
        if before is not None and not (is_ours or are_held) and not {before, after} & set(backups.values()):
            _create_file(_name_backup(path), before, path)
        _replace_atomically(path, before, after)
        for backup, data in backups.items():
            if data == after or are_held:
                backup.unlink()
        # Without it, a crash could undo the renaming.
        _sync_folder(path.parent)


def make_folders(path: Path) -> tuple[Path, ...]:
    """Make the missing folders of a file and return them, outermost first."""
    missing = [folder for folder in (path.parent, *path.parent.parents) if not folder.exists()]
    with _translate_os_errors(path):
        for folder in reversed(missing):
            folder.mkdir(0o700, exist_ok=True)
    return tuple(reversed(missing))


def remove_folders(folders: tuple[str, ...]) -> None:
    """Remove the empty ones of the folders, innermost first."""
    for folder in reversed(folders):
        with suppress(OSError):
            Path(folder).rmdir()


class _ChangedError(WorkspaceError):
    """The file was changed after it was read."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} was changed in this moment", hint="run the command again")


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Let one lineage at a time write in a folder, if the system can lock one."""
    descriptor = None if fcntl is None else os.open(folder, os.O_RDONLY)
    try:
        if descriptor is not None:
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _read_backups(path: Path) -> dict[Path, bytes]:
    prefix = path.name + BACKUP
    siblings = sorted(file for file in path.parent.iterdir() if file.name.startswith(prefix) and file.is_file())
    return {file: file.read_bytes() for file in siblings}


def _name_backup(path: Path) -> Path:
    """Return the first free name for a backup."""
    names = (path.with_name(f"{path.name}{BACKUP}{number}") for number in count(1))
    return next(name for name in names if not os.path.lexists(name))


def _replace_atomically(path: Path, before: bytes | None, after: bytes | None) -> None:
    """Put `after` in the place of `before`, comparing last. Raise _ChangedError if somebody else wrote meanwhile."""
    digests = "-".join(compute_digest(data or b"")[:_DIGEST_LETTERS] for data in (before, after))
    plain = path.with_name(f"{_TEMPORARY}{secrets.token_hex(8)}")
    temporary = path.with_name(f"{plain.name}-{digests}")
    try:
        if after is None:
            path.rename(temporary)
            is_unchanged = read(temporary) == before
            if not is_unchanged:
                _create_exclusively(temporary, path)
        else:
            _create_file(plain, after, path)
            plain.rename(temporary)
            if before is None:
                is_unchanged = _create_exclusively(temporary, path)
            else:
                is_unchanged = file_swap.swap(temporary, path, lambda file: read(file) == before)
        if not is_unchanged:
            raise _ChangedError(path)
    finally:
        plain.unlink(missing_ok=True)
        _discard(temporary, path)


def _create_exclusively(temporary: Path, path: Path) -> bool:
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links
        temporary.replace(path)
    return True


def _discard(temporary: Path, path: Path) -> None:
    """Delete a temporary file; if it came out of its place with other words, or still open, it becomes a backup."""
    with suppress(FileNotFoundError), temporary.open("rb") as file:
        is_open = file_swap.is_open_elsewhere(file.fileno())
        is_out_of_place = os.fstat(file.fileno()).st_nlink == 1
        digests = temporary.name.removeprefix(_TEMPORARY).split("-")[1:] if is_out_of_place else []
        if digests and (is_open or compute_digest(file.read())[:_DIGEST_LETTERS] not in digests):
            temporary.rename(_name_backup(path))
        else:
            temporary.unlink()


def _create_file(path: Path, data: bytes, mode_from: Path) -> None:
    """Write a new file durably, with the mode of another file if that exists, else for its owner alone."""
    # Private first: a harness's settings may hold keys, and whoever may write them runs code as this user.
    with os.fdopen(
        os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600), "wb"
    ) as file:
        if mode_from.exists():
            path.chmod(mode_from.stat().st_mode & 0o7777)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return  # Windows opens no folders
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _translate_os_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        hint = f"look at the rights of {path.parent}, then run the command again"
        raise describe_os_error(str(path), error, hint) from error


@dataclass(frozen=True, slots=True)
class FileMarks:
    """The additions to one file.

    containers  by name (`` the root, `hooks`, `hooks.Stop`): None for a new one, else the white space that stood
                between its brackets; for a table added to a TOML file its lines
    before      the file's text if it held no value at all
    block       the lines added to a TOML file
    file        whether the file is new
    folders     new folders of the file, outermost first
    written     SHA-256 of lineage's last version: nobody changed a file that still equals it
    """

    containers: Mapping[str, str | None] = field(default_factory=dict)
    before: str | None = None
    block: str | None = None
    file: bool = False
    folders: tuple[str, ...] = ()
    written: str | None = None

    def with_container(self, name: str, inside: str | None) -> "FileMarks":
        """Return the marks with a container added. An earlier mark of it stays."""
        return replace_fields(self, containers={name: inside, **self.containers})

    def without_containers(self, *names: str) -> "FileMarks":
        """Return the marks without those of some containers."""
        return replace_fields(self, containers={key: it for key, it in self.containers.items() if key not in names})


def compute_digest(data: bytes) -> str:
    """Return the SHA-256 of bytes in hex."""
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True, slots=True)
class InstallRecord:
    """The marks of every file on this machine, by path. `folders` are the new folders of the record itself."""

    files: Mapping[str, FileMarks] = field(default_factory=dict)
    folders: tuple[str, ...] = ()

    def with_marks(self, path: Path, marks: FileMarks | None) -> "InstallRecord":
        """Return the record with a file's marks, or without them (None)."""
        others = {name: value for name, value in self.files.items() if name != str(path)}
        return replace_fields(self, files=others if marks is None else {**others, str(path): marks})

    def to_json(self) -> str:
        """Return the record as JSON text, without empty values."""
        files = {
            path: {key: value for key, value in asdict(marks).items() if value not in (None, False, (), {})}
            for path, marks in self.files.items()
        }
        return json.dumps({"files": files, "folders": self.folders}, indent=2, sort_keys=True) + "\n"


def parse_record(text: str, name: str) -> InstallRecord:
    """Return the record in a text. Raise InvalidInput for a damaged one."""
    try:
        values = json.loads(text)
        files = {path: _parse_marks(marks) for path, marks in values["files"].items()}
        return InstallRecord(files, tuple(values["folders"]))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        hint = "delete it: lineage's entries are found without it, by their command"
        raise InvalidInput(f"{name}: damaged", hint=hint) from error


def _parse_marks(values: Mapping[str, Any]) -> FileMarks:
    # A newer version of lineage may have recorded more.
    names = {field.name for field in fields(FileMarks)}
    known = {key: value for key, value in values.items() if key in names}
    return FileMarks(**{**known, "folders": tuple(known.get("folders", ()))})
