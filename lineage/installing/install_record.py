"""What installing made beside lineage's own entries, so that uninstalling takes exactly that away again.

The entries themselves need no record: they are known by their command. A lost record costs a restored line break, no
entry: what then is empty goes.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from lineage.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class FileMarks:
    """What was made in one file, and of it.

    containers  by name (`` the root, `hooks`, `hooks.Stop`): None where it was made, else the white space that stood
                between its brackets
    before      the file's text where it held no value at all
    block       the lines that were put into a TOML file
    file        whether the file was made; `folders`: those that were made for it, outermost first
    written     SHA-256 of what lineage wrote last: where the file is still that, nobody has changed it since
    """

    containers: Mapping[str, str | None] = field(default_factory=dict)
    before: str | None = None
    block: str | None = None
    file: bool = False
    folders: tuple[str, ...] = ()
    written: str | None = None

    def with_container(self, name: str, inside: str | None) -> "FileMarks":
        """With a container noted; what was noted of it first holds."""
        return replace(self, containers={name: inside, **self.containers})


def compute_digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True, slots=True)
class InstallRecord:
    """The marks of every file on this machine, by path; `folders`: those that were made for the record itself."""

    files: Mapping[str, FileMarks] = field(default_factory=dict)
    folders: tuple[str, ...] = ()

    def get_marks(self, path: Path) -> FileMarks | None:
        return self.files.get(str(path))

    def with_marks(self, path: Path, marks: FileMarks | None) -> "InstallRecord":
        """With a file's marks; None forgets them."""
        others = {name: value for name, value in self.files.items() if name != str(path)}
        return replace(self, files=others if marks is None else {**others, str(path): marks})

    def to_json(self) -> str:
        values = {"files": dict(_list_values(self.files)), "folders": self.folders}
        return json.dumps(values, indent=2, sort_keys=True) + "\n"


def parse_record(text: str, name: str) -> InstallRecord:
    """The record that a text holds. Raises InvalidInput where it holds none."""
    try:
        values = json.loads(text)
        files = {path: _parse_marks(noted) for path, noted in values["files"].items()}
        return InstallRecord(files, tuple(values["folders"]))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InvalidInput(
            f"{name}: damaged", hint="delete it: lineage's entries are found without it, by their command"
        ) from error


def _list_values(files: Mapping[str, FileMarks]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, marks in files.items():
        yield path, {key: value for key, value in asdict(marks).items() if value not in (None, False, (), {})}


def _parse_marks(values: Mapping[str, Any]) -> FileMarks:
    known = {one.name for one in fields(FileMarks)}
    kept = {key: value for key, value in values.items() if key in known}
    return FileMarks(**{**kept, "folders": tuple(kept.get("folders", ()))})
