"""The record of additions beside lineage's own entries, so that uninstalling removes exactly these.

The entries themselves need no record: their command identifies them. A lost record costs a restored line break, no
entry: empty containers go then.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from lineage.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class FileMarks:
    """The additions to one file.

    containers  by name (`` the root, `hooks`, `hooks.Stop`): None for a new one, else the white space that stood
                between its brackets
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
        return replace(self, containers={name: inside, **self.containers})


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
        return replace(self, files=others if marks is None else {**others, str(path): marks})

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
