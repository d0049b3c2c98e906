"""Exports as files: over nothing that isn't one, whole or not at all, for their owner alone.

Fails without `check_folder`, the lock of `_stage`, its first `rmtree`, or with files written into the place itself.
"""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lineage.app.export_files import check_folder, replace_folder, resolve_output, write_files
from lineage.errors import InvalidInput, WorkspaceError

MARK = "mark.json"


def fill(folder: Path, *names: str) -> None:
    write_files(folder, [(name, name.encode()) for name in (*names, MARK)])


def read(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("is_there", ["missing", "empty", "older"])
def test_a_folder_is_there_as_a_whole(tmp_path: Path, is_there: str) -> None:
    place = tmp_path / "site"
    if is_there != "missing":
        place.mkdir()
    if is_there == "older":
        fill(place, "old.html", "days/old.html")
    check_folder(place, MARK, ["old.html", "days"])
    replace_folder(place, lambda staged: fill(staged, "index.html", "days/1.html"))
    assert sorted(read(place)) == ["days/1.html", "index.html", MARK]
    assert [path.name for path in tmp_path.iterdir()] == ["site"]
    modes = {path.stat().st_mode & 0o777 for path in (place, *place.rglob("*")) if path.is_dir()}
    assert modes == {0o700}
    assert {path.stat().st_mode & 0o777 for path in place.rglob("*") if path.is_file()} == {0o600}


def test_what_fails_leaves_what_was_there(tmp_path: Path) -> None:
    place = tmp_path / "site"
    place.mkdir()
    fill(place, "old.html")

    def fail(staged: Path) -> None:
        fill(staged, "new.html")
        raise InvalidInput("no", hint="no")

    with pytest.raises(InvalidInput):
        replace_folder(place, fail)
    assert sorted(read(place)) == [MARK, "old.html"]
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_a_run_that_was_killed_leaves_nothing_behind_the_next(tmp_path: Path) -> None:
    place = tmp_path / "site"
    place.mkdir()
    fill(place, "old.html")
    code = (
        "import os, signal, sys; from pathlib import Path; from lineage.app.export_files import *\n"
        "def write(staged):\n"
        "    write_files(staged, [('half.html', b'x'), ('days/half.html', b'x')])\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "replace_folder(Path(sys.argv[1]), write)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(place)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert sorted(read(place)) == [MARK, "old.html"]
    assert len(list(tmp_path.iterdir())) == 3  # the half folder and its lock
    replace_folder(place, lambda staged: fill(staged, "new.html"))
    assert sorted(read(place)) == [MARK, "new.html"]
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_one_run_at_a_time(tmp_path: Path) -> None:
    place = tmp_path / "site"

    def write(staged: Path) -> None:
        fill(staged, "one.html")
        with pytest.raises(InvalidInput, match="another export"):
            replace_folder(place, lambda other: fill(other, "two.html"))

    replace_folder(place, write)
    assert sorted(read(place)) == [MARK, "one.html"]


def test_what_the_system_refuses_is_said(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="File name too long"):
        replace_folder(tmp_path / "site", lambda staged: fill(staged, "x" * 300))
    assert list(tmp_path.iterdir()) == []


def test_nothing_else_is_written_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "site"
    place.mkdir()
    (place / "mine.txt").write_text("mine")
    with pytest.raises(InvalidInput, match="not empty, and no export"):
        check_folder(place, MARK, ["index.html"])
    fill(place, "index.html")
    with pytest.raises(InvalidInput, match=r"mine\.txt"):
        check_folder(place, MARK, ["index.html"])
    with pytest.raises(InvalidInput, match="no folder"):
        check_folder(place / "mine.txt", MARK, [])
    monkeypatch.chdir(place)
    with pytest.raises(InvalidInput, match="where you are"):
        check_folder(place, MARK, [])


def test_a_place_is_no_link_and_not_in_the_workspace(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    root.mkdir()
    (tmp_path / "link").symlink_to(root)
    for place in (tmp_path / "link", tmp_path / "link" / "site", tmp_path / "none" / "site", root / "site", root):
        with pytest.raises(InvalidInput):
            resolve_output(place, root)
    assert resolve_output(root / "a.zip", root, suffix=".zip") == root / "a.zip"
    assert resolve_output(tmp_path / "site", root) == tmp_path / "site"
