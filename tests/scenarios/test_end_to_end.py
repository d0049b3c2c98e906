"""Every harness with hooks, from its own configuration file to the captured session.

The harness reads back the command that was installed, runs it as it runs commands, and kills it when its time is over;
the session is captured after that. What each test rests on:
- the installed command: its quoting (the workspace's path has a space), its form, timeouts in the harness's own unit;
- the hook: it ends by itself while stdin is open, prints nothing, and its worker outlives the harness's killing;
- the transcript: the one that is named, or the one that the harness keeps where none is named;
- the start: the shape of what is printed, and that it is not remembered when it comes back.
"""

import json
import os
import shlex
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lineage.app.packages import write_packages
from lineage.core.base.hook_output import CONTEXT_CLOSING, CONTEXT_OPENING
from tests.support.commands import CommandResult, LineageCommand
from tests.support.fake_harnesses import (
    END,
    START,
    TURN,
    FakeHarness,
    FakeMachine,
    Handler,
    HookRun,
    read_hooks,
    run_lineage,
)
from tests.support.harness_definitions import AS_CLAUDE_CODE, COMMANDS, PLUGINS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="these harnesses are played with POSIX shells and signals"),
]

TEMPLATE = Path(__file__).parents[2] / "workspace_template" / "integrations"
SECOND = "0b7e5a52-91c4-5f0d-8d7a-2f4c6e8a1b3d"
QUIET = [HookRun(0, "", "")]
TOLD = "The staging server is rebuilt every night."
PATIENCE = 60.0
CALM = 0.5

commands = pytest.mark.parametrize("harness", COMMANDS, ids=lambda harness: harness.label)
talkative = pytest.mark.parametrize(
    "harness", [one for one in COMMANDS if one.injected], ids=lambda harness: harness.label
)
plugins = pytest.mark.parametrize("harness", PLUGINS, ids=lambda harness: harness.label)
needs_node = pytest.mark.skipif(not shutil.which("node"), reason="NO NODE: OpenCode, pi and OpenClaw go untested")


@pytest.fixture
def machine(home: Path, tmp_path: Path) -> FakeMachine:
    return FakeMachine(home, tmp_path / "demo", tmp_path / "the vault")


@pytest.fixture
def lineage(machine: FakeMachine, capsys: pytest.CaptureFixture[str]) -> LineageCommand:
    return LineageCommand(machine.workspace, capsys)


def install(machine: FakeMachine, harness: str) -> None:
    done = hooks(machine, "install", harness, "--agent", "default")
    assert (done.code, done.err) == (0, "")


def hooks(machine: FakeMachine, *arguments: str) -> CommandResult:
    return run_lineage(machine, "hooks", arguments[0], "--workspace", str(machine.workspace), *arguments[1:])


def state(folder: Path) -> dict[str, bytes | None]:
    """Every file and folder below."""
    paths = sorted(folder.rglob("*"))
    return {str(path.relative_to(folder)): None if path.is_dir() else path.read_bytes() for path in paths}


def wait_for(sessions: int, machine: FakeMachine, *, calm: float = 0.0) -> None:
    """Until that many sessions are captured, nothing waits in the spool and the worker has ended, for `calm` seconds:
    nobody waits for the hooks that a plugin starts, and the last may ring late."""
    deadline, since = time.monotonic() + PATIENCE, None
    while since is None or time.monotonic() - since < calm:
        assert time.monotonic() < deadline, told(machine)
        is_done = captured(machine) >= sessions and is_idle(machine)
        since = (since or time.monotonic()) if is_done else None
        time.sleep(0.05)


def captured(machine: FakeMachine) -> int:
    return len(list(machine.workspace.glob("memory/*--manifest.md")))


def is_idle(machine: FakeMachine) -> bool:
    state = machine.workspace / ".lineage"
    return not any((state / "spool" / "signals").glob("*.json")) and is_free(state / "locks" / "worker.lock")


def is_free(lock: Path) -> bool:
    """Looked at only when the spool is empty: a worker that finds the lock taken has nothing to do then."""
    import fcntl

    with lock.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
    return True


def told(machine: FakeMachine) -> str:
    """What `lineage status` says, for a test that waited in vain."""
    return run_lineage(machine, "status", "--workspace", str(machine.workspace)).out


def sessions(lineage: LineageCommand) -> list[tuple[str, str, str | None, int]]:
    """Harness, session, project and number of captures of what is there; with it goes that all of it is sound."""
    assert lineage("verify").code == 0
    rows = lineage("sessions", "--json").json["sessions"]
    return sorted((row["harness"], row["session_id"], row["project"], row["captures"]) for row in rows)


def transcripts(machine: FakeMachine) -> list[str]:
    return [path.read_text(encoding="utf-8") for path in machine.workspace.glob("memory/*--transcript.md")]


def context_of(harness: FakeHarness, printed: str) -> str:
    """The context in what a start printed: one line, and no key beside those that the harness knows."""
    assert printed.endswith("\n") and printed.count("\n") == 1
    *outer, last = harness.injected
    answer: Any = json.loads(printed)
    for key in outer:
        assert answer.keys() == {key}
        answer = answer[key]
    assert answer.keys() - {"hookEventName"} == {last}
    assert answer.get("hookEventName") == ("SessionStart" if outer else None)
    return str(answer[last])


