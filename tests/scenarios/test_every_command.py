"""Every command with what goes wrong: one line says what happened, one says what to type, and nothing crashes.

The tree of commands is walked: a new command needs a line of LINES, a working command line. Each is run without what it
requires, with options that it hasn't, with hostile values in every place, over workspaces that aren't there, aren't
readable, can't be written or are full, and interrupted. What is proposed is looked up in the tree.

Fails without `add_command` and `_fit_line` in `print_error`, without `_REFUSALS` in `_report_unexpected`, without
`require_name`, and where a hint names a command or option that isn't there.
"""

import ast
import io
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click
import pytest

import lineage
from lineage.cli.main import run
from tests.support.command_lines import (
    COMMANDS,
    LEAVES,
    LINES,
    NEEDS_NONE,
    NOT_HERE,
    line_of,
    name_workspace,
    write_place,
)
from tests.support.command_tree import describe_bad_message, describe_wrong_line, find_typed
from tests.support.commands import CommandResult, run_process
from tests.support.dead_processes import read_all_files
from tests.support.small_disk import fill, make_read_only, mount_small_disk

pytestmark = [pytest.mark.in_folder, pytest.mark.leaves_findings]

HOSTILE = {
    "empty": "", "lines": "a\nb", "long": "x" * 10_000, "path": "../../etc/passwd", "emoji": "🎉", "arabic": "لماذا",
    "dashes": "--", "bytes": os.fsdecode(b"\xff\xfe"), "negative": "-1", "huge": "9" * 30, "date": "2026-99-99",
}  # fmt: skip
DATES = frozenset({"since", "until", "before", "started_at", "ended_at", "captured_at", "turns", "archive"})
READS = frozenset({"list", "search", "show", "memory list", "memory show", "context", "status", "help", "export"})
WRITES = frozenset({"remember", "memory add", "config set", "session-end", "admin bundle export", "compaction"})
PACKAGE = Path(lineage.__file__).parent
IDS = frozenset({"session", "entry_id", "entry_ids"})
Call = Callable[..., CommandResult]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_place(tmp_path_factory.mktemp("every-command") / "place")


