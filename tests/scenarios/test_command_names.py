"""Every command line of version 0.9 still works: its options, its exit code and the shape of its JSON.

`tests/data/commands.json` is what `walk` and `run_lines` gave before the commands were put into groups: every command
path with its parameters, and for each line of `lines` its exit code and the keys of its JSON. It isn't written anew: a
line of it that no longer holds is a command line of somebody's that broke.

Fails where an old name, option or key goes, an option takes other values, or an alias does something else.
"""

import json
from pathlib import Path
from typing import Any

import click
import pytest

from lineage.cli.main import cli
from tests.support.commands import LineageCommand
from tests.support.sample_workspace import write_sample_workspace

DATA = Path(__file__).parents[1] / "data" / "commands.json"


def describe(parameter: click.Parameter) -> dict[str, Any]:
    """What a command line can say to a parameter."""
    kind = parameter.type
    range_of = [getattr(kind, "min", None), getattr(kind, "max", None)]
    value = {
        "kind": parameter.param_type_name,
        "nargs": parameter.nargs,
        "required": parameter.required,
        "type": type(kind).__name__,
        "choices": list(getattr(kind, "choices", [])),
        "range": range_of,
    }
    if isinstance(parameter, click.Option):
        value |= {"flag": parameter.is_flag, "multiple": parameter.multiple}
    return value


def name_of(parameter: click.Parameter) -> str:
    is_argument = isinstance(parameter, click.Argument)
    return f"<{parameter.name}>" if is_argument else " ".join(sorted([*parameter.opts, *parameter.secondary_opts]))


def walk(command: click.Command, path: tuple[str, ...] = ()) -> dict[str, dict[str, Any]]:
    """Each command path below `command` with its parameters."""
    found = {" ".join(path): {name_of(one): describe(one) for one in command.params}}
    if isinstance(command, click.Group):
        with click.Context(command) as context:
            for name in command.list_commands(context):
                child = command.get_command(context, name)
                assert child is not None
                found |= walk(child, (*path, name))
    return found


def find(path: str) -> click.Command:
    command: click.Command = cli
    for word in path.split():
        assert isinstance(command, click.Group)
        with click.Context(command) as context:
            child = command.get_command(context, word)
        assert child is not None, f"`lineage {path}` is gone"
        command = child
    return command


