"""How many touched files have changed since, by git; without it nothing is said.

The guards: the comparison in `_count`, `_SECONDS`, the absolute path and `.git` in `_read_changes`, `_GIT`.
"""

import os
from pathlib import Path

import pytest

from lineage.app import changed_files
from lineage.app.changed_files import ChangedFiles, TouchedFiles, count_changed_files
from tests.support.git import run_git

AT = "2026-01-10T12:00:00.000Z"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose files were committed before, and one of them after `AT`."""
    root = tmp_path / "demo"
    run_git("init", "--quiet", root)
    for day, name in (
        ("09", "src/old.py"),
        ("10", "src/ümlaut two.py"),
        ("11", "src/new.py"),
        ("12", "src/ümlaut two.py"),
    ):
        (root / "src").mkdir(exist_ok=True)
        (root / name).write_text(day)
        when = f"2026-01-{day}T13:00:00+0{int(day) % 3}:00"
        monkeypatch.setenv("GIT_COMMITTER_DATE", when)
        run_git("-C", root, "add", ".")
        run_git("-C", root, "commit", "--quiet", "-m", f"day {day}")
    return root


def count(root: object, *files: str, at: str | None = AT) -> ChangedFiles | None:
    return count_changed_files([TouchedFiles(str(root), at, files)])[0]


def test_what_was_committed_later_has_changed(repository: Path) -> None:
    assert count(repository, "src/old.py") == ChangedFiles(0, 1)
    assert count(repository, "src/old.py", "src/new.py", "src/ümlaut two.py") == ChangedFiles(2, 3)
    assert count(repository, "src/new.py", "gone.py", at="2026-01-11T13:00:00.000Z") == ChangedFiles(0, 2)
    assert str(ChangedFiles(1, 3)) == "1 of the 3 files it touched has changed since"


def test_one_repository_is_asked_for_all_of_its_sessions(repository: Path, tmp_path: Path) -> None:
    touched = [
        TouchedFiles(None, AT, ["a.py"]),
        TouchedFiles(str(repository), "2026-01-12T00:00:00.000Z", ["src/new.py"]),
        TouchedFiles(str(repository), "2026-01-01T00:00:00.000Z", ["src/new.py"]),
        TouchedFiles(str(repository), AT, []),
        TouchedFiles(str(tmp_path), AT, ["src/new.py"]),
    ]
    assert count_changed_files(touched) == [None, ChangedFiles(0, 1), ChangedFiles(1, 1), None, None]


def test_without_git_a_repository_or_an_answer_in_time_nothing_is_said(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert count(tmp_path, "a.py") is count("demo", "a.py") is count(tmp_path / "gone", "a.py") is None
    assert count_changed_files([]) == []
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    for script in ("#!/bin/sh\nexec sleep 9\n", "#!/bin/sh\nexit 3\n", None):
        program = bin_folder / "git"
        if script:
            program.write_text(script)
            program.chmod(0o755)
        else:
            program.unlink()
        monkeypatch.setenv("PATH", str(bin_folder) + (os.pathsep + "/bin" if script else ""))
        monkeypatch.setattr(changed_files, "_SECONDS", 0.2)
        assert count(repository, "src/new.py") is None


def test_a_repository_s_own_settings_start_no_program(repository: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\nexit 0\n")
    trap.chmod(0o755)
    for name in ("core.fsmonitor", "core.pager", "diff.external"):
        run_git("-C", repository, "config", name, trap)
    assert count(repository, "src/new.py") == ChangedFiles(1, 1)
    assert not (tmp_path / "sprung").exists()
