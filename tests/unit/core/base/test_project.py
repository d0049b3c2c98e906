"""Project identity, pure: remotes in all their forms, paths on all machines, and names of projects.

Fails without a line of `normalize_remote` or `_unify_host`, without `strip_worktree`, and where a path that had two
repositories joins one of them.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base.project import (
    build_project_key,
    is_repository,
    join_projects,
    label_projects,
    normalize_remote,
    strip_worktree,
)
from tests.support.parametrize import each

SECRET = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
GITHUB = (
    "https://github.com/ada/demo", "https://github.com/ada/demo.git", "https://github.com/Ada/Demo.git/",
    "http://www.github.com/ada/demo", "https://GITHUB.com:443/ada/demo.git", "git://github.com/ada/demo.git",
    "ssh://git@github.com/ada/demo.git", "ssh://git@github.com:22/ada/demo", "ssh://git@ssh.github.com:443/ada/demo.git",
    "git+ssh://git@github.com/ada/demo.git", "git@github.com:ada/demo.git", "git@github.com:/ada/demo.git",
    "github.com:ada/demo", "  git@github.com:ada/demo.git\n", "ssh://git@[github.com]:22/ada/demo",
    "git@[github.com:22]:ada/demo.git", f"https://{SECRET}@github.com/ada/demo.git", "https://github.com./ada//demo",
    f"https://ada:{SECRET}@github.com/ada/demo", f"https://ada:p@ss/w#?{SECRET}@github.com/ada/demo.git",
    f"https://github.com/ada/demo.git?private_token={SECRET}", f"https://github.com/ada/demo#{SECRET}",
)  # fmt: skip
AZURE = (
    "https://dev.azure.com/org/proj/_git/demo", "https://ada@dev.azure.com/org/proj/_git/demo",
    "git@ssh.dev.azure.com:v3/org/proj/demo", "https://org.visualstudio.com/proj/_git/demo",
    "https://org.visualstudio.com/DefaultCollection/proj/_git/demo", "org@vs-ssh.visualstudio.com:v3/org/proj/demo",
    "ssh://org@vs-ssh.visualstudio.com:22/v3/org/proj/demo",
)  # fmt: skip
OTHERS = {
    "https://gitlab.com/Group/sub/demo.git": "gitlab.com/group/sub/demo",
    "git@altssh.gitlab.com:group/sub/demo.git": "gitlab.com/group/sub/demo",
    "https://dev.azure.com/org/_git/demo": "dev.azure.com/org/demo/demo",
    "https://dev.azure.com/org/My%20Project/_git/demo": "dev.azure.com/org/my%20project/demo",
    "ssh://git@git.example.org:2222/Team/Demo.git": "git.example.org/Team/Demo",
    "https://git.example.org:8443/Team/Demo": "git.example.org/Team/Demo",
    "ada@host.local:work/demo.git": "host.local/work/demo",
    "ssh://host.local/home/ada/demo/.git": "host.local/home/ada/demo",
    "ssh://[fe80::1]:22/srv/demo.git": "fe80::1/srv/demo",
    "git@gist.github.com:0123abcd.git": "gist.github.com/0123abcd",
}
NONE = (
    "", " ", "/srv/git/demo.git", "../demo.git", "demo", "./a:b", "C:\\git\\demo", "c:/git/demo", "file:///srv/demo.git",
    "FILE://localhost/srv/demo", "https://", "https://github.com", "https://github.com/", "https://github.com/../x",
    "ext::sh -c x", "https://exa mple.org/x", "https://example.org/\x1b[31m", "https://example.org/" + "x" * 600,
    f"{SECRET}@", "git@:ada/demo",
)  # fmt: skip


@each("url", GITHUB)
def test_every_form_of_a_remote_is_one_repository_without_its_credentials(url: str) -> None:
    assert normalize_remote(url) == "github.com/ada/demo"


@each("url", AZURE)
def test_every_address_of_azure_is_one(url: str) -> None:
    assert normalize_remote(url) == "dev.azure.com/org/proj/demo"


@each("url", OTHERS)
def test_other_hosts_keep_the_case_of_their_paths(url: str) -> None:
    assert normalize_remote(url) == OTHERS[url]


@each("url", NONE)
def test_what_names_no_host_and_no_repository_is_none(url: str) -> None:
    assert normalize_remote(url) is None


SIGNS = st.text("ab:/@.#?[]\\ %git\n", max_size=40)


@given(st.sampled_from(["https://", "ssh://", "git+ssh://", ""]), SIGNS, SIGNS)
def test_no_sign_brings_a_password_through(scheme: str, before: str, after: str) -> None:
    """Whatever a password holds: git takes it up to the last `@`."""
    found = normalize_remote(f"{scheme}user:{before}{SECRET}{before}@example.org/{after.replace('@', '')}")
    assert SECRET not in (found or "")


@given(SIGNS | st.text())
def test_a_normalized_remote_is_a_key_and_stays_as_it_is(url: str) -> None:
    if found := normalize_remote(url):
        assert found.isprintable()
        assert normalize_remote(f"https://{found}") is not None or ":" in found or "@" in found


@each(
    ("path", "key"),
    [
        ("/home/ada/demo/", "~/demo"), ("/Users/ada/demo", "~/demo"), ("/root/demo", "~/demo"), ("/root", "~"),
        ("C:\\Users\\Ada\\demo", "~/demo"), ("c:/users/ada", "~"), ("/srv/demo", "/srv/demo"), ("/", ""), (None, ""),
        ("/rooted/demo", "/rooted/demo"), ("/home", "/home"), ("demo", "demo"), ("d:\\demo", "d:/demo"),
        ("/home/ada/demo/.worktrees/x", "~/demo"), ("/home/ada/demo/.claude/worktrees/x/src", "~/demo"),
        ("C:\\Users\\ada\\demo\\.worktrees\\x", "~/demo"), ("/home/ada/demo/.worktrees", "~/demo/.worktrees"),
        ("/home/ada/demo/.claude/worktrees/x/.worktrees/y", "~/demo"), ("/.worktrees/x", "/.worktrees/x"),
    ],
)  # fmt: skip
def test_a_path_s_key_is_the_same_in_every_home_and_worktree(path: str | None, key: str) -> None:
    assert build_project_key(path) == key
    assert build_project_key(path, "github.com/ada/demo") == "github.com/ada/demo"


@given(st.text())
def test_no_path_is_an_error(path: str) -> None:
    assert build_project_key(build_project_key(path)) is not None
    assert path.startswith(strip_worktree(path))


@pytest.mark.parametrize("path", ["~/demo", "/srv/demo", "c:/demo", "demo", "~", "//host/share/demo"])
def test_a_path_is_no_repository(path: str) -> None:
    assert not is_repository(path)


def test_a_name_that_two_share_is_told_with_its_owner() -> None:
    keys = [
        "github.com/ada/cli",
        "gitlab.com/ada/cli",
        "github.com/eve/cli",
        "~/tools/cli",
        "~/demo",
        "~/demo",
        "~",
        "",
    ]
    assert label_projects(keys) == {
        "github.com/ada/cli": "github.com/ada/cli", "gitlab.com/ada/cli": "gitlab.com/ada/cli",
        "github.com/eve/cli": "eve/cli", "~/tools/cli": "tools/cli", "~/demo": "demo", "~": "~", "": "",
    }  # fmt: skip


def test_a_path_joins_the_repository_that_came_to_it_unless_there_were_two() -> None:
    joined = join_projects([
        ("~/demo", "/home/ada/demo"), ("github.com/ada/demo", "/Users/ada/demo"), ("~/plain", "/home/ada/plain"),
        ("/workspace", "/workspace"), ("github.com/ada/a", "/workspace"), ("github.com/ada/b", "/workspace"),
        ("github.com/ada/home", "/home/ada"), ("~", "/root"),
    ])  # fmt: skip
    assert joined["~/demo"] == joined["github.com/ada/demo"] == "github.com/ada/demo"
    assert {key: joined[key] for key in ("~/plain", "/workspace", "~")} == {
        "~/plain": "~/plain", "/workspace": "/workspace", "~": "~",
    }  # fmt: skip
