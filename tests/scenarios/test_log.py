"""The log of commands in `.lineage/log/`, and `--verbose`.

Fails if a line holds what somebody typed or a session said, if a folder or disk that takes no line makes a command fail
or print, if a dry run is logged, or if what is logged leaves the machine's own files.
"""

import json
import os
import re
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO, TextIOWrapper
from pathlib import Path

import click
import pytest

from lineage.app import log
from lineage.cli.main import cli, run
from tests.support.commands import SAMPLE, SAMPLE_ID, LineageCommand, run_process
from tests.support.concurrency import PROJECT
from tests.support.hook_process import NO_WORKER, hook_command

pytestmark = pytest.mark.in_folder

LINE = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z version=\d+\.\d+\.\d+\S* command=\"[a-z -]*\" exit=\d+ ms=\d+"
    r"( error=[A-Za-z]+)?( harness=[a-z-]+(,[a-z-]+)*)?( [a-z_]+=\d+)*"
)
MARK = "zebramark"
ENDLESS = {"serve", "watch", "mirror"}
NOBODY = 65534


def lines_of(root: Path) -> list[str]:
    file = root / ".lineage" / "log" / log.LOG_FILE
    return file.read_text(encoding="ascii").splitlines() if file.exists() else []


def facts_of(root: Path) -> list[str]:
    """The lines without times and durations."""
    return [re.sub(r"^\S+ version=\S+ | ms=\d+", "", line) for line in lines_of(root)]


def read_logs(root: Path) -> str:
    return "".join(path.read_text() for path in sorted((root / ".lineage" / "log").iterdir()))


def test_a_line_says_which_command_ran_and_how_it_ended(lineage: LineageCommand, tmp_path: Path) -> None:
    assert lineage("init").code == 0
    assert lineage.end_sample().code == 0
    assert lineage("list").code == 0
    assert lineage("book", "list").code == 0
    assert lineage("show", "no-such-session").code == 1
    assert lineage("search", "importer", "--limit", "many").code == 2
    assert lineage("memory", "add", "nowhere", "note", "text").code == 2
    assert lineage("import", "claude-code", str(SAMPLE)).code == 0
    assert lineage("verify").code == 0
    assert lineage("work").code == 0
    assert facts_of(lineage.root) == [
        'command="init" exit=0',
        'command="session-end" exit=0 harness=claude-code captured=1',
        'command="list" exit=0',
        'command="book list" exit=0',
        'command="show" exit=1 error=NotFoundError',
        'command="memory add" exit=2 error=InvalidInput',
        'command="import" exit=0 harness=claude-code sources=1 unchanged=1',
        'command="verify" exit=0',
        'command="work" exit=0',
    ]
    assert all(map(LINE.fullmatch, lines_of(lineage.root)))


def test_a_harness_that_is_none_stays_out() -> None:
    ran = log.CommandRun("list", harnesses={MARK, "codex"})
    assert log.format_run(ran, "2026-01-01T00:00:00.000Z", 0, 1, None).endswith(
        ' command="list" exit=0 ms=1 harness=codex'
    )


def test_a_set_up_is_logged_in_the_memory_that_it_makes(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    projects = home / ".claude" / "projects" / "demo"
    projects.mkdir(parents=True)
    (projects / SAMPLE.name).write_bytes(SAMPLE.read_bytes())
    assert run(["setup", "--yes", "-w", str(home / "made")]) == 0
    assert len(facts_of(home / "made")) == 1
    assert facts_of(home / "made")[0].startswith('command="setup" exit=0 harness=claude-code connected=1 sources=1 ')
    assert run(["setup", "--undo", "--with-memory", "--yes"]) == 0
    assert not (home / "made").exists()


def test_init_of_another_folder_is_logged_there_alone(lineage: LineageCommand, tmp_path: Path) -> None:
    assert lineage("init").code == 0
    assert lineage("init", str(tmp_path / "other")).code == 0
    (tmp_path / "file").write_text("no folder")
    assert lineage("init", str(tmp_path / "file")).code == 1
    assert facts_of(lineage.root) == facts_of(tmp_path / "other") == ['command="init" exit=0']


def test_a_folder_that_is_no_workspace_becomes_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["-w", str(tmp_path / "none"), "list"]) == 1
    (tmp_path / "plain").mkdir()
    assert run(["-w", str(tmp_path / "plain"), "remember", "This can be written nowhere."]) == 1
    assert list(tmp_path.rglob("*")) == [tmp_path / "plain"]


