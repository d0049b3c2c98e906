"""The project of a directory, in repositories that git itself made.

Fails without the ascent in `_find_roots`, `_find_repository` or either half of its condition, `_first_worktree` or
either of its branches, and the `suppress` of `resolve_project`.
"""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.harness.projects import resolve_project


def run_git(*arguments: object) -> None:
    """Runs git without the settings of this machine, and lets it clone from folders."""
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    settings = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always"]
    command = ["git", *settings, *map(str, arguments)]
    subprocess.run(command, check=True, capture_output=True, env=environment)


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    """A repository with one commit."""
    root = tmp_path / "demo"
    run_git("init", "--quiet", root)
    run_git("-C", root, "commit", "--quiet", "--allow-empty", "-m", "begin")
    return root


def make_folder(path: Path) -> str:
    path.mkdir(parents=True, exist_ok=True)
    return str(path)


def test_every_directory_of_a_repository_is_its_root_s(demo: Path) -> None:
    assert resolve_project(str(demo)) == str(demo)
    assert resolve_project(make_folder(demo / "src" / "deep")) == str(demo)
    assert resolve_project(f"{demo}/src/../src/") == str(demo)
    assert resolve_project(str(demo / ".git" / "refs")) == str(demo)


def test_the_innermost_repository_counts(demo: Path) -> None:
    run_git("init", "--quiet", demo / "vendored")
    assert resolve_project(make_folder(demo / "vendored" / "src")) == str(demo / "vendored")


@pytest.mark.parametrize("place", ["beside", "demo/.worktrees/topic"])
def test_worktrees_of_one_repository_are_one_project(demo: Path, tmp_path: Path, place: str) -> None:
    run_git("-C", demo, "worktree", "add", "--quiet", tmp_path / place)
    assert resolve_project(make_folder(tmp_path / place / "src")) == str(demo)


def test_a_worktree_may_name_its_repository_relatively(demo: Path, tmp_path: Path) -> None:
    run_git("-C", demo, "worktree", "add", "--quiet", tmp_path / "beside")
    (tmp_path / "beside" / ".git").write_text("gitdir: ../demo/.git/worktrees/beside\n")
    assert resolve_project(str(tmp_path / "beside")) == str(demo)


def test_a_worktree_whose_repository_is_gone_goes_by_its_name(tmp_path: Path) -> None:
    there = make_folder(tmp_path / "topic")
    (tmp_path / "topic" / ".git").write_text("gitdir: /home/ada/demo/.git/worktrees/topic\r\n")
    assert resolve_project(there) == "/home/ada/demo"


@pytest.mark.parametrize("place", ["vendored", "worktrees/vendored"])
def test_a_submodule_is_a_project_of_its_own_and_so_are_its_worktrees(demo: Path, tmp_path: Path, place: str) -> None:
    run_git("clone", "--quiet", demo, tmp_path / "library")
    run_git("-C", demo, "submodule", "--quiet", "add", tmp_path / "library", place)
    assert resolve_project(make_folder(demo / place / "src")) == str(demo / place)
    run_git("-C", demo / place, "worktree", "add", "--quiet", tmp_path / "beside")
    assert resolve_project(str(tmp_path / "beside")) == str(demo / place)


def test_worktrees_of_a_bare_repository_are_the_repository_s(demo: Path, tmp_path: Path) -> None:
    bare = tmp_path / "demo.git"
    run_git("clone", "--quiet", "--bare", demo, bare)
    run_git("-C", bare, "worktree", "add", "--quiet", "-b", "topic", tmp_path / "topic")
    assert resolve_project(str(tmp_path / "topic")) == resolve_project(str(bare)) == str(bare)


def test_worktrees_around_a_hidden_bare_repository_are_one_project(demo: Path, tmp_path: Path) -> None:
    around = tmp_path / "around"
    run_git("clone", "--quiet", "--bare", demo, around / ".bare")
    (around / ".git").write_text("gitdir: ./.bare\n")
    run_git("-C", around, "worktree", "add", "--quiet", "-b", "topic", around / "topic")
    assert resolve_project(str(around / "topic")) == resolve_project(str(around)) == str(around)


def test_a_repository_that_lies_elsewhere_has_its_project_where_it_is_checked_out(tmp_path: Path) -> None:
    run_git("init", "--quiet", "--separate-git-dir", tmp_path / "elsewhere.git", tmp_path / "demo")
    assert resolve_project(make_folder(tmp_path / "demo" / "src")) == str(tmp_path / "demo")


def test_a_directory_in_no_repository_or_not_there_is_its_own(demo: Path, tmp_path: Path) -> None:
    assert resolve_project(make_folder(tmp_path / "plain" / "src")) == str(tmp_path / "plain" / "src")
    assert resolve_project(str(demo / "gone")) == str(demo / "gone")


def test_the_process_s_own_directory_is_never_used(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(demo)
    assert (resolve_project("."), resolve_project("src"), resolve_project(""), resolve_project(None)) == (
        ".",
        "src",
        None,
        None,
    )
    assert resolve_project("C:\\Users\\ada\\demo") == "C:\\Users\\ada\\demo"


@pytest.mark.parametrize("data", [b"", b"gitdir:", b"gitdir: \n", b"\xff\xfe\x00", b"gitdir: \x00\n", b"a" * 100_000])
def test_a_git_file_that_says_nothing_changes_nothing(tmp_path: Path, data: bytes) -> None:
    there = make_folder(tmp_path / "plain")
    (tmp_path / "plain" / ".git").write_bytes(data)
    assert resolve_project(there) == there


def test_an_empty_git_folder_is_no_repository(demo: Path) -> None:
    assert resolve_project(make_folder(demo / "src")) == str(demo)
    (demo / "src" / ".git").mkdir()
    assert resolve_project(str(demo / "src")) == str(demo)


@pytest.mark.skipif(os.name == "nt", reason="no pipes in the file system there")
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(demo: Path) -> None:
    os.mkfifo(Path(make_folder(demo / "src"), ".git"))
    assert resolve_project(str(demo / "src")) == str(demo)


@given(
    st.text() | st.text().map(lambda text: f"/{text}") | st.sampled_from(["/" * 5000, "/a" * 5000, "/\ud800", "/\0"])
)
def test_no_text_is_an_error(text: str) -> None:
    assert resolve_project(text) or not text
