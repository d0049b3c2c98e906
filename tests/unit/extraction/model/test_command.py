"""The provider `command`, with real programs: whatever one does, there is an answer or a reason, and nothing is left.

Fails without `killpg` (on the way out, and after a timeout), without the bound of `read`, without the check of the exit
code, without `start_new_session`, without the folder of its own, and without `_all_the_memory`.
"""

import gc
import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from lineage.extraction.model.command import CommandProvider
from lineage.extraction.model.port import ModelError
from tests.support.models import write_program

POSIX = pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked up in /proc")
LONG = 60.0
SHORT = 1.0


def command(arguments: list[str], *, seconds: float = LONG, most_bytes: int = 1_000, **more: str) -> CommandProvider:
    return CommandProvider(tuple(arguments), {**os.environ, **more}, seconds, most_bytes)


def refused(arguments: list[str], *, seconds: float = LONG, most_bytes: int = 1_000) -> str:
    with pytest.raises(ModelError) as caught:
        command(arguments, seconds=seconds, most_bytes=most_bytes).answer("hello")
    return caught.value.reason


def is_alive(pid: int) -> bool:
    """Whether a process runs: what is dead and not yet waited for by its parent does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def descriptors() -> int:
    """How many descriptors this process has open, where that can be told."""
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.is_dir() else 0


def gone(pid: int) -> bool:
    """Whether a process ends; a signal takes a moment to arrive."""
    for _ in range(500):
        if not is_alive(pid):
            return True
        time.sleep(0.01)
    return False


def test_a_program_reads_the_prompt_and_prints_the_answer(tmp_path: Path) -> None:
    echo = write_program(tmp_path, "print(prompt.upper())")
    answer = command(echo).answer("füße\n日本\ud800 \x00")
    assert (answer.text, answer.tokens) == ("FÜSSE\n日本? \x00", None)
    assert command(echo).name == Path(sys.executable).name


def test_a_program_that_does_not_read_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "deaf.py"
    path.write_text("print('done')")
    assert command([sys.executable, str(path)]).answer("x" * 5_000_000).text == "done"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("", "empty"),
        ("print(' \\n\\t')", "empty"),
        ("print('x' * 1001)", "too long"),
        ("while True: print('y' * 4096)", "too long"),
        ("print('so far so good'); sys.exit(3)", "exit code 3"),
        ("print('so far so good'); raise ValueError", "exit code 1"),
        ("sys.stdout.flush(); os.kill(os.getpid(), 9)", "killed"),
    ],
)
def test_what_is_no_answer_has_a_reason(tmp_path: Path, body: str, reason: str) -> None:
    assert refused(write_program(tmp_path, body)) == reason


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        "time.sleep(600)",
        "print('half', flush=True); time.sleep(600)",
        "os.close(1); time.sleep(600)",
        "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)",
    ],
    ids=["silent", "half an answer", "closed", "deaf"],
)
def test_a_program_that_does_not_end_is_ended(tmp_path: Path, body: str) -> None:
    pid = tmp_path / "pid"
    assert refused(
        write_program(tmp_path, f"open({str(pid)!r}, 'w').write(str(os.getpid()))\n{body}"), seconds=SHORT
    ) == ("timed out")
    assert not (pid.exists() and is_alive(int(pid.read_text() or 0)))


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize(
    ("ending", "reason"), [("time.sleep(600)", "timed out"), ("print('answer')", ""), ("sys.exit(1)", "exit code 1")]
)
def test_whatever_a_program_started_ends_with_it(tmp_path: Path, ending: str, reason: str) -> None:
    pid = tmp_path / "pid"
    child = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    body = f"""
        import subprocess
        nothing = subprocess.DEVNULL
        subprocess.Popen([sys.executable, "-c", {child!r}], stdin=nothing, stdout=nothing, stderr=nothing)
        while not (os.path.exists({str(pid)!r}) and os.path.getsize({str(pid)!r})):
            time.sleep(0.01)
        {ending}
    """
    arguments = write_program(tmp_path, textwrap.dedent(body))
    if reason:
        assert refused(arguments, seconds=2.0) == reason
    else:
        assert command(arguments).answer("hello").text == "answer"
    assert not pid.exists() or gone(int(pid.read_text()))


@pytest.mark.slow
def test_a_child_that_keeps_stdout_open_does_not_hold_it_up_for_ever(tmp_path: Path) -> None:
    body = (
        'import subprocess; subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]); print("answer")'
    )
    assert refused(write_program(tmp_path, body), seconds=SHORT) == "timed out"


def test_what_is_no_program_is_not_found(tmp_path: Path) -> None:
    assert refused([str(tmp_path / "nothing")]) == "not found"
    assert refused(["no-such-program-anywhere"]) == "not found"
    assert refused([str(tmp_path)]) == "not found"
    plain = tmp_path / "plain"
    plain.write_text("no program")
    assert refused([str(plain)]) == "not found"
    plain.chmod(0o755)
    assert refused([str(plain)]) == "cannot be run"


def test_a_program_is_looked_up_where_its_own_path_says(tmp_path: Path) -> None:
    path = tmp_path / "mine"
    path.write_text("#!/bin/sh\necho answer\n")
    path.chmod(0o755)
    assert command(["mine"], PATH=f"{tmp_path}:/usr/bin:/bin").answer("x").text == "answer"


def test_it_runs_in_an_empty_folder_that_is_gone_afterwards(tmp_path: Path) -> None:
    body = "print(os.getcwd(), len(os.listdir()), os.isatty(0), os.getpid() == os.getsid(0))\nopen('left', 'w').close()"
    folder, entries, terminal, leads = command(write_program(tmp_path, body)).answer("x").text.split()
    assert (entries, terminal, leads) == ("0", "False", "True")
    assert folder != str(Path.cwd())
    assert not Path(folder).exists()


def test_nothing_of_an_argument_is_a_shell_s(tmp_path: Path) -> None:
    arguments = [*write_program(tmp_path, "print(sys.argv[1:])"), "$HOME", "; touch /tmp/x", "a b"]
    assert command(arguments).answer("x").text == "['$HOME', '; touch /tmp/x', 'a b']"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere such a limit does not bind")
def test_a_bound_on_the_worker_s_memory_is_not_its_program_s(tmp_path: Path) -> None:
    """A runtime that reserves more address space than the worker may have starts all the same."""
    arguments = write_program(tmp_path, "import mmap; print(len(mmap.mmap(-1, 4 << 30)))")
    code = f"""
        import os, resource
        from lineage.extraction.model.command import CommandProvider
        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, resource.RLIM_INFINITY))
        program = CommandProvider(tuple({arguments!r}), os.environ, 60, 99)
        print(program.answer("x").text, resource.getrlimit(resource.RLIMIT_AS)[0])
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(4 << 30), str(3 << 30)]


@pytest.mark.slow
def test_no_thread_and_no_descriptor_is_left(tmp_path: Path) -> None:
    gc.collect()  # what earlier tests left to it isn't this one's
    threads, before = set(threading.enumerate()), descriptors()
    for body in ("print('x')", "time.sleep(600)", "while True: print('y' * 4096)"):
        try:
            command(write_program(tmp_path, body), seconds=SHORT).answer("x")
        except ModelError:
            continue
    assert set(threading.enumerate()) <= threads
    assert descriptors() <= before
