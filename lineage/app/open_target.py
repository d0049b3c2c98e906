"""From a file of the workspace to what shows it: the vault that it lies in, Obsidian's address of it, the opener."""

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from lineage.core.format.transcript import find_line
from lineage.core.transfer.archive_paths import is_archivable, note_path
from lineage.errors import NotFoundError
from lineage.pipeline.search.references import FileTarget

_VAULT = ".obsidian"
_OPENERS = {"darwin": ("open",), "win32": ("rundll32", "url.dll,FileProtocolHandler")}
_OPENER = ("xdg-open",)


@dataclass(frozen=True, slots=True)
class FileLocation:
    """A file of this machine. `line` is where what is meant begins, None where that is the whole file."""

    path: Path
    line: int | None = None

    @property
    def uri(self) -> str:
        """The address at which Obsidian opens the file."""
        return f"obsidian://open?path={quote(str(self.path), safe='')}"


def locate_file(root: Path, target: FileTarget) -> FileLocation:
    """Where a target lies; of what is archived, the note of the archive. Raises NotFoundError where the workspace isn't
    a folder, or the file is gone."""
    keys = [target.path, *([note_path(target.path)] if is_archivable(target.path) else [])]
    path = next((root / key for key in keys if (root / key).is_file()), None)
    if path is None:
        raise NotFoundError(f"{target.path} is no file of this machine", hint="`lineage show` prints what it says")
    if target.entry is not None:
        return FileLocation(path, target.entry.line)
    if target.turn is None:
        return FileLocation(path)
    return FileLocation(path, find_line(path.read_text(encoding="utf-8", errors="replace"), target.turn))


def is_in_vault(path: Path) -> bool:
    """Whether Obsidian knows the file: a vault is a folder with a `.obsidian` in it."""
    return any((folder / _VAULT).is_dir() for folder in path.parents)


def find_opener() -> Sequence[str] | None:
    """The words of the program that opens addresses on this system, None where it isn't installed."""
    words = _OPENERS.get(sys.platform, _OPENER)
    program = shutil.which(words[0])
    return [program, *words[1:]] if program else None