@pytest.mark.parametrize(
    "words",
    [("import", "all"), ("remove", "s-1"), ("archive", "--before", "2020-01-01"), ("upgrade",), ("resanitize",),
     ("hooks", "install", "claude-code"), ("memory", "relearn")],
    ids="-".join,
)  # fmt: skip
def test_a_dry_run_is_not_logged(lineage: LineageCommand, words: tuple[str, ...]) -> None:
    lineage.end_sample(session="s-1")
    before = lines_of(lineage.root)
    lineage(*words, "--dry-run")
    assert lines_of(lineage.root) == before


@pytest.mark.leaves_findings  # a signal waits
def test_a_hook_is_not_logged_here(lineage: LineageCommand) -> None:
    lineage("init")
    payload = {"session_id": "s-1", "hook_event_name": "SessionEnd", "transcript_path": str(SAMPLE)}
    rung = subprocess.run(
        hook_command(lineage.root), input=json.dumps(payload).encode(), env={**os.environ, **NO_WORKER}, check=True
    )
    assert rung.returncode == 0
    assert run_process(lineage.root, "hook", "claude-code", stdin=json.dumps(payload).encode(), **NO_WORKER).code == 0
    assert len(list((lineage.root / ".lineage" / "spool" / "signals").iterdir())) >= 1
    assert facts_of(lineage.root) == ['command="init" exit=0']


@pytest.mark.slow
def test_what_the_worker_did_is_counted(lineage: LineageCommand) -> None:
    lineage("init")
    payload = {"session_id": "s-1", "hook_event_name": "SessionEnd", "transcript_path": str(SAMPLE)}
    subprocess.run(
        hook_command(lineage.root), input=json.dumps(payload).encode(), env={**os.environ, **NO_WORKER}, check=True
    )
    assert lineage("work").code == 0
    assert facts_of(lineage.root)[-1] == 'command="work" exit=0 captured=1'


def test_verbose_prints_the_steps_and_the_line_before_or_behind_the_command(lineage: LineageCommand) -> None:
    lineage("init")
    silent = lineage("list")
    for words in (("-v", "list"), ("list", "--verbose"), ("-v", "list", "-v")):
        ran = lineage(*words)
        assert (ran.code, ran.out) == (silent.code, silent.out)
        steps = ran.err.splitlines()
        assert f"open {lineage.root}" in steps[0]
        assert steps[-1].endswith(lines_of(lineage.root)[-1])
        assert len(steps) == 3, steps
    assert lineage("list").err == ""
    assert lineage("-v", "config", "path").code in (0, 2)
    assert 'command="show" exit=1' in lineage("show", "nothing", "-v").err


def test_verbose_prints_no_control_character(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["-v", "-w", str(tmp_path / "a\x1b[31mred"), "list"]) == 1
    assert "\x1b" not in capsys.readouterr().err


def test_the_log_is_private_and_rotates(lineage: LineageCommand) -> None:
    old = os.umask(0)
    try:
        lineage("init")
        folder = lineage.root / ".lineage" / "log"
        (folder / log.LOG_FILE).write_text("an old line\n" * 100_000)
        lineage("list")
        lineage("list")
    finally:
        os.umask(old)
    assert {path.name for path in folder.iterdir()} == {"commands.log", "commands.log.1"}
    assert facts_of(lineage.root) == ['command="list" exit=0'] * 2
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert lineage("status").out.startswith("no problems found\n")


