"""The project of a directory and its remote, in repositories that git itself made.

Fails without the ascent in `_find_roots`, `_find_common_folder` or either half of it, `_find_first_worktree` or either
of its branches, the `except` of `identify_folder`, the test for the home directory, and any line of `_find_remote`.
"""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.projects import find_project_key, identify_folder, resolve_project
from tests.support.git import make_repository, run_git


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    """A repository with one commit."""
    return make_repository(tmp_path / "demo")


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


# --- Remotes ---------------------------------------------------------------------------------------------------------

SECRET = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
URL = f"https://ada:{SECRET}@GitHub.com:443/Ada/Demo.git"
DEMO = "github.com/ada/demo"


def write_config(demo: Path, text: str) -> str | None:
    (demo / ".git/config").write_text(text, encoding="utf-8")
    return identify_folder(str(demo))[1]


def test_the_remote_is_origin_else_the_only_one_else_none(tmp_path: Path) -> None:
    one = make_repository(tmp_path / "one", URL, "upstream")
    assert identify_folder(str(one)) == (str(one), DEMO)
    run_git("-C", one, "remote", "add", "fork", "git@example.org:eve/fork.git")
    assert identify_folder(str(one)) == (str(one), None)
    run_git("-C", one, "remote", "add", "origin", "git@example.org:eve/main.git")
    assert identify_folder(str(one)) == (str(one), "example.org/eve/main")


def test_a_configuration_is_read_as_git_reads_it(demo: Path, tmp_path: Path) -> None:
    other = tmp_path / "included"
    other.write_text(f'[remote "origin"]\n\turl = {URL}\n')
    assert write_config(demo, f"[include]\n\tpath = {other}\n") is None
    assert write_config(demo, f'[REMOTE "origin"] URL = "{URL}" ; as typed\n') == DEMO
    assert write_config(demo, f'[remote "origin"]\n# a note\nurl={URL}\nurl = git@example.org:a/b\n') == DEMO
    assert write_config(demo, '[remote "origin"]\n\tpushurl = git@example.org:a/b\n') is None
    assert write_config(demo, '[branch "x"]\n\turl = git@example.org:a/b\n[remote "o]') is None
    assert write_config(demo, "\x00\n" + '[remote "origin"]\n\turl =\n') is None


def test_a_worktree_a_submodule_and_a_detached_head_have_the_remote_of_their_repository(tmp_path: Path) -> None:
    demo = make_repository(tmp_path / "demo", URL)
    run_git("-C", demo, "worktree", "add", "--quiet", "--detach", tmp_path / "beside")
    assert identify_folder(str(tmp_path / "beside")) == (str(demo), DEMO)
    library = make_repository(tmp_path / "library")
    run_git("-C", demo, "submodule", "--quiet", "add", library, "vendored")
    run_git("-C", demo / "vendored", "remote", "set-url", "origin", "git@example.org:eve/library.git")
    assert identify_folder(str(demo / "vendored")) == (str(demo / "vendored"), "example.org/eve/library")


@pytest.mark.parametrize("url", ["{}", "{}/.git", "file://{}", "file://localhost{}", "../demo", "../demo/"])
def test_a_clone_of_a_folder_is_that_folder_s_project(demo: Path, tmp_path: Path, url: str) -> None:
    clone = make_repository(tmp_path / "clone", url.format(demo))
    assert identify_folder(str(clone)) == (str(clone), str(demo))
    assert find_project_key(str(clone)) == find_project_key(str(demo))
    run_git("-C", demo, "remote", "add", "origin", URL)
    assert identify_folder(str(clone)) == (str(clone), DEMO)


def test_a_remote_that_is_gone_stands_for_itself_and_a_circle_ends(tmp_path: Path) -> None:
    gone = make_repository(tmp_path / "one", "/srv/git/gone.git")
    assert identify_folder(str(gone))[1] == "/srv/git/gone.git"
    for name, other in (("a", "b"), ("b", "a")):
        make_repository(tmp_path / name, str(tmp_path / other))
    assert identify_folder(str(tmp_path / "a"))[0] == str(tmp_path / "a")
    assert identify_folder(str(make_repository(tmp_path / "self", ".")))[1] is None


def test_files_that_lead_to_each_other_end(tmp_path: Path) -> None:
    there = make_folder(tmp_path / "loop")
    for text in ("gitdir: .git\n", "gitdir: .\n", "gitdir: ../loop\n"):
        (tmp_path / "loop/.git").write_text(text)
        assert identify_folder(there) == (there, None)
    (tmp_path / "loop/.git").unlink()
    (tmp_path / "loop/.git").symlink_to(tmp_path / "loop/.git")
    assert identify_folder(there) == (there, None)
    (tmp_path / "loop/.git").unlink()
    (tmp_path / "loop/.git").write_text("gitdir: own\n")
    make_folder(tmp_path / "loop/own")
    (tmp_path / "loop/own/commondir").write_text(".\n")
    assert identify_folder(there) == (there, None)


def test_a_worktree_that_was_removed_is_its_repository_s(demo: Path, tmp_path: Path) -> None:
    run_git("-C", demo, "remote", "add", "origin", URL)
    for place in (".worktrees/topic", ".claude/worktrees/topic"):
        run_git("-C", demo, "worktree", "add", "--quiet", "--detach", demo / place)
        run_git("-C", demo, "worktree", "remove", demo / place)
        assert identify_folder(str(demo / place / "src")) == (str(demo), DEMO)
    assert resolve_project("/home/ada/gone/.worktrees/topic") == "/home/ada/gone"


def test_a_repository_in_the_home_directory_itself_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = make_repository(tmp_path / "ada", URL)
    there = make_folder(home / "code" / "demo")
    assert identify_folder(there) == (str(home), DEMO)
    monkeypatch.setenv("HOME", str(home))
    assert identify_folder(there) == (there, None)
    assert identify_folder(str(home)) == (str(home), None)


def test_a_link_to_a_folder_is_that_folder(demo: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(demo)
    assert resolve_project(make_folder(tmp_path / "link" / "src")) == str(demo)
    (tmp_path / "other").symlink_to(make_folder(tmp_path / "plain"))
    assert resolve_project(str(tmp_path / "other")) == str(tmp_path / "plain")


@given(st.binary(max_size=200))
def test_no_configuration_is_an_error(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    demo = tmp_path_factory.mktemp("demo")
    for name in ("objects", "refs"):
        make_folder(demo / ".git" / name)
    (demo / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (demo / ".git/config").write_bytes(b'[remote "origin"]\nurl = ' + data)
    assert identify_folder(str(demo))[0] == str(demo)
