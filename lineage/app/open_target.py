"""Opening a file of the workspace: its vault, its address in Obsidian, the system's opener."""

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from lineage.core.format.transcript import find_line
from lineage.core.transfer.archive_paths import is_archivable, note_path
from lineage.errors import NotFoundError
from lineage.pipeline.search.session_view import FileTarget

_VAULT = ".obsidian"
_OPENERS = {"darwin": ("open",), "win32": ("rundll32", "url.dll,FileProtocolHandler")}
_OPENER = ("xdg-open",)


@dataclass(frozen=True, slots=True)
class FileLocation:
    """A file of this machine, and the line to show; None for the whole file."""

    path: Path
    line: int | None = None

    @property
    def uri(self) -> str:
        """The address that opens the file in Obsidian."""
        return f"obsidian://open?path={quote(str(self.path), safe='')}"


def locate_file(root: Path, target: FileTarget) -> FileLocation:
    """Return the location of a target; for an archived file that of its note.

    Raises NotFoundError for a workspace in a bucket and for a missing file.
    """
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
    """Return whether the file lies in a vault of Obsidian: a folder with `.obsidian` in it."""
    return any((folder / _VAULT).is_dir() for folder in path.parents)


def find_opener() -> Sequence[str] | None:
    """Return the command that opens addresses on this system, None if it isn't installed."""
    words = _OPENERS.get(sys.platform, _OPENER)
    program = shutil.which(words[0])
    return [program, *words[1:]] if program else None