ROTATING = """
import sys
from pathlib import Path
from lineage.app import log
log._MAX_BYTES = 400
line = '2026-01-01T00:00:00.000Z version=1.0.0 command="list" exit=0 ms=1'
for number in range(300):
    log.log_line(Path(sys.argv[1]), line, is_dry=False)
"""


@pytest.mark.slow
def test_processes_that_rotate_at_once_disturb_nobody(lineage: LineageCommand) -> None:
    """Fails with the standard handleError, which prints a traceback where another renamed the file first."""
    lineage("init")
    command = [sys.executable, "-c", ROTATING, str(lineage.root)]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=PROJECT) for _ in range(4)]
    ended = [(process.communicate()[1], process.returncode) for process in running]
    assert ended == [("", 0)] * 4
    folder = lineage.root / ".lineage" / "log"
    assert {path.name for path in folder.iterdir()} <= {"commands.log", *(f"commands.log.{n}" for n in (1, 2, 3))}
    written = read_logs(lineage.root).splitlines()
    assert written
    assert [line for line in written if not LINE.fullmatch(line)] == []


def plant_file(folder: Path) -> None:
    folder.write_text("a file")


def plant_link(folder: Path) -> None:
    (folder.parents[2] / "elsewhere").mkdir()
    folder.symlink_to(folder.parents[2] / "elsewhere")


def plant_dangling_link(folder: Path) -> None:
    folder.symlink_to(folder.parents[2] / "nowhere")


def plant_linked_log(folder: Path) -> None:
    folder.mkdir()
    (folder / log.LOG_FILE).symlink_to(folder.parents[2] / "elsewhere")


def plant_folder(folder: Path) -> None:
    (folder / log.LOG_FILE).mkdir(parents=True)


def plant_pipe(folder: Path) -> None:
    folder.mkdir()
    os.mkfifo(folder / log.LOG_FILE)


@pytest.mark.parametrize(
    "plant", [plant_file, plant_link, plant_dangling_link, plant_linked_log, plant_folder, plant_pipe]
)
def test_what_stands_in_its_place_breaks_no_command(
    lineage: LineageCommand, tmp_path: Path, plant: Callable[[Path], None]
) -> None:
    lineage("init")
    folder = lineage.root / ".lineage" / "log"
    (folder / log.LOG_FILE).unlink()
    folder.rmdir()
    plant(folder)
    ran = lineage("remember", "The staging server is rebuilt every night.")
    assert (ran.code, ran.err) == (0, "")
    assert not any(path.is_file() for path in (tmp_path / "elsewhere", *(tmp_path / "elsewhere").rglob("*")))
    assert not (tmp_path / "nowhere").exists()
    assert "the run is not logged" in lineage("list", "-v").err


