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

from lineage.core.base.book_paths import CURATED
from lineage.errors import InvalidInput

FIVE_LAYER = ".memory"
_MEMORY = "memory"
_CATEGORIES = {
    "decisions": "decision", "lessons": "lesson", "handoffs": "handoff", "tasks": "task", "projects": "project",
}  # fmt: skip
_DAILY_NAME = re.compile(r"(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))(?:-[^/]*)?\.md")
_NOTE_PATTERNS = (
    "CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", "AGENT_MEMORY.md", "MEMORY.md", "memory/*.md",
    ".memory/*.md", ".memory/*/*.md", "projects/*/memory/*.md", ".claude/projects/*/memory/*.md",
)  # fmt: skip
_FOLDER_PATTERNS = {FIVE_LAYER: ("*.md", "*/*.md"), _MEMORY: ("*.md",)}
_MAX_LINES = 50
_MAX_LINE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class NoteMetadata:
    """What a file's place says: the agent whose notes it holds, the folder of the project that they are about, the kind
    of all of it, each None where it doesn't, and the kind of sections whose headings name none."""

    agent: str | None = None
    project: str | None = None
    kind: str | None = None
    fallback: str = "lesson"


def find_note_files(path: Path) -> list[Path]:
    """The notes at a path: the file itself, whatever it is called, or those of a folder in the places above; the
    markdown files that lie in it where there are none. Sorted; links are not followed.

    Raises InvalidInput where there is nothing.
    """
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise InvalidInput(f"no file or folder at {path}", hint="give a file of notes, or the folder that holds them")
    found = set(_find_matches(path, _FOLDER_PATTERNS.get(path.name, _NOTE_PATTERNS))) or set(
        _find_matches(path, ("*.md",))
    )
    return sorted(found)


def infer_note_metadata(path: Path) -> NoteMetadata:
    """What the place of a file, an absolute path, says of it."""
    folder, name = path.parent, path.name
    if name == "AGENT_MEMORY.md":
        return NoteMetadata(kind=CURATED)
    if name in ("CLAUDE.md", "CLAUDE.local.md"):
        return NoteMetadata(project=str(folder.parent if folder.name == ".claude" else folder), fallback="note")
    if folder.name == FIVE_LAYER:
        is_shared = name.startswith("_")
        return (
            NoteMetadata(project=str(folder.parent), kind="project")
            if is_shared
            else NoteMetadata(name.partition(".")[0])
        )
    if path.stem in _CATEGORIES:
        return NoteMetadata(folder.name if folder.parent.name == FIVE_LAYER else None, kind=_CATEGORIES[path.stem])
    if folder.name == _MEMORY:
        return _infer_from_memory(path)
    return NoteMetadata(fallback="note" if name == "MEMORY.md" else "lesson")


def _infer_from_memory(path: Path) -> NoteMetadata:
    match = _DAILY_NAME.fullmatch(path.name)
    if match:
        return NoteMetadata(kind=f"daily/{match[1]}")
    is_claude = path.parent.parent.parent.name == "projects"
    return NoteMetadata(project=_working_directory(path.parent.parent) if is_claude else None, fallback="note")


def _working_directory(folder: Path) -> str | None:
    """The project of the transcripts in a folder: its name can't be turned back into a path. (harnesses.md 1.6)"""
    for path in sorted(folder.glob("*.jsonl")):
        if path.is_file() and not path.is_symlink() and (cwd := _read_cwd(path)):
            return cwd
    return None


def _read_cwd(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            lines = islice(iter(lambda: file.readline(_MAX_LINE_BYTES), b""), _MAX_LINES)
            return next(filter(None, map(_parse_cwd, lines)), None)
    except OSError:
        return None


def _parse_cwd(line: bytes) -> str | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    cwd = record.get("cwd") if isinstance(record, dict) else None
    return cwd if isinstance(cwd, str) else None


def _find_matches(folder: Path, patterns: Iterable[str]) -> Iterator[Path]:
    """The regular files that match, in no hidden folder but those which a pattern names."""
    for pattern in patterns:
        hidden = pattern.count("/.") + pattern.startswith(".")
        for path in folder.glob(pattern):
            parts = path.relative_to(folder).parts
            is_hidden = sum(part.startswith(".") for part in parts) > hidden
            is_linked = any(one.is_symlink() for one in (path, path.parent))
            if path.is_file() and not is_hidden and not is_linked:
                yield path