def shape(value: Any) -> Any:
    """The keys of JSON; of a list the keys that its items have together."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        items = [shape(item) for item in value]
        together: dict[str, Any] = {}
        for item in items:
            together |= item if isinstance(item, dict) else {}
        return [together] if together else []
    return "null" if value is None else type(value).__name__


def lines(home: Path) -> list[list[str]]:
    """Command lines over the sample workspace, in an order in which each finds what it needs."""
    out = str(home / "out.zip")
    book = ["book"]
    return [
        ["init", "--json"], ["status", "--json"], ["doctor", "--json"], ["sessions", "--json"], ["sessions"],
        ["show", "long", "--json"], ["show", "long", "--turns", "1-2", "--json"], ["show", "nothing", "--json"],
        ["open", "long", "--editor", "--print", "--json"], ["search", "parser", "--json"], ["search"],
        ["context", "--json"], ["context", "--explain"], ["context", "--prompt", "what about parser.py", "--json"],
        ["resume", "long", "--json"], ["send", "nothing", "hi"], ["spawn", "nothing", "hi"],
        ["remember", "Backups run on Sundays.", "--json"], ["remember", "--kind", "no-kind", "x"],
        [*book, "list", "--json"], [*book, "list", "--pending", "--json"],
        [*book, "show", "global", "preference", "--json"],
        [*book, "add", "global", "note", "Staging is rebuilt nightly.", "--json"], [*book, "edit", "zzzz", "x"],
        [*book, "done", "zzzz"], [*book, "pin", "zzzz"], [*book, "demote", "zzzz", "global"], [*book, "forget", "zzzz"],
        [*book, "confirm", "zzzz", "--yes"], [*book, "why", "zzzz"],
        [*book, "migrate", str(home), "--dry-run", "--json"],
        [*book, "relearn", "--dry-run", "--json"],
        ["bundle", "export", "long", "-o", out, "--json"], ["bundle", "import", out, "--dry-run", "--json"],
        ["bundle", "export", "-o", out], ["export", "long", "--markdown", "-", "--json"], ["export"],
        ["archive", "--before", "2026-01-01", "--dry-run", "--json"], ["archive", "--before", "never"],
        ["reindex", "--json"], ["reindex", "--recent", "--json"], ["render", "--json"], ["verify", "--json"],
        ["recover", "--json"], ["upgrade", "--dry-run", "--json"], ["resanitize", "--dry-run", "--json"],
        ["sanitize", str(home / "text.txt"), "--json"], ["sanitize", str(home / "missing.txt")], ["embed", "--json"],
        ["sweep", "--json"], ["work", "--json"], ["watch", "--once", "--json"],
        ["mirror", str(home / "vault"), "--once", "--json"],
        ["import", "all", "--dry-run", "--json"], ["import", "nothing"], ["hooks", "status", "--json"],
        ["hooks", "install", "--dry-run", "--json"], ["hooks", "uninstall", "--json"], ["hooks", "install", "nothing"],
        ["serve", "--port", "0", "--check", "--json"], ["mcp", "--tools", "--json"], ["help", "--json"],
        ["help", "--folder", "--json"], ["help", "no such page"], ["telemetry", "reset", "--yes", "--json"],
        ["telemetry", "reset"], ["store", "check", str(home / "w"), "--processes", "2", "--json"],
        ["migrate-store", str(home / "w"), str(home / "moved"), "--json"],
        ["remove", "short", "--dry-run", "--json"], ["remove", "short"], ["remove", "short", "--yes", "--json"],
        ["session-end", "--harness", "generic", "--session-id", "new", "--transcript", "User: hi", "--json"],
        ["compaction", "--harness", "generic", "--session-id", "new", "--summary", "Goal: hi.", "--json"],
        ["session-end"], ["nonsense"], ["sessions", "--limit", "0"], ["sessions", "--nonsense"],
    ]  # fmt: skip


def run_lines(lineage: LineageCommand, home: Path) -> list[dict[str, Any]]:
    write_sample_workspace(lineage.root)
    (home / "text.txt").write_text("password = hunter2-Xk29!qq\n")
    ran = []
    for line in lines(home):
        done = lineage(*line)
        words = [word.replace(str(home), "HOME") for word in line]
        value = shape(done.json) if done.out.startswith("{") else None
        ran.append({"line": words, "code": done.code, "json": value})
    return ran


def holds(old: Any, new: Any) -> bool:
    """Whether what was there is there, a value of the same kind, in the same order; more keys may come."""
    if isinstance(old, dict) and isinstance(new, dict):
        kept = [key for key in new if key in old]
        return kept == list(old) and all(holds(old[key], new[key]) for key in old)
    if isinstance(old, list) and isinstance(new, list):
        return not old or not new or holds(old[0], new[0])
    return bool(old == new or "null" in (old, new))


@pytest.fixture(scope="module")
def recorded() -> Any:
    return json.loads(DATA.read_text(encoding="utf-8"))


def test_every_command_and_option_of_before_is_there(recorded: Any) -> None:
    for path, parameters in recorded["commands"].items():
        there = {name_of(one): describe(one) for one in find(path).params}
        names = {name.split(" ")[0]: name for name in there}
        for name, value in parameters.items():
            assert name.split(" ")[0] in names, f"lineage {path}: {name} is gone"
            new = there[names[name.split(" ")[0]]]
            assert set(name.split()) <= set(names[name.split(" ")[0]].split()), (path, name)
            assert set(value["choices"]) <= set(new["choices"]), (path, name)
            assert new["required"] <= value["required"], (
                path,
                name,
            )  # what was needed may be left out, not the reverse
            assert {**value, "choices": [], "required": 0} == {**new, "choices": [], "required": 0}, (path, name)


@pytest.mark.slow
@pytest.mark.in_folder
def test_every_command_line_of_before_ends_as_before(lineage: LineageCommand, home: Path, recorded: Any) -> None:
    for old, new in zip(recorded["lines"], run_lines(lineage, home), strict=True):
        assert (new["line"], new["code"]) == (old["line"], old["code"])
        assert holds(old["json"], new["json"]), (old["line"], old["json"], new["json"])
