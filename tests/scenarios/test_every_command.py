"""Every command with what goes wrong: one line says what happened, one says what to type, and nothing crashes.

The tree of commands is walked: a new command needs a line of LINES, a working command line. Each is run without what it
requires, with options that it hasn't, with hostile values in every place, over workspaces that aren't there, aren't
readable, can't be written or are full, and interrupted. What is proposed is looked up in the tree.

Fails without `add_command` and `_fit_line` in `print_error`, without `_REFUSALS` in `_report_unexpected`, without
`require_name`, and where a hint names a command or option that isn't there.
"""

import io
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click
import pytest

from lineage.cli.main import run
from tests.support.command_tree import describe_bad_message, walk_commands
from tests.support.commands import CommandResult
from tests.support.sample_workspace import write_sample_workspace

pytestmark = [pytest.mark.in_folder, pytest.mark.leaves_findings]

LINES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "setup": (("--yes", "--no-hooks", "--no-import"), ()),
    "init": ((), ()),
    "import": (("--dry-run",), ("claude-code",)),
    "hooks install": (("--dry-run",), ("claude-code",)),
    "hooks package": ((), ("packages",)),
    "hooks status": ((), ("claude-code",)),
    "hooks uninstall": (("--dry-run",), ("claude-code",)),
    "help": ((), ("find",)),
    "list": ((), ()),
    "search": ((), ("parser",)),
    "show": ((), ("long",)),
    "open": (("--print", "--editor"), ("long",)),
    "resume": ((), ("long",)),
    "remember": ((), ("The staging server is rebuilt every night.",)),
    "memory list": ((), ()),
    "memory show": ((), ("global", "preference")),
    "memory why": ((), ("zzzz",)),
    "memory add": ((), ("global", "note", "Backups are taken on every Sunday evening.")),
    "memory edit": ((), ("zzzz", "Other words.")),
    "memory done": ((), ("zzzz",)),
    "memory pin": ((), ("zzzz",)),
    "memory move": ((), ("zzzz", "global")),
    "memory forget": ((), ("zzzz",)),
    "memory restore": ((), ("zzzz",)),
    "memory review": (("--yes",), ("zzzz",)),
    "memory relearn": ((), ()),
    "memory migrate": (("--dry-run",), ("notes.md",)),
    "memory confirm": (("--yes",), ("zzzz",)),
    "context": ((), ()),
    "serve": (("--check", "--port", "0"), ()),
    "mcp": (("--tools",), ()),
    "status": ((), ()),
    "doctor": ((), ()),
    "config get": ((), ("context.budget",)),
    "config path": ((), ()),
    "config set": ((), ("context.budget", "1500")),
    "remove": (("--dry-run",), ("long",)),
    "export": (("--markdown", "-"), ("long",)),
    "archive": (("--before", "2026-01-01", "--dry-run"), ()),
    "admin reindex": ((), ()),
    "admin render": ((), ()),
    "admin verify": ((), ()),
    "admin recover": ((), ()),
    "admin upgrade": (("--dry-run",), ()),
    "admin sanitize": ((), ("-",)),
    "admin resanitize": (("--dry-run",), ()),
    "admin sweep": ((), ()),
    "admin watch": (("--once",), ()),
    "admin embed": (("--yes",), ()),
    "admin bundle export": (("-o", "new.zip"), ("long",)),
    "admin bundle import": (("--dry-run",), ("session.zip",)),
    "admin mirror": (("--once",), ("vault",)),
    "admin move": ((), ("nowhere", "moved")),
    "admin store-check": (("--processes", "2"), ("place",)),
    "admin send": ((), ("zzzz", "hello")),
    "admin spawn": ((), ("nothing", "hello")),
    "admin telemetry reset": (("--yes",), ()),
    "session-end": (("--harness", "generic", "--session-id", "s-9", "--transcript", "User: hello"), ()),
    "compaction": (("--harness", "generic", "--session-id", "long", "--summary", "Goal: mend the reader."), ()),
    "work": ((), ()),
}
"""By command its options and arguments, of a line that does no harm over the sample workspace."""
NOT_HERE = {"hook": "whatever goes wrong, a harness goes on: tests/scenarios/test_hook_entry_failures.py"}
HOSTILE = {
    "empty": "", "lines": "a\nb", "long": "x" * 10_000, "path": "../../etc/passwd", "emoji": "🎉", "arabic": "لماذا",
    "dashes": "--", "bytes": os.fsdecode(b"\xff\xfe"), "negative": "-1", "huge": "9" * 30, "date": "2026-99-99",
}  # fmt: skip
DATES = frozenset({"since", "until", "before", "started_at", "ended_at", "captured_at", "turns", "archive"})
IDS = frozenset({"session", "entry_id", "entry_ids"})
NEEDS_NONE = frozenset(
    {
        "setup", "init", "help", "import", "hooks install", "hooks status", "hooks uninstall", "hooks package",
        "config path", "mcp", "admin move", "admin store-check", "admin sanitize",
    }
)  # fmt: skip
"""Commands that need no workspace, or make one; what `import --dry-run` would read can be seen without."""
Call = Callable[..., CommandResult]


