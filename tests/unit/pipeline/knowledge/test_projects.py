"""A project's book folder: its base name, with a short hash where two share it; stable over time and machines.

Fails where the claim is not created once, where it is not asked, and where home directories count.
"""

from pathlib import Path

import pytest

from lineage.core.book_paths import BookRef
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.projects import CLAIM, project_folder, project_key
from lineage.store import MemoryStore
from tests.support.houses import contents, house_at, memory_house


def claimed(house: House, project: str) -> str:
    name = project_folder(house, project, claims=True)
    assert name is not None
    return name


def test_the_first_has_the_base_name_and_the_second_a_hash_whoever_asks_again(tmp_path: Path) -> None:
    with memory_house(tmp_path) as house:
        names = [claimed(house, path) for path in ("/home/ada/demo", "/home/ada/old/demo", "/srv/demo", "/srv/demo")]
        assert names[0] == "demo"
        assert names[2] == names[3]
        assert len(set(names)) == 3
        assert all(name.startswith("demo-") and len(name) == 13 for name in names[1:])
        again = [claimed(house, path) for path in ("/srv/demo", "/home/ada/old/demo", "/home/ada/demo")]
        assert again == [names[2], names[1], names[0]]


def test_who_only_looks_claims_nothing(tmp_path: Path) -> None:
    with memory_house(tmp_path) as house:
        assert project_folder(house, "/home/ada/demo") == "demo"
        assert contents(house.canon.store, "books/") == {}
        assert claimed(house, "/srv/demo") == "demo"
        assert project_folder(house, "/home/ada/demo") != "demo"


def test_on_another_machine_the_same_checkout_is_the_same_project(tmp_path: Path) -> None:
    store = MemoryStore()
    homes = ("/home/ada", "/Users/ada", "C:\\Users\\Ada", "/root", "/home/[REDACTED:user-name]")
    for number, home in enumerate(homes):
        with house_at(tmp_path / str(number), store=store, private=MemoryStore()) as house:
            assert claimed(house, home + "/code/demo/") == "demo"
            assert claimed(house, home + "/other/demo") != "demo"
    assert len(contents(store, "books/")) == 1


def test_a_bare_name_is_the_project_that_has_the_folder(tmp_path: Path) -> None:
    with memory_house(tmp_path) as house:
        assert claimed(house, "demo") == "demo"
        assert claimed(house, "/srv/demo") == "demo"
        assert claimed(house, "demo") == "demo"


def test_worktrees_of_a_repository_are_one_project(tmp_path: Path) -> None:
    git, tree = tmp_path / "demo" / ".git", tmp_path / "demo-feature"
    for folder in (git / "objects", git / "refs", git / "worktrees" / "demo-feature", tree / "src"):
        folder.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "worktrees" / "demo-feature" / "commondir").write_text("../..\n")
    (tree / ".git").write_text(f"gitdir: {git / 'worktrees' / 'demo-feature'}\n")
    with memory_house(tmp_path / "house") as house:
        assert {claimed(house, str(place)) for place in (tmp_path / "demo", tree, tree / "src")} == {"demo"}


@pytest.mark.parametrize("project", [None, "", "/", "~", "/home/ada", "C:\\Users\\Ada\\"])
def test_no_project_and_a_bare_home_directory_have_no_folder(tmp_path: Path, project: str | None) -> None:
    with memory_house(tmp_path) as house:
        assert project_folder(house, project, claims=True) is None


@pytest.mark.parametrize(
    "project", ["/srv/" + "x" * 300, "/srv/" + "日本" * 60, "/srv/..", "/srv/con", "/srv/a b", "/srv/É"]
)
def test_every_name_has_a_book_path(tmp_path: Path, project: str) -> None:
    with memory_house(tmp_path) as house:
        for path in (project, "/home/ada" + project):
            assert BookRef(f"project/{claimed(house, path)}", "lesson").path.startswith("books/project/")


def test_a_claim_that_cannot_be_read_is_somebody_else_s(tmp_path: Path) -> None:
    with memory_house(tmp_path) as house:
        claimed(house, "/srv/demo")
        path = f"books/project/demo/{CLAIM}"
        house.canon.store.replace(path, b"torn", house.canon.store.read(path).version)
        assert claimed(house, "/srv/demo").startswith("demo-")
        assert contents(house.canon.store, "books/") == {path: b"torn"}


def test_the_key_leaves_the_rest_of_the_path_alone() -> None:
    assert project_key("/mnt/home/ada/demo") == "/mnt/home/ada/demo"
    assert project_key("/homes/ada/demo") == "/homes/ada/demo"
    assert project_key(None) == ""
