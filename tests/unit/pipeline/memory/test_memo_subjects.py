"""A memo is bound to the very file that is meant, by its path below the root of the project.

The guards: the walk to a folder that is there in `locate_in_project`, `isdisjoint` and the name inside a folder in
`_locate_below`, the slash, `_look` and `is_sorted` in `resolve_subject`.
"""

from pathlib import Path

import pytest

from lineage.errors import InvalidInput
from lineage.pipeline.memory.memo_subjects import resolve_subject
from lineage.projects import list_project_keys
from tests.support.git import make_repository, run_git


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    folder = make_repository(tmp_path / "home/demo")
    for name in ("docs/my notes.md", "gen/a.py", "scripts/test"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def resolve(name: str, folder: Path) -> str:
    return resolve_subject(name, str(folder), list_project_keys(str(folder)))


@pytest.mark.parametrize(
    ("name", "subject"),
    [
        ("db/env.py", "file:db/env.py"),
        ("{root}/db/env.py", "file:db/env.py"),
        ("{root}/not/yet/there.yaml", "file:not/yet/there.yaml"),
        ("~/demo/gen/a.py", "file:gen/a.py"),
        ("gen/", "file:gen/"),
        ("gen", "file:gen/"),
        ("file:gen/", "file:gen/"),
        ("{root}/gen", "file:gen/"),
        ("not/yet/", "file:not/yet/"),
        ("docs/my notes.md", "file:docs/my notes.md"),
        ("{root}/docs/my notes.md", "file:docs/my notes.md"),
        ("docs/no notes.md", "command:docs/no notes.md"),
        ("scripts/test", "command:scripts/test"),
        ("{root}/scripts/test", "file:scripts/test"),
        ("pnpm test", "command:pnpm test"),
        ("KeyError", "error:KeyError"),
        ("command:gen", "command:gen"),
        ("error:gen", "error:gen"),
        ("command:/bin/ls", "command:/bin/ls"),
        ("file:gen", "file:gen/"),
    ],
)
def test_what_is_named_is_bound_to(root: Path, name: str, subject: str) -> None:
    assert resolve(name.format(root=root), root) == subject


OUTSIDE = (
    "/etc/nginx/nginx.conf", "/nowhere/x.py", "{root}", ".", "../x.py", "~nobody2/x.py", "C:/x/y.py",
    "{root}/../other/y.py",
)  # fmt: skip


@pytest.mark.parametrize("folder", ["", "gen"])
@pytest.mark.parametrize("name", ["", " ", "``", "TypeError: cannot read " + "x" * 200, "file:", "command:", "x" * 300])
def test_what_is_no_name_is_refused(root: Path, folder: str, name: str) -> None:
    with pytest.raises(InvalidInput, match="nothing to be bound to"):
        resolve(name, root / folder)


def test_a_long_path_counts_as_it_is_below_the_root(root: Path) -> None:
    deep = root.joinpath(*["deep"] * 30)
    assert len(str(deep)) > 200 - 20
    assert resolve(f"{root.parent}/{'./' * 60}demo/gen/a.py", root) == "file:gen/a.py"


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_file_outside_of_the_project_is_refused(root: Path, name: str) -> None:
    with pytest.raises(InvalidInput):
        resolve(name.format(root=root), root)


def test_a_project_without_a_repository_has_files_and_another_s_are_refused(root: Path) -> None:
    plain = root.parent / "plain"
    (plain / "src").mkdir(parents=True)
    assert resolve(f"{plain}/src/x.py", plain) == "file:src/x.py"
    with pytest.raises(InvalidInput, match="no file of"):
        resolve(f"{root}/gen/a.py", plain)


def test_without_a_project_a_file_of_any_repository_is_known_and_no_other(root: Path) -> None:
    other = make_repository(root.parent / "other")
    assert resolve_subject(f"{other}/x.py", "", []) == "file:x.py"
    assert resolve_subject(f"{other}/x.py", str(root), []) == "file:x.py"
    for where in ("", str(root)):
        with pytest.raises(InvalidInput, match="no file of"):
            resolve_subject("/etc/hosts.conf", where, [])


def test_what_is_there_is_found_from_the_caller_s_folder(root: Path) -> None:
    (root / "packages/api/src").mkdir(parents=True)
    for name in ("packages/api/src/app.py", "packages/api/Makefile", "packages/web.py"):
        (root / name).touch()
    api = root / "packages/api"
    names = ("src/app.py", "./src/app.py", "Makefile", "src", "../web.py", "src/new.py", "gen/a.py")
    found = ["packages/api/src/app.py"] * 2 + ["packages/api/Makefile", "packages/api/src/", "packages/web.py"]
    assert [resolve(name, api) for name in names] == [f"file:{one}" for one in (*found, "src/new.py", "gen/a.py")]
    (root / "link").symlink_to(api)
    assert resolve("link/src/app.py", root) == resolve(f"{root}/link/src/app.py", root) == f"file:{found[0]}"


def test_a_folder_that_is_another_project_or_a_worktree_is_refused(root: Path) -> None:
    make_repository(root / "vendor/sub")
    run_git("-C", root, "worktree", "add", "-q", root / ".worktrees/more")
    for name in ("vendor/sub", "vendor/sub/", f"{root}/vendor/sub", f"{root}/.worktrees/more", "vendor/sub/x.py"):
        (root / "vendor/sub/x.py").touch()
        with pytest.raises(InvalidInput):
            resolve(name, root)
    assert resolve("vendor/", root) == "file:vendor/"


def test_a_project_without_a_repository_is_known_behind_a_link_too(root: Path) -> None:
    plain, link = root.parent / "plain", root.parent / "link"
    (plain / "src").mkdir(parents=True)
    link.symlink_to(plain)
    for folder in (plain, link):
        for place in (plain, link):
            assert resolve(f"{place}/src/x.py", folder) == "file:src/x.py"


def test_a_file_of_a_worktree_is_known_by_its_path_there(root: Path) -> None:
    run_git("-C", root, "worktree", "add", "-q", root / ".worktrees/more")
    assert resolve(f"{root}/.worktrees/more/db/env.py", root) == "file:db/env.py"
