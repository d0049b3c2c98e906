"""Messages that say what happened and what to type.

Fails without `find_nearest_workspace` and without the count of the whole workspace in `_describe_nothing`.
"""

from pathlib import Path

import pytest

from lineage.app.locations import find_nearest_workspace
from tests.support.commands import LineageCommand

pytestmark = pytest.mark.in_folder


def make(root: Path) -> Path:
    (root / ".lineage").mkdir(parents=True)
    return root


def test_a_wrong_workspace_is_answered_with_the_nearest(lineage: LineageCommand, tmp_path: Path) -> None:
    real = make(tmp_path / "memory-of-ada")
    vault = make(tmp_path / "Vault" / "lineage")
    beside = make(real / "notes")
    for typed, meant in (
        (tmp_path / "memory-of-adda", real),
        (real / "projects" / "x", real),
        (vault.parent, vault),
        (beside.parent / "noets", beside),  # a typing mistake within another workspace
    ):
        done = lineage("-w", str(typed), "list")
        assert done.code == 1
        assert f"no workspace at {typed}" in done.err and f"did you mean `lineage -w {meant}`?" in done.err, done.err
        assert (f"`lineage init {typed}`" in done.err) is not typed.exists(), "nothing is made among files of others"
    assert not (tmp_path / "memory-of-adda").exists()


def test_without_anything_like_it_those_of_the_machine_are_proposed(tmp_path: Path, home: Path) -> None:
    wrong = tmp_path / "elsewhere" / "zzz"
    assert find_nearest_workspace(wrong) is None
    ours = make(home / "lineage")
    assert find_nearest_workspace(wrong) == ours
    assert find_nearest_workspace(Path("/proc/1/root/x")) == ours  # no right to look there


def test_a_filter_without_sessions_says_that_others_are_there(lineage: LineageCommand) -> None:
    make(lineage.root)
    assert "no sessions yet" in lineage("list").out
    lineage.end_sample()
    for words, asked in ((["--project", "nope"], "in the project nope"), (["--agent", "ann"], "of the agent ann")):
        out = lineage("list", *words).out
        assert f"no session {asked}; `lineage list --agent all` lists the 1 of the workspace" in out
    assert lineage("list", "--project", "nope", "--json").json == {"sessions": []}
