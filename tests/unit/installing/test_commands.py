"""The command line of a hook: what a shell makes of it, and which handlers are lineage's."""

import os
import shlex
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.errors import InvalidInput
from lineage.installing.commands import HookCommand, find_entries, get_option, parse_handler
from tests.support.parametrize import each

PATHS = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=20).map(
    "/home/{}".format
)


@given(program=PATHS, workspace=PATHS)
def test_a_shell_gets_the_words_back(program: str, workspace: str) -> None:
    command = HookCommand((f"{program}/lineage",), "codex", workspace, "default")
    assert shlex.split(command.shell) == list(command.argv)
    assert parse_handler({"command": command.shell}, "codex") == command.argv
    assert parse_handler({"bash": command.bash, "powershell": command.powershell}, "codex") == command.argv


@pytest.mark.skipif(os.name == "nt", reason="a POSIX shell")
def test_a_real_shell_runs_it_as_it_is_meant() -> None:
    command = HookCommand(
        (shutil.which("printf") or "printf", "%s\\n", "lineage"), "codex", '/it\'s $HOME `x` "q" \\ *', "a"
    )
    done = subprocess.run(["sh", "-lc", command.shell], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:-1] == list(command.argv[2:])


@pytest.mark.parametrize("workspace", ["/a\nb", "/a\x1b[1m", "/a\u2028b", "/a\udce9"])
def test_a_path_that_no_file_can_hold_is_refused(workspace: str) -> None:
    with pytest.raises(InvalidInput, match="not a path that a hook can name"):
        HookCommand(("lineage",), "codex", workspace, "default")


@pytest.mark.parametrize("agent", ["", "a b", "a:b", "-x"])
def test_an_agent_is_checked(agent: str) -> None:
    with pytest.raises(InvalidInput):
        HookCommand(("lineage",), "codex", "/w", agent)


OURS = [
    {"command": "lineage hook codex"},
    {"type": "command", "command": "lineage", "args": ["hook", "codex"]},
    {"command": "/usr/bin/python3 -m lineage hook codex --workspace /w"},
    {"command": "uv run lineage -w /w hook codex"},
    {"command": "'/opt/my tools/lineage' hook codex"},
    {"command": r"C:\Users\ada\lineage.exe hook codex"},
    {"command": r'"C:\Program Files\lineage.exe" hook codex'},
    {"powershell": r"& 'C:\Program Files\lineage.exe' 'hook' 'codex'"},
    {"commandWindows": "lineage.exe hook codex"},
]
OTHERS = [
    None,
    "lineage hook codex",
    {"command": "lineage hook gemini"},
    {"command": "lineage status"},
    {"command": "hook codex"},
    {"command": "my-lineage hook codex"},
    {"command": "lineage-hook codex"},
    {"command": "hook codex lineage"},
    {"command": "lineage hook codex && notify-send done"},
    {"command": "lineage hook codex; rm x"},
    {"command": "lineage hook codex | tee log"},
    {"command": "lineage 'hook codex"},
    {"command": ["lineage", "hook", "codex"]},
    {"command": "lineage", "args": [1, "codex"]},
    {"url": "lineage hook codex"},
]


@each("handler", OURS)
def test_a_handler_is_known_by_its_command(handler: object) -> None:
    assert parse_handler(handler, "codex") is not None


@each("handler", OTHERS)
def test_what_others_run_is_theirs(handler: object) -> None:
    assert parse_handler(handler, "codex") is None


def test_entries_say_where_they_stand() -> None:
    ours, theirs = {"command": "lineage hook codex"}, {"command": "echo"}
    hooks = {"Stop": [theirs, {"hooks": [theirs, ours]}, {"hooks": [ours]}, ours], "x": 1, "y": [1, {"hooks": []}]}
    places = [(entry.event, entry.index, entry.handler) for entry in find_entries(hooks, "codex")]
    assert places == [("Stop", 1, 1), ("Stop", 2, None), ("Stop", 3, None)]
    assert list(find_entries(None, "codex")) == list(find_entries([hooks], "codex")) == []


def test_an_option_that_is_missing_is_none() -> None:
    assert get_option(["lineage", "hook", "codex", "--agent"], "--agent") is None
