"""What `send` and `spawn` start is bounded: in depth, in number, in time, and nothing of it is left. (lesson 39)"""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lineage.app import STATE
from lineage.app.launching import DEPTH, MOST_AT_ONCE, SUPPRESS
from lineage.store import LocalStore
from tests.support.commands import Lineage, process
from tests.support.doorbells import eventually
from tests.support.programs import Programs, begin

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


@pytest.mark.parametrize("given", [{DEPTH: "1"}, {DEPTH: "7"}, {DEPTH: "deep"}, {DEPTH: "-1"}, {SUPPRESS: "1"}])
@pytest.mark.parametrize(
    "command", [("send", "s-1", "Hi."), ("spawn", "claude-code", "Hi."), ("resume", "s-1", "--run")]
)
def test_an_agent_that_lineage_started_starts_no_other(
    lineage: Lineage, programs: Programs, folder: Path, given: dict[str, str], command: tuple[str, ...]
) -> None:
    programs.add("claude")
    begin(lineage, folder)
    done = process(lineage.root, *command, **given)
    assert (done.code, "may not start another" in done.err, "spawn_depth" in done.err) == (1, True, True)
    assert programs.calls == []


@pytest.mark.parametrize(("setting", "depth", "is_let"), [(2, "1", True), (2, "2", False), (0, "0", False)])
def test_the_setting_says_how_deep(
    lineage: Lineage, programs: Programs, folder: Path, monkeypatch: pytest.MonkeyPatch, setting: int, depth: str,
    is_let: bool,
) -> None:  # fmt: skip
    programs.add("codex")
    begin(lineage, folder, "codex")
    (lineage.root / "lineage.toml").write_text(f"[sessions]\nspawn_depth = {setting}\n")
    monkeypatch.setenv(DEPTH, depth)
    assert (lineage("send", "s-1", "Hi.").code == 0) is is_let
    assert [call["environment"][DEPTH] for call in programs.calls] == ["2"] * is_let


def test_only_so_many_run_at_once(lineage: Lineage, programs: Programs, folder: Path) -> None:
    programs.add("codex")
    begin(lineage, folder, "codex")
    private = LocalStore(lineage.root / STATE, locks=lineage.root / STATE / "locks", private=True)
    held = [private.mutex(f"child-{number}", wait=False) for number in range(MOST_AT_ONCE)]
    for place in held:
        place.__enter__()
    busy = process(lineage.root, "send", "s-1", "Hi.")
    assert (busy.code, "4 agents run" in busy.err) == (1, True)
    held.pop().__exit__(None, None, None)
    assert process(lineage.root, "send", "s-1", "Hi.").code == 0
    for place in held:
        place.__exit__(None, None, None)


@POSIX
def test_time_is_bounded_and_nothing_is_left_behind(lineage: Lineage, programs: Programs, folder: Path) -> None:
    programs.add("codex", SLEEPS)
    begin(lineage, folder, "codex")
    done = lineage("send", "s-1", "Hi.", "--timeout", "2")
    assert (done.code, "was not done after 2 seconds" in done.err, "--timeout" in done.err) == (1, True, True)
    eventually(lambda: alive(folder) == [], "the program and its child are gone")


@POSIX
def test_one_that_will_not_go_is_ended_all_the_same(lineage: Lineage, programs: Programs, folder: Path) -> None:
    programs.add("codex", "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)" + SLEEPS)
    begin(lineage, folder, "codex")
    assert lineage("send", "s-1", "Hi.", "--timeout", "2").code == 1
    eventually(lambda: alive(folder) == [], "the program and its child are gone")


@POSIX
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_what_ends_lineage_ends_what_it_started(
    lineage: Lineage, programs: Programs, folder: Path, number: signal.Signals
) -> None:
    programs.add("codex", SLEEPS)
    begin(lineage, folder, "codex")
    words = [sys.executable, "-m", "lineage", "--workspace", str(lineage.root), "send", "s-1", "Hi."]
    started = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # noqa: PLW1509  (a run in the background ignores some)
    )
    eventually(lambda: (folder / "pids").exists() and (folder / "pids").read_text() != "", "the program runs")
    started.send_signal(number)
    _, err = started.communicate(timeout=60)
    assert (started.returncode, b"interrupted" in err) == (130, True)
    eventually(lambda: alive(folder) == [], "the program and its child are gone")


@POSIX
def test_a_child_that_keeps_the_output_open_keeps_nobody_waiting(
    lineage: Lineage, programs: Programs, folder: Path
) -> None:
    programs.add("codex", SLEEPS.rpartition("time.sleep(600)")[0] + 'print("done")')
    begin(lineage, folder, "codex")
    done = lineage("send", "s-1", "Hi.")
    assert (done.code, done.out) == (0, "done\n")
    eventually(lambda: alive(folder) == [], "its child is gone")


def test_the_answer_comes_as_it_is_said(lineage: Lineage, programs: Programs, folder: Path, tmp_path: Path) -> None:
    programs.add(
        "codex",
        'print("first", flush=True)\nwhile not Path("go").exists(): time.sleep(0.02)\nprint("last")',
    )
    begin(lineage, folder, "codex")
    words = [sys.executable, "-m", "lineage", "--workspace", str(lineage.root), "send", "s-1", "Hi."]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as started:
        assert started.stdout
        first = started.stdout.readline()
        (folder / "go").touch()
        assert (first, started.stdout.read()) == (b"first\n", b"last\n")
    assert started.returncode == 0


def test_a_program_that_reads_nothing_and_says_a_lot_is_no_trouble(
    lineage: Lineage, programs: Programs, folder: Path
) -> None:
    big = "x" * 100_000
    (programs.folder / "codex").write_text(f"#!{sys.executable}\nprint('y' * 3_000_000)\n")
    (programs.folder / "codex").chmod(0o755)
    begin(lineage, folder, "codex")
    done = lineage("send", "s-1", big)
    assert (done.code, len(done.out)) == (0, 3_000_001)
    kept = lineage("send", "s-1", big, "--json").json["output"]
    assert len(kept) == 1 << 20
