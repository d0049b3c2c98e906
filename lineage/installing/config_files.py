"""The files themselves: read as they are, replaced as a whole, with a backup of what somebody else wrote."""

import os
import secrets
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from lineage.errors import InvalidInput, LineageError, WorkspaceError
from lineage.installing.install_record import compute_digest
from lineage.installing.jsonc import parse_jsonc

BACKUP = ".lineage-backup-"

_TEMPORARY = ".lineage-tmp-"


def resolve_target(path: Path) -> Path:
    """The file that a path leads to: links, as those of people who manage dotfiles, are written through."""
    with _translate_os_errors(path):
        try:
            return path.resolve()
        except RuntimeError as error:  # a loop of links
            raise OSError(str(error)) from error


def read(path: Path) -> bytes | None:
    """The bytes of a file; None where there is none. Raises WorkspaceError where it cannot be read."""
    with _translate_os_errors(path):
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None


def decode_text(data: bytes, name: str) -> str:
    """Raises InvalidInput for bytes that are no UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidInput(f"{name}:{line}: not UTF-8", hint="nothing was changed; save the file as UTF-8") from error


def read_json_or_empty(path: Path) -> dict[str, Any]:
    """The settings in a JSON file; none where it is missing or damaged, which is for others to report."""
    try:
        root = parse_jsonc(decode_text(read(path) or b"", str(path)), str(path)).root
    except LineageError:
        return {}
    values = root.to_python() if root else None
    return values if isinstance(values, dict) else {}


def read_toml_or_empty(path: Path) -> dict[str, Any]:
    """The settings in a TOML file; none where it is missing or damaged, which is for others to report."""
    try:
        return tomllib.loads(decode_text(read(path) or b"", str(path)).removeprefix("\ufeff"))
    except (LineageError, ValueError, RecursionError):
        return {}


def replace(path: Path, before: bytes | None, after: bytes | None, *, last_digest: str | None) -> None:
    """Makes a file's bytes `after` (None: the file goes), at once and durably; its mode stays.

    What it held is kept beside it as `NAME.lineage-backup-N`, unless that is what lineage itself wrote last (`written`,
    a SHA-256). A backup that the file equals afterwards goes: so one is left only where somebody else changed the file
    in between. Raises WorkspaceError where the file cannot be written, or is no longer `before`.
    """
    with _translate_os_errors(path):
        if read(path) != before:
            raise WorkspaceError(f"{path} was changed in this moment", hint="run the command again")
        backups = {backup: backup.read_bytes() for backup in _list_backups(path)}
        spared = before is None or compute_digest(before) == last_digest or {before, after} & set(backups.values())
        if before is not None and not spared:
            _back_up(path, before)
        if after is None:
            path.unlink()
        else:
            _replace_atomically(path, after)
        for backup in (one for one, data in backups.items() if data == after):
            backup.unlink()
        _sync_folder(path.parent)


def make_folders(path: Path) -> tuple[Path, ...]:
    """Makes the folders that a file needs; those that were missing, outermost first."""
    missing = [folder for folder in (path.parent, *path.parent.parents) if not folder.exists()]
    with _translate_os_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    return tuple(reversed(missing))


def remove_folders(folders: tuple[str, ...]) -> None:
    """Removes those of the folders, innermost first, that are empty."""
    for folder in reversed(folders):
        with suppress(OSError):
            Path(folder).rmdir()


def _list_backups(path: Path) -> list[Path]:
    return sorted(one for one in path.parent.iterdir() if one.name.startswith(path.name + BACKUP) and one.is_file())


def _back_up(path: Path, data: bytes) -> None:
    taken = {backup.name for backup in _list_backups(path)}
    number = next(n for n in range(1, len(taken) + 2) if f"{path.name}{BACKUP}{n}" not in taken)
    _create_file(path.with_name(f"{path.name}{BACKUP}{number}"), data, path)


def _replace_atomically(path: Path, data: bytes) -> None:
    temporary = path.with_name(f"{_TEMPORARY}{secrets.token_hex(8)}")
    try:
        _create_file(temporary, data, path)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _create_file(path: Path, data: bytes, mode_from: Path) -> None:
    """A new file, on the medium, with the mode of another where that exists."""
    with path.open("xb") as file:
        if mode_from.exists():
            path.chmod(mode_from.stat().st_mode & 0o7777)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return
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
        raise WorkspaceError(
            f"{path}: {error.strerror or error}",
            hint=f"look at the rights of {path.parent}, then run the command again",
        ) from error
