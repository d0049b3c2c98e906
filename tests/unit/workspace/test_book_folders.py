"""A project's book folder: its base name, with a short hash where two share it; stable over time and machines.

Fails where the claim is not created once, where it is not asked, and where home directories count.
"""

from pathlib import Path

import pytest

from lineage.core.base.book_paths import BookRef
from lineage.core.base.project import build_project_key
from lineage.workspace.book_folders import CLAIM_NOTE, resolve_project_folder
from lineage.workspace.workspace import Workspace
from tests.support.memory_store import MemoryStore
from tests.support.workspace import open_memory_workspace, open_test_workspace, read_store


def claimed(ws: Workspace, project: str) -> str:
    name = resolve_project_folder(ws, project, claim=True)
    assert name is not None
    return name


def test_the_first_has_the_base_name_and_the_second_a_hash_whoever_asks_again(tmp_path: Path) -> None:
    with open_memory_workspace(tmp_path) as ws:
        names = [claimed(ws, path) for path in ("/home/ada/demo", "/home/ada/old/demo", "/srv/demo", "/srv/demo")]
        assert names[0] == "demo"
        assert names[2] == names[3]
        assert len(set(names)) == 3
        assert all(name.startswith("demo-") and len(name) == 13 for name in names[1:])
        again = [claimed(ws, path) for path in ("/srv/demo", "/home/ada/old/demo", "/home/ada/demo")]
        assert again == [names[2], names[1], names[0]]


def test_who_only_looks_claims_nothing(tmp_path: Path) -> None:
    with open_memory_workspace(tmp_path) as ws:
        assert resolve_project_folder(ws, "/home/ada/demo") == "demo"
        assert read_store(ws.documents.store, "books/") == {}
        assert claimed(ws, "/srv/demo") == "demo"
        assert resolve_project_folder(ws, "/home/ada/demo") != "demo"


def test_on_another_machine_the_same_checkout_is_the_same_project(tmp_path: Path) -> None:
    store = MemoryStore()
    homes = ("/home/ada", "/Users/ada", "C:\\Users\\Ada", "/root", "/home/[REDACTED:user-name]")
    for number, home in enumerate(homes):
        with open_test_workspace(tmp_path / str(number), store=store, private=MemoryStore()) as ws:
            assert claimed(ws, home + "/code/demo/") == "demo"
            assert claimed(ws, home + "/other/demo") != "demo"
    assert len(read_store(store, "books/")) == 1


def test_a_bare_name_is_the_project_that_has_the_folder(tmp_path: Path) -> None:
    with open_memory_workspace(tmp_path) as ws:
        assert claimed(ws, "demo") == "demo"
        assert claimed(ws, "/srv/demo") == "demo"
        assert claimed(ws, "demo") == "demo"


def test_worktrees_of_a_repository_are_one_project(tmp_path: Path) -> None:
    git, tree = tmp_path / "demo" / ".git", tmp_path / "demo-feature"
    for folder in (git / "objects", git / "refs", git / "worktrees" / "demo-feature", tree / "src"):
        folder.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "worktrees" / "demo-feature" / "commondir").write_text("../..\n")
    (tree / ".git").write_text(f"gitdir: {git / 'worktrees' / 'demo-feature'}\n")
    with open_memory_workspace(tmp_path / "ws") as ws:
        assert {claimed(ws, str(place)) for place in (tmp_path / "demo", tree, tree / "src")} == {"demo"}


@pytest.mark.parametrize("project", [None, "", "/", "~", "/home/ada", "C:\\Users\\Ada\\"])
def test_no_project_and_a_bare_home_directory_have_no_folder(tmp_path: Path, project: str | None) -> None:
    with open_memory_workspace(tmp_path) as ws:
        assert resolve_project_folder(ws, project, claim=True) is None


@pytest.mark.parametrize(
    "project", ["/srv/" + "x" * 300, "/srv/" + "日本" * 60, "/srv/..", "/srv/con", "/srv/a b", "/srv/É"]
)
def test_every_name_has_a_book_path(tmp_path: Path, project: str) -> None:
    with open_memory_workspace(tmp_path) as ws:
        for path in (project, "/home/ada" + project):
            assert BookRef(f"project/{claimed(ws, path)}", "lesson").path.startswith("books/project/")


def test_a_claim_that_cannot_be_read_is_somebody_else_s(tmp_path: Path) -> None:
    with open_memory_workspace(tmp_path) as ws:
        claimed(ws, "/srv/demo")
        path = f"books/project/demo/{CLAIM_NOTE}"
        ws.documents.store.replace(path, b"torn", ws.documents.store.read(path).version)
        assert claimed(ws, "/srv/demo").startswith("demo-")
        assert read_store(ws.documents.store, "books/") == {path: b"torn"}


def test_the_key_leaves_the_rest_of_the_path_alone() -> None:
    assert build_project_key("/mnt/home/ada/demo") == "/mnt/home/ada/demo"
    assert build_project_key("/homes/ada/demo") == "/homes/ada/demo"
    assert build_project_key(None) == ""
