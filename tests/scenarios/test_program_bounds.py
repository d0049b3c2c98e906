"""What `send` and `spawn` start is bounded: in depth, in number, in time, and nothing of it is left. (lesson 39)"""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lineage.app import subprocesses
from lineage.app.agent_runs import DEPTH_VARIABLE, MAX_CONCURRENT_RUNS
from lineage.app.locations import STATE_FOLDER, SUPPRESS_VARIABLE
from lineage.store import LocalStore
from tests.support.commands import LineageCommand, run_process
from tests.support.fake_programs import FakePrograms, capture_first_message
from tests.support.hook_process import wait_until

pytestmark = pytest.mark.slow
POSIX = pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are counted in /proc")
SLEEPS = """
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
Path("pids").write_text(f"{os.getpid()} {child.pid}")
time.sleep(600)
"""


def alive(folder: Path) -> list[int]:
    """Those of the program and its child that still run."""
    pids = [int(pid) for pid in (folder / "pids").read_text().split()]
    return [pid for pid in pids if Path(f"/proc/{pid}").exists() and "Z" not in stat_of(pid)]


def stat_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


@pytest.mark.parametrize(
    "given",
    [
        {DEPTH_VARIABLE: "1"},
        {DEPTH_VARIABLE: "7"},
        {DEPTH_VARIABLE: "deep"},
        {DEPTH_VARIABLE: "-1"},
        {SUPPRESS_VARIABLE: "1"},
    ],
)
@pytest.mark.parametrize(
    "command", [("send", "s-1", "Hi."), ("spawn", "claude-code", "Hi."), ("resume", "s-1", "--run")]
)
def test_an_agent_that_lineage_started_starts_no_other(
    lineage: LineageCommand, programs: FakePrograms, folder: Path, given: dict[str, str], command: tuple[str, ...]
) -> None:
    programs.add("claude")
    capture_first_message(lineage, folder)
    done = run_process(lineage.root, *command, **given)
    assert (done.code, "may not start another" in done.err, "spawn_depth" in done.err) == (1, True, True)
    assert programs.calls == []


@pytest.mark.parametrize(("setting", "depth", "is_let"), [(2, "1", True), (2, "2", False), (0, "0", False)])
def test_the_setting_says_how_deep(
    lineage: LineageCommand, programs: FakePrograms, folder: Path, monkeypatch: pytest.MonkeyPatch, setting: int,
    depth: str,
    is_let: bool,
) -> None:  # fmt: skip
    programs.add("codex")
    capture_first_message(lineage, folder, "codex")
    (lineage.root / "lineage.toml").write_text(f"[sessions]\nspawn_depth = {setting}\n")
    monkeypatch.setenv(DEPTH_VARIABLE, depth)
    assert (lineage("send", "s-1", "Hi.").code == 0) is is_let
    assert [call["environment"][DEPTH_VARIABLE] for call in programs.calls] == ["2"] * is_let


def test_only_so_many_run_at_once(lineage: LineageCommand, programs: FakePrograms, folder: Path) -> None:
    programs.add("codex")
    capture_first_message(lineage, folder, "codex")
    private = LocalStore(lineage.root / STATE_FOLDER, locks=lineage.root / STATE_FOLDER / "locks", private=True)
    held = [private.lock(f"child-{number}", wait=False) for number in range(MAX_CONCURRENT_RUNS)]
    for place in held:
        place.__enter__()
    busy = run_process(lineage.root, "send", "s-1", "Hi.")
    assert (busy.code, "4 agents run" in busy.err) == (1, True)
    held.pop().__exit__(None, None, None)
    assert run_process(lineage.root, "send", "s-1", "Hi.").code == 0
    for place in held:
        place.__exit__(None, None, None)


@POSIX
def test_time_is_bounded_and_nothing_is_left_behind(
    lineage: LineageCommand, programs: FakePrograms, folder: Path
) -> None:
    programs.add("codex", SLEEPS)
    capture_first_message(lineage, folder, "codex")
    done = lineage("send", "s-1", "Hi.", "--timeout", "2")
    assert (done.code, "was not done after 2 seconds" in done.err, "--timeout" in done.err) == (1, True, True)
    wait_until(lambda: alive(folder) == [], "the program and its child are gone")


@POSIX
def test_one_that_will_not_go_is_ended_all_the_same(
    lineage: LineageCommand, programs: FakePrograms, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocesses, "_GRACE_SECONDS", 0.5)
    programs.add("codex", "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)" + SLEEPS)
    capture_first_message(lineage, folder, "codex")
    assert lineage("send", "s-1", "Hi.", "--timeout", "2").code == 1
    wait_until(lambda: alive(folder) == [], "the program and its child are gone")


@POSIX
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_what_ends_lineage_ends_what_it_started(
    lineage: LineageCommand, programs: FakePrograms, folder: Path, number: signal.Signals
) -> None:
    programs.add("codex", SLEEPS)
    capture_first_message(lineage, folder, "codex")
    words = [sys.executable, "-m", "lineage", "--workspace", str(lineage.root), "send", "s-1", "Hi."]
    started = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # noqa: PLW1509  (a run in the background ignores some)
    )
    wait_until(lambda: (folder / "pids").exists() and (folder / "pids").read_text() != "", "the program runs")
    started.send_signal(number)
    _, err = started.communicate(timeout=60)
    assert (started.returncode, b"interrupted" in err) == (130, True)
    wait_until(lambda: alive(folder) == [], "the program and its child are gone")


@POSIX
def test_a_child_that_keeps_the_output_open_keeps_nobody_waiting(
    lineage: LineageCommand, programs: FakePrograms, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocesses, "_DRAIN_SECONDS", 0.3)
    programs.add("codex", SLEEPS.rpartition("time.sleep(600)")[0] + 'print("done")')
    capture_first_message(lineage, folder, "codex")
    done = lineage("send", "s-1", "Hi.")
    assert (done.code, done.out) == (0, "done\n")
    wait_until(lambda: alive(folder) == [], "its child is gone")


def test_the_answer_comes_as_it_is_said(
    lineage: LineageCommand, programs: FakePrograms, folder: Path, tmp_path: Path
) -> None:
    programs.add(
        "codex",
        'print("first", flush=True)\nwhile not Path("go").exists(): time.sleep(0.02)\nprint("last")',
    )
    capture_first_message(lineage, folder, "codex")
    words = [sys.executable, "-m", "lineage", "--workspace", str(lineage.root), "send", "s-1", "Hi."]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as started:
        assert started.stdout
        first = started.stdout.readline()
        (folder / "go").touch()
        assert (first, started.stdout.read()) == (b"first\n", b"last\n")
    assert started.returncode == 0


def test_a_program_that_reads_nothing_and_says_a_lot_is_no_trouble(
    lineage: LineageCommand, programs: FakePrograms, folder: Path
) -> None:
    big = "x" * 100_000
    (programs.folder / "codex").write_text(f"#!{sys.executable}\nprint('y' * 3_000_000)\n")
    (programs.folder / "codex").chmod(0o755)
    capture_first_message(lineage, folder, "codex")
    done = lineage("send", "s-1", big)
    assert (done.code, len(done.out)) == (0, 3_000_001)
    kept = lineage("send", "s-1", big, "--json").json["output"]
    assert len(kept) == 1 << 20