def list_commands() -> dict[str, click.Command]:
    """Return each command once, under its name of today."""
    found: dict[str, click.Command] = {}
    for path, command in walk_commands():
        if all(command is not other for other in found.values()):
            found[path] = command
    return found


COMMANDS = list_commands()
LEAVES = [path for path, command in COMMANDS.items() if not isinstance(command, click.Group) and path not in NOT_HERE]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = write_sample_workspace(tmp_path_factory.mktemp("every-command") / "w")
    files = root.parent / "files"
    files.mkdir()
    (files / "notes.md").write_text("- a note\n")
    assert run(["-w", str(root), "admin", "bundle", "export", "long", "-o", str(files / "session.zip")]) == 0
    return root


@pytest.fixture
def place(tmp_path: Path, template: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where commands run, so deep that `../..` stays in the test's own, with the files that lines name."""
    folder = tmp_path / "some" / "where" / "deep"
    shutil.copytree(template.parent / "files", folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    def run_line(*words: str) -> CommandResult:
        capsys.readouterr()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"plain text\n")))
        code = run(words)
        printed = capsys.readouterr()
        return CommandResult(code, printed.out, printed.err)

    return run_line


def name_workspace(path: str, root: Path | str) -> list[str]:
    return ["-w", str(root)] if any(one.name == "root" for one in COMMANDS[path].params) else []


def line_of(path: str, root: Path | str) -> list[str]:
    options, arguments = LINES[path]
    return [*path.split(), *name_workspace(path, root), *options, *arguments]


def complain(words: Sequence[str], result: CommandResult, *, fails: bool | None = None) -> list[str]:
    """Return what is wrong with how a command line ended; `fails` says whether it has to, None that it may."""
    said = " ".join(word[:40] for word in words)
    if result.code in (0, 4):
        wrong = ["it has to fail"] * (fails is True and result.code == 0) + ["a crash"] * ("Traceback" in result.err)
    else:
        wrong = describe_bad_message(result) + ["it has to work"] * (fails is False)
    return [f"{said}: {result.code}: {one}\n{result.err[-400:]}" for one in wrong]


def test_each_command_has_a_line() -> None:
    assert sorted(LEAVES) == sorted(LINES)
    assert set(NOT_HERE) <= set(COMMANDS)


@pytest.mark.parametrize("path", [path for path in COMMANDS if path not in NOT_HERE])
def test_a_line_without_what_it_takes_names_its_help(path: str, call: Call, place: Path) -> None:
    words, command = path.split(), COMMANDS[path]
    wrong = [*complain(["--nonsense"], call(*words, "--nonsense"), fails=True)]
    wrong += complain(["-Z"], call(*words, "-Z", "x"), fails=True)
    if isinstance(command, click.Group):
        bare = call(*words)
        assert (bare.code, bare.err.startswith("Usage: ")) == (2, True), bare
        wrong += complain(["nonsense"], call(*words, "nonsense"), fails=True)
    elif any(one.required for one in command.params):
        wrong += complain(words, call(*words), fails=True)
    elif not any(isinstance(one, click.Argument) for one in command.params):
        wrong += complain(["too", "many"], call(*words, "too", "many"), fails=True)
    assert not wrong, "\n".join(wrong)


