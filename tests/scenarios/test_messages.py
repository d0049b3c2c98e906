"""Messages that say what happened and what to type.

Fails without `find_nearest_workspace` and without the count of the whole workspace in `_describe_nothing`.
"""

import shlex
from pathlib import Path

import pytest

from lineage.app.locations import find_nearest_workspace
from lineage.cli.lazy import COMMAND_KEY, TYPED_KEY, format_typed
from lineage.cli.main import run
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
    for words, asked, lists in (
        (["--project", "nope"], "in the project nope", "lineage list"),
        (["--agent", "ann"], "of the agent ann", "lineage list --agent all"),
        (["--project", "nope", "--agent", "all"], "in the project nope", "lineage list --agent all"),
    ):
        out = lineage("list", *words).out
        assert f"no session {asked}; `{lists}` lists the 1 of the workspace" in out
    assert lineage("list", "--project", "nope", "--json").json == {"sessions": []}


def test_before_a_set_up_nobody_is_told_of_a_folder_that_nobody_named(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fails without `_names_workspace`."""

    def list_sessions() -> str:
        assert run(["list"]) == 1
        return capsys.readouterr().err

    said = list_sessions()
    assert "no memory is set up yet" in said and "run `lineage setup`" in said and ".agents" not in said
    ours = make(home / "lineage")  # an undo leaves it
    assert f"run `lineage setup`; `lineage -w {ours} list` reads the one that is there" in list_sessions()
    monkeypatch.setenv("LINEAGE_WORKSPACE", str(home / ".agents"))
    assert f"no workspace at {home / '.agents'}" in list_sessions()
    monkeypatch.delenv("LINEAGE_WORKSPACE")
    config = home / ".config" / "lineage" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f"workspace = '{tmp_path / 'gone'}'\n")
    assert f"no workspace at {tmp_path / 'gone'}" in list_sessions()


def test_where_nobody_can_answer_the_hint_is_the_line_that_was_typed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = make(tmp_path / "of ada")
    for typed in (["-w", str(root), "admin", "telemetry", "reset"], ["admin", "telemetry", "reset", "-w", str(root)]):
        assert run(typed) == 2
        assert f"run `{shlex.join(['lineage', *typed, '--yes'])}`" in capsys.readouterr().err


def test_a_line_that_is_long_or_no_single_one_is_named_by_its_command() -> None:
    state = {COMMAND_KEY: "lineage remove", TYPED_KEY: ("remove", "x")}
    assert format_typed(state, "--yes") == "lineage remove x --yes"
    assert format_typed({**state, TYPED_KEY: ("remove", "--yes", "--", "-x")}, "--yes") == "lineage remove --yes -- -x"
    assert format_typed({**state, TYPED_KEY: ("remove", "--", "-x")}, "--yes") == "lineage remove --yes -- -x"
    for word in ("x" * 400, "a\nb", "a`b", "\x1b[2J", "\u202e"):
        assert format_typed({**state, TYPED_KEY: ("remove", word)}, "--yes") == "lineage remove --yes", word
