"""Agents' own notes: files known by name and folder alone.

    .memory/_project.md · .memory/ann.md · .memory/ann/decisions.md      the five-layer memory
    CLAUDE.md · CLAUDE.local.md · .claude/CLAUDE.md                      instructions of a project
    AGENTS.md · AGENTS.override.md · GEMINI.md                           the same of Codex and others, and of Gemini CLI
    ~/.claude/projects/<folder>/memory/*.md                              Claude Code's memory of a project
    ~/.codex/memories/*.md                                               Codex's memories
    MEMORY.md · memory/2026-03-28.md                                     OpenClaw: lasting, and of a day
    AGENT_MEMORY.md                                                      a curated memory

Any other file counts as an agent's notes.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from lineage.core.base.book_paths import CURATED
from lineage.errors import InvalidInput
from lineage.harness.json_values import as_mapping, as_string, decode_json

FIVE_LAYER = ".memory"
_MEMORY = "memory"
_CATEGORIES = {
    "decisions": "decision", "lessons": "lesson", "handoffs": "handoff", "tasks": "task", "projects": "project",
}  # fmt: skip
_DAILY_NAME = re.compile(r"(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))(?:-[^/]*)?\.md")
_MEMORIES = "memories"
_INSTRUCTIONS = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.override.md", "GEMINI.md")
_HARNESS_FOLDERS = (".claude", ".codex", ".gemini")
_NOTE_PATTERNS = (
    *_INSTRUCTIONS, ".claude/CLAUDE.md", ".codex/AGENTS.md", ".gemini/GEMINI.md", "AGENT_MEMORY.md", "MEMORY.md",
    "memory/*.md", ".memory/*.md", ".memory/*/*.md", "projects/*/memory/*.md", ".claude/projects/*/memory/*.md",
    "memories/*.md", ".codex/memories/*.md",
)  # fmt: skip
_FOLDER_PATTERNS = {FIVE_LAYER: ("*.md", "*/*.md"), _MEMORY: ("*.md",), _MEMORIES: ("*.md",)}
# The working directory is in one of the first records; lines may be megabytes long.
_MAX_LINES = 50
_MAX_LINE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class NoteMetadata:
    """The meaning of a file's place: its agent, its project's folder, the kind of every section (None: not known).

    `fallback` is the kind of sections without a kind in their headings.
    """

    agent: str | None = None
    project: str | None = None
    kind: str | None = None
    fallback: str = "lesson"


def find_note_files(path: Path) -> list[Path]:
    """Return the notes at a path, sorted: a file itself, or the files of a folder. Links are not followed.

    In a folder these are the files in the places above, else its markdown files. Raise InvalidInput for a missing path.
    """
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise InvalidInput(f"no file or folder at {path}", hint="give a file of notes, or the folder that holds them")
    files = set(_find_matches(path, _FOLDER_PATTERNS.get(path.name, _NOTE_PATTERNS)))
    return sorted(files or set(_find_matches(path, ("*.md",))))


def infer_note_metadata(path: Path) -> NoteMetadata:
    """Return the meaning of a file's place. `path` is absolute."""
    folder, name = path.parent, path.name
    if name == "AGENT_MEMORY.md":
        return NoteMetadata(kind=CURATED)
    if name in _INSTRUCTIONS:
        is_inner = folder.name in _HARNESS_FOLDERS
        return NoteMetadata(project=str(folder.parent if is_inner else folder), fallback="note")
    if folder.name == FIVE_LAYER:
        project = NoteMetadata(project=str(folder.parent), kind="project")
        return project if name.startswith("_") else NoteMetadata(name.partition(".")[0])
    if path.stem in _CATEGORIES:
        return NoteMetadata(folder.name if folder.parent.name == FIVE_LAYER else None, kind=_CATEGORIES[path.stem])
    if folder.name == _MEMORY:
        return _infer_from_memory(path)
    return NoteMetadata(fallback="note" if name == "MEMORY.md" or folder.name == _MEMORIES else "lesson")


def _infer_from_memory(path: Path) -> NoteMetadata:
    if match := _DAILY_NAME.fullmatch(path.name):
        return NoteMetadata(kind=f"daily/{match[1]}")
    is_claude = path.parent.parent.parent.name == "projects"
    return NoteMetadata(project=_working_directory(path.parent.parent) if is_claude else None, fallback="note")


def _working_directory(folder: Path) -> str | None:
    """Return the project of the transcripts in a folder: its name is not reversible. (harnesses.md 1.6)."""
    for path in sorted(folder.glob("*.jsonl")):
        if path.is_file() and not path.is_symlink() and (cwd := _read_cwd(path)):
            return cwd
    return None


def _read_cwd(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            lines = islice(iter(lambda: file.readline(_MAX_LINE_BYTES), b""), _MAX_LINES)
            folders = (as_string(as_mapping(decode_json(line)).get("cwd")) for line in lines)
            return next(filter(None, folders), None)
    except OSError:
        return None


def _find_matches(folder: Path, patterns: Iterable[str]) -> Iterator[Path]:
    """Yield the regular files that match, in hidden folders only if the pattern names them."""
    for pattern in patterns:
        hidden = pattern.count("/.") + pattern.startswith(".")
        for path in folder.glob(pattern):
            parts = path.relative_to(folder).parts
            is_hidden = sum(part.startswith(".") for part in parts) > hidden
            is_linked = path.is_symlink() or path.parent.is_symlink()
            if path.is_file() and not is_hidden and not is_linked:
                yield path
