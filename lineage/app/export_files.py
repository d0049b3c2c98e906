"""Exports as files of the user: private, whole or not at all, over nothing that isn't an export."""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from lineage.app.locations import STATE_FOLDER
from lineage.errors import InvalidInput, describe_os_error
from lineage.file_swap import exchange
from lineage.store import ExistsError, LocalStore, update
from lineage.store.platform import fsync_directory, lock_file

_LINK = "name a place that is no symbolic link"


@dataclass(frozen=True, slots=True)
class WrittenFolder:
    """How many files a folder got, how many of them are pages, and their bytes."""

    files: int
    pages: int
    bytes: int


def resolve_output(output: Path, root: Path, *, suffix: str = "") -> Path:
    """Return the place of an export. One in the workspace has to end in `suffix`, which a removal looks for.

    Raises InvalidInput for a symbolic link, a missing folder above it, and a place in the workspace.
    """
    path = Path(os.path.abspath(output))  # noqa: PTH100  (resolving would follow the links that are refused here)
    if path.is_symlink() or path.parent.is_symlink():
        raise InvalidInput(f"{output} is a symbolic link, or lies in one", hint=_LINK)
    if not path.parent.is_dir():
        raise InvalidInput(f"there is no folder {path.parent}", hint="make it, or name another place")
    if path.is_relative_to(root) and not (suffix and path.suffix.lower() == suffix):
        hint = f"end its name in {suffix}: a removal looks for it" if suffix else "a removal wouldn't find it there"
        raise InvalidInput(f"{output} lies in the workspace", hint=hint)
    return path


def write_file(path: Path, data: bytes, root: Path, *, force: bool) -> None:
    """Write a file for its owner alone, atomically. Raises InvalidInput for an existing one without `force`."""
    # private: outside of the workspace its folders' modes no longer protect the text
    store = LocalStore(path.parent, locks=root / STATE_FOLDER / "locks", private=True)
    if force:
        update(store, path.name, lambda _: data)
        return
    try:
        store.create(path.name, data)
    except ExistsError as error:
        raise InvalidInput(f"{path} is there already", hint="name another file, or add `--force`") from error


def check_folder(path: Path, mark: str, names: Iterable[str]) -> None:
    """Raise InvalidInput unless a folder is missing, empty, or an export: the file `mark` and these names alone."""
    if path.exists() and not path.is_dir():
        raise InvalidInput(f"{path} is no folder", hint="name a folder, or one that is yet to be made")
    if Path.cwd().is_relative_to(path):
        raise InvalidInput(f"{path} is where you are: it would be replaced", hint="run this in another folder")
    there = {entry.name for entry in path.iterdir()} if path.is_dir() else set()
    others = sorted(there - {mark, *names})
    if there and mark not in there:
        raise InvalidInput(f"{path} is not empty, and no export", hint="name an empty folder, or one to be made")
    if others:
        raise InvalidInput(
            f"{path} holds what is no export's: {others[0]}", hint="move it away, or name another folder"
        )


def replace_folder(path: Path, write: Callable[[Path], None]) -> None:
    """Put a folder that `write` fills in place of another, in one step where the system can.

    What a run that was killed left behind is deleted first. Raises InvalidInput while another run writes there,
    WorkspaceError if the system refuses.
    """
    staged = path.with_name(f".{path.name}.lineage-export")
    try:
        with _stage(staged):
            write(staged)
            _exchange(staged, path)
    except OSError as error:
        raise describe_os_error(str(path), error) from error


@contextmanager
def _stage(staged: Path) -> Iterator[None]:
    lock = staged.with_name(f"{staged.name}.lock")
    try:
        unlock = lock_file(lock, wait=False)
    except BlockingIOError as error:
        raise InvalidInput(
            "another export is being written there", hint="wait for it, or name another folder"
        ) from error
    try:
        shutil.rmtree(staged, ignore_errors=True)
        staged.mkdir(mode=0o700)
        yield
    finally:
        shutil.rmtree(staged, ignore_errors=True)
        with suppress(OSError):  # Windows deletes no open file: the next run takes it
            lock.unlink()
        unlock()


def _exchange(staged: Path, path: Path) -> None:
    """Give a finished folder its name; the one that had it takes the other's."""
    if not path.exists():
        staged.rename(path)
    elif not exchange(staged, path):
        shutil.rmtree(path)
        staged.rename(path)
    fsync_directory(path.parent)


def write_files(folder: Path, files: Iterable[tuple[str, bytes]]) -> WrittenFolder:
    """Write files, given by paths relative to a folder, for their owner alone."""
    count = pages = size = 0
    for name, data in files:
        path = folder / name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        count, pages, size = count + 1, pages + name.endswith(".html"), size + len(data)
    return WrittenFolder(count, pages, size)