@commands
def test_a_session_that_ended_is_captured(harness: FakeHarness, machine: FakeMachine, lineage: LineageCommand) -> None:
    harness.install_files(machine)
    visit = harness.start_session(machine)
    before = state(machine.home)
    install(machine, harness.name)
    if TURN in harness.events:
        assert set(harness.send_event(visit, TURN)) == set(QUIET)
    assert set(harness.send_event(visit, END, is_late=True)) == set(QUIET)
    wait_for(1, machine)
    assert sessions(lineage) == [(harness.name, harness.session, harness.project or visit.cwd, 1)]
    assert harness.prompt in "".join(transcripts(machine))
    between = state(machine.home)
    assert "nothing to change" in hooks(machine, "install", harness.name).out
    assert state(machine.home) == between
    assert hooks(machine, "uninstall", harness.name).code == 0
    assert state(machine.home) == before


@needs_node
@plugins
def test_a_session_is_captured_through_a_plugin(
    harness: FakeHarness, machine: FakeMachine, lineage: LineageCommand
) -> None:
    harness.install_files(machine)
    visit = harness.start_session(machine)
    before = state(machine.home)
    install(machine, harness.name)
    assert harness.play_session(visit) == HookRun(0, "", "")
    wait_for(1, machine, calm=CALM)
    assert sessions(lineage) == [(harness.name, harness.session, harness.project or visit.cwd, 1)]
    assert harness.prompt in "".join(transcripts(machine))
    (row,) = lineage("sessions", "--json").json["sessions"]
    assert row["session_key"] == (f"{harness.lane}#{harness.session}" if harness.lane else None)
    assert "nothing to change" in hooks(machine, "install", harness.name).out
    assert hooks(machine, "uninstall", harness.name).code == 0
    assert state(machine.home) == before


@talkative
def test_a_start_tells_what_is_remembered_and_that_is_not_remembered_again(
    harness: FakeHarness, machine: FakeMachine, lineage: LineageCommand
) -> None:
    harness.install_files(machine)
    install(machine, harness.name)
    first = harness.start_session(machine)
    assert set(harness.send_event(first, START)) == set(QUIET)
    assert lineage("remember", TOLD).code == 0
    harness.send_event(first, END)
    wait_for(1, machine)

    second = harness.start_session(machine, SECOND)
    printed = [done.out for done in harness.send_event(second, START, is_late=True)]
    block = context_of(harness, "".join(printed))
    assert block.startswith(CONTEXT_OPENING) and block.endswith(CONTEXT_CLOSING)
    assert TOLD in block

    second = harness.start_session(machine, SECOND, block)
    harness.send_event(second, END)
    wait_for(2, machine)
    assert [session for _, session, *_ in sessions(lineage)] == sorted([harness.session, SECOND])
    texts = transcripts(machine)
    assert [harness.prompt in text for text in texts] == [True, True]
    assert not any("lineage-context" in text or TOLD in text for text in texts)


@commands
def test_two_hooks_for_one_end_make_one_capture(
    harness: FakeHarness, machine: FakeMachine, lineage: LineageCommand
) -> None:
    harness.install_files(machine)
    install(machine, harness.name)
    visit = harness.start_session(machine)
    caller, second, environment = SECONDS.get(harness.name, twice)(harness, machine)
    harness.send_event(visit, END)
    assert caller.run(visit, END, second, more=environment) == HookRun(0, "", "")
    harness.send_event(visit, END)
    wait_for(1, machine)
    assert sessions(lineage) == [(harness.name, harness.session, harness.project or visit.cwd, 1)]


@needs_node
@plugins
def test_a_plugin_that_is_loaded_twice_makes_one_capture(
    harness: FakeHarness, machine: FakeMachine, lineage: LineageCommand
) -> None:
    harness.install_files(machine)
    visit = harness.start_session(machine)
    install(machine, harness.name)
    assert harness.play_session(visit, times=2) == HookRun(0, "", "")
    wait_for(1, machine, calm=CALM)
    assert sessions(lineage) == [(harness.name, harness.session, harness.project or visit.cwd, 1)]


Second = tuple[FakeHarness, Handler, dict[str, str]]
"""Who sends the payload, to which command, and what more is in its environment."""


def twice(harness: FakeHarness, machine: FakeMachine) -> Second:
    """The installed command once more."""
    *_, last = harness.handlers(machine, *harness.events[END])
    return harness, last, {}


def from_plugin(harness: FakeHarness, machine: FakeMachine) -> Second:
    """The command of the plugin: it finds lineage on PATH, in login shells too, the workspace in the environment."""
    plugins = TEMPLATE
    if harness.name != "goose":
        plugins = machine.home / "packages"
        write_packages(plugins, "io.github.ada")
    (group,) = read_hooks(plugins / harness.name / "hooks" / "hooks.json")[harness.events[END][0]]
    (handler,) = group["hooks"]
    folder = Path(program_of(harness, machine)).parent
    (machine.home / ".profile").write_text(f"export PATH={shlex.quote(str(folder))}:$PATH\n", encoding="utf-8")
    searched = os.pathsep.join((str(folder), machine.environment()["PATH"]))
    return harness, harness.parse_handler(handler), {"PATH": searched, "LINEAGE_WORKSPACE": str(machine.workspace)}


def program_of(harness: FakeHarness, machine: FakeMachine) -> str:
    (status,) = hooks(machine, "status", harness.name, "--json").json["harnesses"]
    return str(status["command"][0])


def from_claude_code(harness: FakeHarness, machine: FakeMachine) -> Second:
    """Claude Code's hook, which this harness runs too."""
    claude_code = COMMANDS[0]
    install(machine, claude_code.name)
    (handler,) = claude_code.handlers(machine, *claude_code.events[END])
    return AS_CLAUDE_CODE[harness.name], handler, {}


SECONDS: dict[str, Callable[[FakeHarness, FakeMachine], Second]] = {
    "claude-code": from_plugin,
    "codex": from_plugin,
    "gemini": from_plugin,
    "goose": from_plugin,
    "cursor": from_claude_code,
    "copilot": from_claude_code,
}
