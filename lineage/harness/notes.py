"""Where agents keep notes of their own, and whose they are: told by names of files and folders alone.

    .memory/_project.md · .memory/ann.md · .memory/ann/decisions.md      the five-layer memory
    CLAUDE.md · CLAUDE.local.md · .claude/CLAUDE.md                      instructions of a project
    ~/.claude/projects/<folder>/memory/*.md                              what Claude Code keeps of a project
    MEMORY.md · memory/2026-03-28.md                                     OpenClaw: for good, and of a day
    AGENT_MEMORY.md                                                      a curated memory

Any other file is taken for notes of an agent.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from lineage.core.book_paths import CURATED
from lineage.errors import InvalidInput

FIVE_LAYER = ".memory"
_MEMORY = "memory"
_CATEGORIES = {
    "decisions": "decision", "lessons": "lesson", "handoffs": "handoff", "tasks": "task", "projects": "project",
}  # fmt: skip
_OF_A_DAY = re.compile(r"(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))(?:-[^/]*)?\.md")
_PLACES = (
    "CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", "AGENT_MEMORY.md", "MEMORY.md", "memory/*.md",
    ".memory/*.md", ".memory/*/*.md", "projects/*/memory/*.md", ".claude/projects/*/memory/*.md",
)  # fmt: skip
_OF_FOLDERS = {FIVE_LAYER: ("*.md", "*/*.md"), _MEMORY: ("*.md",)}
_MOST_LINES = 50
_LONGEST_LINE = 1 << 20


@dataclass(frozen=True, slots=True)
class Layout:
    """What a file's place says: the agent whose notes it holds, the folder of the project that they are about, the kind
    of all of it, each None where it doesn't, and the kind of sections whose headings name none."""

    agent: str | None = None
    project: str | None = None
    kind: str | None = None
    fallback: str = "lesson"


def note_files(path: Path) -> list[Path]:
    """The notes at a path: the file itself, whatever it is called, or those of a folder in the places above; the
    markdown files that lie in it where there are none. Sorted; links are not followed.

    Raises InvalidInput where there is nothing.
    """
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise InvalidInput(f"no file or folder at {path}", hint="give a file of notes, or the folder that holds them")
    found = set(_matches(path, _OF_FOLDERS.get(path.name, _PLACES))) or set(_matches(path, ("*.md",)))
    return sorted(found)


def layout_of(path: Path) -> Layout:
    """What the place of a file, an absolute path, says of it."""
    folder, name = path.parent, path.name
    if name == "AGENT_MEMORY.md":
        return Layout(kind=CURATED)
    if name in ("CLAUDE.md", "CLAUDE.local.md"):
        return Layout(project=str(folder.parent if folder.name == ".claude" else folder), fallback="note")
    if folder.name == FIVE_LAYER:
        is_shared = name.startswith("_")
        return Layout(project=str(folder.parent), kind="project") if is_shared else Layout(name.partition(".")[0])
    if path.stem in _CATEGORIES:
        return Layout(folder.name if folder.parent.name == FIVE_LAYER else None, kind=_CATEGORIES[path.stem])
    if folder.name == _MEMORY:
        return _in_memory(path)
    return Layout(fallback="note" if name == "MEMORY.md" else "lesson")


def _in_memory(path: Path) -> Layout:
    match = _OF_A_DAY.fullmatch(path.name)
    if match:
        return Layout(kind=f"daily/{match[1]}")
    is_claude = path.parent.parent.parent.name == "projects"
    return Layout(project=_working_directory(path.parent.parent) if is_claude else None, fallback="note")


def _working_directory(folder: Path) -> str | None:
    """The project of the transcripts in a folder: its name can't be turned back into a path. (harnesses.md 1.6)"""
    for path in sorted(folder.glob("*.jsonl")):
        if path.is_file() and not path.is_symlink() and (cwd := _cwd(path)):
            return cwd
    return None


def _cwd(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            lines = islice(iter(lambda: file.readline(_LONGEST_LINE), b""), _MOST_LINES)
            return next(filter(None, map(_cwd_in, lines)), None)
    except OSError:
        return None


def _cwd_in(line: bytes) -> str | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    cwd = record.get("cwd") if isinstance(record, dict) else None
    return cwd if isinstance(cwd, str) else None


def _matches(folder: Path, patterns: Iterable[str]) -> Iterator[Path]:
    """The regular files that match, in no hidden folder but those which a pattern names."""
    for pattern in patterns:
        hidden = pattern.count("/.") + pattern.startswith(".")
        for path in folder.glob(pattern):
            parts = path.relative_to(folder).parts
            is_hidden = sum(part.startswith(".") for part in parts) > hidden
            is_linked = any(one.is_symlink() for one in (path, path.parent))
            if path.is_file() and not is_hidden and not is_linked:
                yield path