def list_places(path: str) -> Iterator[tuple[click.Parameter, Callable[[str], list[str]]]]:
    """Yield each parameter that takes a value, and what makes the command's words with another value there."""
    options, arguments = LINES[path]
    given = [one for one in COMMANDS[path].params if isinstance(one, click.Argument)]
    for one in COMMANDS[path].params:
        if isinstance(one, click.Argument):
            at = given.index(one)
            yield one, lambda value, at=at: [*options, *arguments[:at], value, *arguments[at + 1 :]]  # type: ignore[misc]
        elif not (isinstance(one, click.Option) and (one.is_flag or one.name == "root")):
            yield one, lambda value, name=one.opts[0]: [*options, name, value, *arguments]  # type: ignore[misc]


def has_to_fail(parameter: click.Parameter, sort: str) -> bool | None:
    """Return whether the value can't be one of the parameter, None where it might."""
    if isinstance(parameter.type, click.Choice):
        return True
    if isinstance(parameter.type, click.IntRange | click.FloatRange):
        return True if sort != "huge" or parameter.type.max is not None else None
    if parameter.name in DATES:
        return True if sort != "empty" else None
    return True if parameter.name in IDS and sort != "dashes" and parameter.required else None


@pytest.mark.slow
@pytest.mark.parametrize("path", LEAVES)
def test_hostile_values(path: str, call: Call, place: Path, template: Path) -> None:
    root = place / "w"
    shutil.copytree(template, root)
    wrong = []
    for parameter, fill_in in list_places(path):
        for sort, value in HOSTILE.items():
            if path == "admin store-check" and parameter.name == "where" and sort not in ("empty", "long", "lines"):
                continue  # each place that can be made is tried for seconds
            words = [*path.split(), *name_workspace(path, root), *fill_in(value)]
            wrong += complain([sort, *words], call(*words), fails=has_to_fail(parameter, sort))
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_names_that_no_place_has(call: Call, place: Path) -> None:
    wrong = []
    for path in LEAVES:
        for sort, value in HOSTILE.items():
            if value and name_workspace(path, "") and path not in ("setup", "init"):
                words = line_of(path, value)
                wrong += complain([sort, *words], call(*words), fails=None if path in NEEDS_NONE else True)
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("path", ["setup", "init"])
def test_names_of_a_new_place(path: str, call: Call, place: Path) -> None:
    wrong = []
    for sort, value in HOSTILE.items():
        if value:
            wrong += complain([sort, path], call(*line_of(path, value)))
    assert not wrong, "\n".join(wrong)


def make_nothing(root: Path) -> None:
    """Leave the place empty."""
    del root


def make_folder(root: Path) -> None:
    root.mkdir()
    (root / "notes.txt").write_text("mine\n")


def make_file(root: Path) -> None:
    root.write_text("a file\n")


STATES = {"nothing": make_nothing, "a folder of somebody's": make_folder, "a file": make_file}


@pytest.mark.slow
@pytest.mark.parametrize("state", STATES)
def test_no_workspace(state: str, call: Call, place: Path) -> None:
    wrong = []
    for number, path in enumerate(LEAVES):
        root = place / f"w{number}"
        STATES[state](root)
        words = line_of(path, root)
        needs_one = name_workspace(path, root) and path not in NEEDS_NONE
        result = call(*words)
        wrong += complain(words, result, fails=True if needs_one else None)
        if needs_one and state != "a file":
            wrong += [f"{path}: no hint to make one: {result.err}"] * ("`lineage init " not in result.err)
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["[context", "[context]\nbudget = 'many'\n", "\x00", "[context]\nbudget = 1\nbudget = 2\n"]
)
def test_settings_that_are_broken(text: str, call: Call, place: Path, template: Path) -> None:
    root = place / "w"
    shutil.copytree(template, root)
    (root / "lineage.toml").write_text(text)
    wrong = []
    for path in LEAVES:
        result = call(*line_of(path, root))
        wrong += complain([path], result)
        if result.code and path != "admin move":  # its place has no settings at all
            wrong += [f"{path}: another cause: {result.err}"] * ("lineage.toml" not in result.err)
    assert not wrong, "\n".join(wrong)
