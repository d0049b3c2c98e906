"""A memo is bound to the very file that is meant, by its path below the root of the project.

The guards: the walk to a folder that is there in `locate_file`, `isdisjoint` and `is_fixed` in `_locate_below`, the
slash and `_complete_path` in `resolve_subject`.
"""

from pathlib import Path

import pytest

from lineage.errors import InvalidInput
from lineage.pipeline.memory.memo_subjects import resolve_subject
from tests.support.git import make_repository


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    folder = make_repository(tmp_path / "home/demo")
    for name in ("docs/my notes.md", "gen/a.py", "scripts/test"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


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
    ],
)
def test_what_is_named_is_bound_to(root: Path, name: str, subject: str) -> None:
    assert resolve_subject(name.format(root=root), str(root)) == subject


OUTSIDE = (
    "/etc/nginx/nginx.conf", "/nowhere/x.py", "{root}", ".", "../x.py", "~nobody2/x.py", "C:/x/y.py",
    "{root}/../other/y.py",
)  # fmt: skip


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_file_outside_of_the_project_is_refused(root: Path, name: str) -> None:
    with pytest.raises(InvalidInput):
        resolve_subject(name.format(root=root), str(root))


def test_a_project_without_a_repository_has_files_and_another_s_are_refused(root: Path) -> None:
    plain = root.parent / "plain"
    (plain / "src").mkdir(parents=True)
    assert resolve_subject(f"{plain}/src/x.py", str(plain)) == "file:src/x.py"
    with pytest.raises(InvalidInput, match="no file of"):
        resolve_subject(f"{root}/gen/a.py", str(plain))


def test_without_a_project_a_file_of_any_repository_is_known_and_no_other(root: Path) -> None:
    other = make_repository(root.parent / "other")
    assert resolve_subject(f"{other}/x.py", "") == "file:x.py"
    assert resolve_subject(f"{other}/x.py", str(root), is_fixed=False) == "file:x.py"
    for where in ("", str(root)):
        with pytest.raises(InvalidInput, match="no file of"):
            resolve_subject("/etc/hosts.conf", where, is_fixed=False)


def test_a_file_of_a_worktree_is_known_by_its_path_there(root: Path) -> None:
    from tests.support.git import run_git

    run_git("-C", root, "worktree", "add", "-q", root / ".worktrees/more")
    assert resolve_subject(f"{root}/.worktrees/more/db/env.py", str(root)) == "file:db/env.py"
