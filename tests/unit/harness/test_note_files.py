"""Where agents keep notes: which files of a folder are notes, and what their places say.

What the guards rest on: `_matches`, `_OF_A_DAY` and `_working_directory` of harness/notes.py.
"""

import json
from pathlib import Path

import pytest

from lineage.errors import InvalidInput
from lineage.harness.note_files import NoteMetadata, find_note_files, infer_note_metadata
from tests.support.parametrize import each


def write_files(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")


def list_names(root: Path) -> list[str]:
    return [path.relative_to(root).as_posix() for path in find_note_files(root)]


@each(
    ("path", "layout"),
    [
        ("/p/.memory/ann.md", NoteMetadata("ann")),
        ("/p/.memory/ann.md.bak", NoteMetadata("ann")),
        ("/p/.memory/_project.md", NoteMetadata(project="/p", kind="project")),
        ("/p/.memory/ann/decisions.md", NoteMetadata("ann", kind="decision")),
        ("/p/.memory/ann/handoffs.md", NoteMetadata("ann", kind="handoff")),
        ("/p/tasks.md", NoteMetadata(kind="task")),
        ("/p/CLAUDE.md", NoteMetadata(project="/p", fallback="note")),
        ("/p/.claude/CLAUDE.md", NoteMetadata(project="/p", fallback="note")),
        ("/p/AGENTS.md", NoteMetadata(project="/p", fallback="note")),
        ("/p/GEMINI.md", NoteMetadata(project="/p", fallback="note")),
        ("/h/.codex/AGENTS.md", NoteMetadata(project="/h", fallback="note")),
        ("/h/.gemini/GEMINI.md", NoteMetadata(project="/h", fallback="note")),
        ("/h/.codex/memories/rust.md", NoteMetadata(fallback="note")),
        ("/w/MEMORY.md", NoteMetadata(fallback="note")),
        ("/w/memory/2026-03-28.md", NoteMetadata(kind="daily/2026-03-28")),
        ("/w/memory/2026-03-28-release.md", NoteMetadata(kind="daily/2026-03-28")),
        ("/w/memory/2026-13-28.md", NoteMetadata(fallback="note")),
        ("/w/AGENT_MEMORY.md", NoteMetadata(kind="curated")),
        ("/w/anything.md", NoteMetadata()),
    ],
)
def test_a_place_says_whose_notes_they_are(path: str, layout: NoteMetadata) -> None:
    assert infer_note_metadata(Path(path)) == layout


def test_the_project_of_claude_s_memory_is_that_of_its_transcripts(tmp_path: Path) -> None:
    folder = tmp_path / "projects" / "-home-ann-demo"
    write_files(folder, "memory/MEMORY.md", "memory/api.md")
    assert infer_note_metadata(folder / "memory" / "api.md") == NoteMetadata(fallback="note")
    (folder / "a.jsonl").write_text('no json\n[1]\n{"cwd": 7}\n')
    lines = [{"type": "summary"}, {"cwd": "/home/ann/demo"}, {"cwd": "/elsewhere"}]
    (folder / "b.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for name in ("MEMORY.md", "api.md"):
        assert infer_note_metadata(folder / "memory" / name) == NoteMetadata(project="/home/ann/demo", fallback="note")


def test_a_folder_gives_its_notes_and_nothing_else(tmp_path: Path) -> None:
    notes = [".claude/CLAUDE.md", ".memory/_project.md", ".memory/ann/tasks.md", ".memory/ann.md", "CLAUDE.md",
             "MEMORY.md", "memory/2026-03-28.md"]  # fmt: skip
    write_files(
        tmp_path, *notes, "README.md", "docs/x.md", ".memory/.vault/x.md", ".memory/ann.md.bak", ".memory/a/b/c.md"
    )
    (tmp_path / "memory" / "link.md").symlink_to(tmp_path / "README.md")
    assert list_names(tmp_path) == notes
    assert list_names(tmp_path / ".memory") == ["_project.md", "ann/tasks.md", "ann.md"]
    assert list_names(tmp_path / "memory") == ["2026-03-28.md"]
    assert list_names(tmp_path / "docs") == ["x.md"]


def test_the_folder_of_a_harness_gives_all_projects(tmp_path: Path) -> None:
    write_files(tmp_path, "CLAUDE.md", "projects/-a/memory/MEMORY.md", "projects/-b/memory/x.md", "projects/-b/s.jsonl")
    assert list_names(tmp_path) == ["CLAUDE.md", "projects/-a/memory/MEMORY.md", "projects/-b/memory/x.md"]
    write_files(tmp_path / "codex", "AGENTS.md", "memories/rust.md", "memories/raw/x.md", "sessions/2026/s.md")
    assert list_names(tmp_path / "codex") == ["AGENTS.md", "memories/rust.md"]
    assert list_names(tmp_path / "codex" / "memories") == ["rust.md"]


def test_a_named_file_is_read_whatever_it_is_called(tmp_path: Path) -> None:
    write_files(tmp_path, "notes.txt")
    assert find_note_files(tmp_path / "notes.txt") == [tmp_path / "notes.txt"]
    assert find_note_files(tmp_path) == []
    with pytest.raises(InvalidInput):
        find_note_files(tmp_path / "gone")