def as_nobody(root: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "HOME": "/nonexistent", "PYTHONPATH": str(PROJECT), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [
        "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
        sys.executable, "-m", "lineage", "-w", str(root), *words,
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd="/", check=False)


@pytest.fixture
def others(lineage: LineageCommand, tmp_path: Path) -> Iterator[Path]:
    """A workspace of another user than the one that runs the tests."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("NOT TESTED: only root can give files away")
    lineage("init")
    root = lineage.root
    for path in (root, *root.rglob("*")):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    closed = [folder for folder in (root, *root.parents) if not folder.stat().st_mode & 0o001]
    modes = {folder: stat.S_IMODE(folder.stat().st_mode) for folder in closed}
    for folder, mode in modes.items():
        folder.chmod(mode | 0o011)
    yield root
    for folder, mode in modes.items():
        folder.chmod(mode)


@pytest.mark.slow
def test_root_leaves_nothing_in_the_log_of_another_user(others: Path, lineage: LineageCommand) -> None:
    """Fails without the look at the owner: what root made, the owner's hooks and commands could not write."""
    log_folder = others / ".lineage" / "log"
    before = lines_of(others)
    assert lineage("list").code == 0
    assert lines_of(others) == before
    (log_folder / log.LOG_FILE).unlink()
    log_folder.rmdir()
    assert lineage("list").code == 0
    assert not log_folder.exists()


@pytest.mark.slow
def test_a_log_of_another_user_breaks_no_command(others: Path) -> None:
    probe = as_nobody(others, "--version")
    if probe.returncode:
        pytest.skip(f"NOT TESTED: another user can't run this: {probe.stderr}")
    log_folder = others / ".lineage" / "log"
    for path in (log_folder, *log_folder.iterdir()):
        os.chown(path, 0, 0)
    before = lines_of(others)
    ran = as_nobody(others, "remember", "The staging server is rebuilt every night.")
    assert (ran.returncode, ran.stderr) == (0, ""), ran
    assert "the run is not logged: PermissionError" in as_nobody(others, "list", "-v").stderr
    assert lines_of(others) == before


def test_it_goes_nowhere_else(lineage: LineageCommand, tmp_path: Path) -> None:
    """Neither into git, an export, a bundle or a mirror, nor is it found by a check."""
    lineage("init")
    lineage.end_sample()
    git = ["git", "-C", str(lineage.root), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    assert lineage("bundle", "export", SAMPLE_ID, "-o", str(tmp_path / "bundle.zip")).code == 0
    (tmp_path / "mirrored").mkdir()
    assert lineage("mirror", str(tmp_path / "mirrored"), "--once").code == 0
    assert len(lines_of(lineage.root)) >= 4
    listed = subprocess.run([*git, "ls-files"], capture_output=True, text=True, check=True).stdout
    assert "lineage.toml" in listed
    assert ".lineage" not in listed
    with zipfile.ZipFile(tmp_path / "bundle.zip") as bundle:
        assert [name for name in bundle.namelist() if "log" in name] == []
    assert list((tmp_path / "mirrored").rglob(f"{log.LOG_FILE}*")) == []
    assert lineage("verify").out == "no problems found\n"
    assert lineage("search", "session-end exit ms").code == 0
    assert "commands.log" not in lineage("search", "version command exit harness").out


def list_leaves(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    ctx = click.Context(group)
    names = group.list_names(ctx) if hasattr(group, "list_names") else group.list_commands(ctx)
    for name in dict.fromkeys(names):
        command = group.get_command(ctx, name)
        assert command
        if isinstance(command, click.Group):
            yield from list_leaves(command, (*path, name))
        else:
            yield (*path, name), command


def fill_in(command: click.Command, *, options: bool) -> list[str]:
    """The mark, wherever the command takes a text."""
    words = []
    for parameter in command.params:
        is_text = not getattr(parameter, "is_flag", False) and parameter.type.name in ("text", "path")
        if isinstance(parameter, click.Argument):
            words.append(f"{MARK}-{parameter.name}")
        elif options and is_text and parameter.name not in ("root", "option"):
            words += [parameter.opts[0], f"{MARK} {parameter.name}"]
    return words


@pytest.mark.slow
def test_no_command_logs_what_was_typed(
    lineage: LineageCommand, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every command of the tree, with a mark wherever it takes a text: most of them fail for it."""
    monkeypatch.setenv("LINEAGE_NO_WORKER", "1")
    monkeypatch.chdir(home)
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO()))
    lineage.root = tmp_path / f"{MARK} workspace"
    lineage("init")
    leaves = [(path, command) for path, command in list_leaves(cli) if path[-1] not in ENDLESS]
    assert len(leaves) > 60
    for path, command in leaves:
        for options in (False, True):
            lineage(*path, *fill_in(command, options=options))
        lineage(*path, f"--{MARK}")
    lineage(MARK)
    lineage("-v", "list", f"--{MARK}={MARK}")
    assert MARK not in read_logs(lineage.root)
    assert len(lines_of(lineage.root)) > len(leaves) / 2
    assert [line for line in lines_of(lineage.root) if not LINE.fullmatch(line)] == []


def say(role: str, text: str) -> str:
    return json.dumps({"type": role, "message": {"role": role, "content": text}, "cwd": f"/home/{MARK}/project"})


@pytest.mark.slow
def test_no_command_logs_what_a_session_says_nor_which_it_was(lineage: LineageCommand, tmp_path: Path) -> None:
    """A whole life of sessions: captured by a hook, imported, searched, remembered from, exported and removed."""
    folder = tmp_path / f"{MARK} folder"
    folder.mkdir()
    lineage.root = folder / f"{MARK} memory"
    ids = [f"00000000-0000-4000-8000-00000000000{number}" for number in range(4)]
    for session in ids:
        turns = ("user", f"Why does {MARK} fail in {session}?"), ("assistant", f"Because {MARK} is never flushed.")
        (folder / f"{session}.jsonl").write_text("\n".join(say(*turn) for turn in turns) + "\n")
    lineage("init")
    event = {"session_id": ids[0], "hook_event_name": "SessionEnd", "transcript_path": str(folder / f"{ids[0]}.jsonl")}
    for harness, payload in (("claude-code", event), ("claude-code", {MARK: MARK}), ("claude-code", f"{MARK} {{")):
        text = payload if isinstance(payload, str) else json.dumps(payload)
        subprocess.run(
            hook_command(lineage.root, harness), input=text.encode(), env={**os.environ, **NO_WORKER}, check=True
        )
    prompt = {"session_id": ids[1], "hook_event_name": "UserPromptSubmit", "prompt": f"What about {MARK}?"}
    subprocess.run(hook_command(lineage.root), input=json.dumps(prompt).encode(), capture_output=True, check=True)
    codes = {}
    for words in (
        ("work",),
        ("import", "claude-code", str(folder)),
        ("list", "--path", str(folder)),
        ("search", f"{MARK} flushed"),
        ("show", ids[1]),
        ("resume", ids[1], "--print"),
        ("remember", f"Flush {MARK} before it ends.", "--tag", MARK, "--about", f"{MARK}.py", "--project", MARK),
        ("context", "--project", MARK, "--prompt", f"How is {MARK} flushed?"),
        ("memory", "show", f"project/{MARK}", "note"),
        ("memory", "review"),
        ("export", "--format", "html", ids[1]),
        ("bundle", "export", ids[2], "-o", str(folder / "bundle.zip")),
        ("session-end", "--harness", MARK, "--session-id", ids[3], "--transcript-path", str(folder / MARK)),
        ("session-end", "--harness", "generic", "--session-id", MARK, "--transcript", f"User: {MARK}"),
        ("compaction", "--harness", "claude-code", "--session-id", ids[1], "--summary", f"{MARK} goal"),
        ("remove", ids[1], "--reason", MARK, "--yes"),
        ("show", ids[1]),
        ("verify",),
        ("reindex",),
        ("admin", "recover"),
        ("status",),
        ("config", "set", MARK, MARK),
    ):  # fmt: skip
        codes[words] = lineage(*words).code
    assert {code for words, code in codes.items() if words[0] in ("import", "search", "remember", "remove")} == {0}, (
        codes
    )
    logged = read_logs(lineage.root).lower()
    assert len(lines_of(lineage.root)) >= 15
    tokens = {path.name.split("--")[1] for path in (lineage.root / "memory").glob("*--*.md")}
    tombstones = {path.stem for path in (lineage.root / "memory" / "tombstones").iterdir()}
    assert tombstones
    assert [word for word in (MARK, *ids, *tokens, *tombstones, str(tmp_path)) if word.lower() in logged] == []