@pytest.fixture
def place(tmp_path: Path, template: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where commands run, so deep that `../..` stays in the test's own."""
    folder = tmp_path / "some" / "where" / "deep"
    shutil.copytree(template, folder)
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
def test_hostile_values(path: str, call: Call, place: Path) -> None:
    root = place / "w"
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
def test_settings_that_are_broken(text: str, call: Call, place: Path) -> None:
    root = place / "w"
    (root / "lineage.toml").write_text(text)
    wrong = []
    for path in LEAVES:
        result = call(*line_of(path, root))
        wrong += complain([path], result)
        if result.code and path != "admin move":  # its place has no settings at all
            wrong += [f"{path}: another cause: {result.err}"] * ("lineage.toml" not in result.err)
    assert not wrong, "\n".join(wrong)


@pytest.fixture
def disk(tmp_path: Path, template: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A small disk with the place of the lines on it."""
    with mount_small_disk(tmp_path / "disk") as folder:
        shutil.copytree(template, folder / "place")
        monkeypatch.chdir(folder / "place")
        yield folder
        monkeypatch.chdir(tmp_path)


@pytest.mark.slow
def test_a_disk_that_can_only_be_read(call: Call, disk: Path) -> None:
    make_read_only(disk)
    before = read_all_files(disk)
    wrong = []
    for path in LEAVES:
        words = line_of(path, disk / "place" / "w")
        wrong += complain(words, call(*words), fails=False if path in READS else True if path in WRITES else None)
    assert not wrong, "\n".join(wrong)
    assert read_all_files(disk) == before


@pytest.mark.slow
@pytest.mark.parametrize("left", [0, 3])
def test_a_disk_that_is_full(left: int, call: Call, disk: Path) -> None:
    wrong = []
    for path in LEAVES:
        fill(disk, left)
        words = line_of(path, disk / "place" / "w")
        result = call(*words)
        is_write = path in WRITES and not left
        wrong += complain(words, result, fails=False if path in READS else True if is_write else None)
        if result.code == 1 and path in WRITES:
            wrong += [f"{path}: another cause: {result.err}"] * ("full" not in result.err)
        (disk / "ballast").unlink()
    assert not wrong, "\n".join(wrong)
    assert call("-w", str(disk / "place" / "w"), "remember", "Backups run on Sundays now.").code == 0


def call_as_nobody(words: Sequence[str], folder: Path) -> CommandResult:
    """Run a command line in a process of another user, who belongs to the group that reads the interpreter."""
    child = os.fork()
    if not child:
        code = 70
        try:
            for number, name in ((1, "out"), (2, "err")):
                os.dup2(os.open(folder / name, os.O_WRONLY | os.O_TRUNC), number)
                setattr(sys, f"std{name}", os.fdopen(os.dup(number), "w", encoding="utf-8"))
            os.environ["HOME"] = "/nonexistent"
            os.setgroups([])
            os.setresuid(65534, 65534, 65534)
            code = run(words)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return CommandResult(code, (folder / "out").read_text(), (folder / "err").read_text())


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs a process as somebody else")
@pytest.mark.parametrize("mode", [0o700, 0o000, 0o755])
def test_a_workspace_of_another_user(
    mode: int, call: Call, place: Path, template: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in LEAVES:
        call(*line_of(path, place / "w"))  # its modules are imported before the user changes, who may not read them all
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # other users don't reach the folder of a test
        shutil.copytree(template, folder / "place")
        for made in ("out", "err"):
            (folder / made).touch()
        monkeypatch.chdir(folder / "place")
        (folder / "place").chmod(0o755)
        (folder / "place" / "w").chmod(mode)
        wrong = []
        for path in LEAVES:
            words = line_of(path, folder / "place" / "w")
            needs_one = name_workspace(path, "") and path not in NEEDS_NONE
            result = call_as_nobody(words, folder)
            wrong += complain(words, result, fails=True if needs_one else None)
            if (path, mode) == ("config set", 0o755):
                wrong += [f"{path}: {result.err}"] * ("w can't be written" not in result.err)
        monkeypatch.chdir("/")
        assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs a process as somebody else")
def test_a_workspace_that_its_own_user_cannot_write(
    call: Call, place: Path, template: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call(*line_of("status", place / "w"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copytree(template, folder / "place")
        for made in ("out", "err"):
            (folder / made).touch()
        for path in (folder / "place", *(folder / "place").rglob("*")):
            os.chown(path, 65534, 65534)
        for path in (folder / "place" / "w" / ".lineage", folder / "place" / "w", folder / "place"):
            path.chmod(0o555)
        monkeypatch.chdir(folder)
        result = call_as_nobody(line_of("status", folder / "place" / "w"), folder)
        monkeypatch.chdir("/")
        assert "workspace: this user can't write to it: no session is saved" in result.out, result


def test_bytes_that_are_no_text(place: Path) -> None:
    """As a process: what a terminal hands over may be no text, and neither need be what stderr takes."""
    name, wrong = os.fsdecode(b"caf\xe9"), []
    for words in (["show", name], ["search", name], ["list", "--project", name], ["remember", name], ["help", name]):
        wrong += complain(words, run_process(place / "w", *words, PYTHONIOENCODING="", LC_ALL="C"))
    wrong += complain([name], run_process(place / name, "list"), fails=True)
    assert not wrong, "\n".join(wrong)


_BARE = re.compile(rf"(?:^|: |or )lineage (?:-w|{'|'.join(sorted({path.split()[0] for path in LEAVES}))})\b")
_HINTS = re.compile("(^|_)(hints?|more)$", re.IGNORECASE)


def list_hints() -> Iterator[tuple[str, str]]:
    """Yield the place and the text of every hint in the source; what is filled in is `X`."""
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            values: list[ast.AST | None] = []
            if isinstance(node, ast.keyword) and node.arg and _HINTS.search(node.arg):
                values = [node.value]
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                values = [node.value] * any(isinstance(one, ast.Name) and _HINTS.search(one.id) for one in targets)
            for value in values:
                yield from ((f"{file.name}:{node.lineno}", text) for text in read_texts(value))


def read_texts(node: ast.AST | None) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(str(one.value) if isinstance(one, ast.Constant) else "X" for one in node.values)
    elif node is not None:
        for child in ast.iter_child_nodes(node):
            yield from read_texts(child)


def test_every_hint_of_the_source_proposes_what_is_there() -> None:
    hints = list(list_hints())
    assert len(hints) > 200
    typed = [(where, line) for where, hint in hints for line in find_typed(hint)]
    assert len(typed) > 70
    wrong = [f"{where}: {trouble}" for where, line in typed if (trouble := describe_wrong_line(line))]
    bare = [f"{where}: without backticks: {hint}" for where, hint in hints if _BARE.search(hint)]
    assert not wrong + bare, "\n".join(wrong + bare)
