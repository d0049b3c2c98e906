"""Ctrl-C anywhere: the command ends with 130 and says so, what it had finished is kept, and it can be typed again.

Every command gets a SIGINT while it starts and while it works, as a terminal sends it: to its children, too.
The long ones get it in the middle, again and again, and then finish. At a question it answers nothing.

Fails where an interrupt prints a traceback or is taken for an answer, and where its message goes on in the line of the
question: without the line end in `lineage.cli.main.run` and in `_read_key`.
Fails where the hint at a question leaves out what was typed, and without `_interrupt_again` in `__main__`.
"""

import os
import pty
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.command_lines import LEAVES, line_of, write_place
from tests.support.command_tree import describe_bad_message
from tests.support.commands import SAMPLE, SAMPLE_ID, CommandResult, run_process
from tests.support.dead_processes import read_all_files
from tests.support.sample_workspace import write_sample_workspace

pytestmark = [pytest.mark.slow, pytest.mark.in_folder, pytest.mark.leaves_findings]

_PROGRAM = "import os; from lineage.__main__ import main; os.write(2, b'.'); main()"
_IGNORED = """
import time
import lineage.cli.main
from lineage.__main__ import main

class Lock:
    def __del__(self):
        raise KeyboardInterrupt

def work(*_, **__):
    Lock()
    time.sleep(5)

lineage.cli.main.cli.main = work
main()
"""
_ENDS = {130, -signal.SIGINT}  # a shell shows 130 for both: the interpreter ends so if it was making a class
_SESSIONS = 60


def interrupt(words: Sequence[str], after: float, *, waits_for: str = "") -> CommandResult:
    """Start a command line, and send SIGINT to it and its children so long after it began or printed something."""
    with subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout and process.stderr
        assert process.stderr.read(1) == b"."
        begun = b""
        while waits_for.encode() not in begun and (piece := os.read(process.stdout.fileno(), 4096)):
            begun += piece
        time.sleep(after)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=120)
    return CommandResult(process.returncode, (begun + out).decode(), err.decode())


def complain(words: Sequence[str], result: CommandResult) -> list[str]:
    said = f"{' '.join(words)[:80]}: {result.code}: {result.err[-800:]}"
    if result.code not in _ENDS:
        is_done = result.code in (0, 1, 2, 4) and "Traceback" not in result.err
        return [] if is_done else [said]
    bad = describe_bad_message(CommandResult(130, "", result.err.lstrip("\n"))) if result.err.strip() else []
    return [f"{said}: {one}" for one in bad]


def test_an_interrupt_that_python_ignores_is_none_that_is_lost() -> None:
    done = subprocess.run([sys.executable, "-c", _IGNORED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.split("\n")[0]) == (130, "lineage: interrupted")


@pytest.mark.parametrize("path", LEAVES)
def test_every_command_can_be_interrupted(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = write_place(tmp_path)
    monkeypatch.chdir(place)
    words = line_of(path, place / "w")
    wrong = [one for after in (0.1, 0.3) for one in complain(words, interrupt(words, after))]
    assert not wrong, "\n".join(wrong)


def write_history(home: Path) -> None:
    """Write many sessions of a harness."""
    folder = home / ".claude" / "projects" / "-home-ada-reader"
    folder.mkdir(parents=True)
    text = SAMPLE.read_text(encoding="utf-8")
    for number in range(_SESSIONS):
        session = f"{SAMPLE_ID[:-4]}{number:04}"
        (folder / f"{session}.jsonl").write_text(text.replace(SAMPLE_ID, session), encoding="utf-8")


def test_long_ones_go_on_where_they_were(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_history(home)
    root = tmp_path / "w"
    assert run_process(root, "init").code == 0
    where, cut, wrong = ["-w", str(root)], 0, list[str]()
    for line in (
        ["import", "claude-code", "--jobs", "2"], ["admin", "reindex"], ["export", "--site", "site"],
        ["admin", "verify"], ["admin", "mirror", "vault", "--once"], ["admin", "move", str(root), "moved"],
    ):  # fmt: skip
        words = line if "move" in line else [*where, *line]
        for after in (0.5, 0.9, 1.4, 2.0):
            ended = interrupt(words, after)
            cut += ended.code in _ENDS
            wrong += complain(words, ended)
            if ended.code == 0:  # done before the key was pressed: a move takes no second target that is full
                break
        if ended.code == 0 and "move" in line:
            continue
        if "verify" in line:  # a writer that was cut off leaves a file beside its target, and verify says: recover
            assert run_process(root, "admin", "recover").code == 0
        done = run_process(root, *line)
        wrong += [f"{line}: {done}"] * (done.code != 0)
    assert not wrong, "\n".join(wrong)
    assert cut > len(wrong)
    assert len(run_process(root, "list", "--all", "--json").json["sessions"]) == _SESSIONS
    for place in (root, tmp_path / "vault", tmp_path / "moved"):
        assert run_process(place, "admin", "verify").out == "no problems found\n"


@pytest.mark.parametrize(
    ("line", "shows", "codes"),
    [
        (["serve", "--port", "0"], "Ctrl-C ends it", {0}), (["admin", "watch"], "watching", _ENDS),
        (["admin", "mirror", "vault"], "mirroring", _ENDS),
    ],
)  # fmt: skip
def test_what_runs_until_then_ends(line: list[str], shows: str, codes: set[int], tmp_path: Path) -> None:
    root = write_sample_workspace(tmp_path / "w")
    line = [str(tmp_path / word) if word == "vault" else word for word in line]
    ended = interrupt(["-w", str(root), *line], 0.5, waits_for=shows)
    assert ended.code in codes, ended
    assert complain(line, ended) == []
    assert run_process(root, "admin", "verify").out == "no problems found\n"


def press(words: Sequence[str], prompt: str, key: str, home: Path) -> tuple[int, str]:
    """Run a command line at a terminal of its own and press a key when it asks. Return its exit code and output."""
    child, terminal = pty.fork()
    if child == 0:
        environment = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "LINEAGE_HARNESS_PID": "0"}
        os.execve(sys.executable, [sys.executable, "-m", "lineage", *words], environment)
    shown = ""
    while select.select([terminal], [], [], 25)[0]:
        try:
            data = os.read(terminal, 65536)
        except OSError:  # the program is gone
            break
        shown += data.decode("utf-8", "replace")
        if key and prompt in shown:
            time.sleep(0.2)
            os.write(terminal, key.encode())
            key = ""
    else:
        os.kill(child, signal.SIGKILL)  # it asks nothing
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(terminal)
    return code, shown


def read_files_of_memory(root: Path) -> dict[str, bytes]:
    """Every file but those of the machine's folder."""
    return {name: data for name, data in read_all_files(root).items() if ".lineage/" not in name}


@pytest.mark.parametrize("key", ["\x03", "\x04"])
@pytest.mark.parametrize(
    ("line", "prompt"),
    [
        (["remove", "long"], "for good?"), (["admin", "telemetry", "reset"], "to zero?"), (["init"], "Replace it?"),
        (["memory", "pin", "ID", "--global"], "globally?"), (["memory", "review"], "[q] stop"), (["setup"], "Folder"),
        (["status", "--fix"], "Run `"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_a_question_that_is_interrupted_is_not_answered(
    line: list[str], prompt: str, key: str, tmp_path: Path, home: Path
) -> None:
    root = write_sample_workspace(tmp_path / "w")
    if line == ["init"]:
        (root / "views" / "Open tasks.md").write_text("mine\n")
    if line[0] == "status":
        for path in (root, *root.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)  # a finding that `admin upgrade` mends
    if "ID" in line:
        entries = run_process(root, "memory", "show", "project/reader", "task", "--json").json["entries"]
        line = [entries[0]["id"] if word == "ID" else word for word in line]
    before = read_files_of_memory(root)
    code, shown = press(["-w", str(root), *line], prompt, key, home)
    assert read_files_of_memory(root) == before
    assert "Traceback" not in shown
    if line == ["memory", "review"] and key == "\x04":  # its questions end as by the key that stops them
        assert code == 0 and "0 remembered, 0 forgotten" in shown, shown
        return
    assert code == 130, shown
    message = [one for one in shown.replace("\r", "").split("\n") if one][-2:]
    assert describe_bad_message(CommandResult(code, "", "\n".join(message))) == [], shown
    typed = shlex.join(["lineage", "-w", str(root), *line])
    assert f"run `{typed}` again" in message[-1] or line == ["memory", "review"], shown  # its hint is of any moment
    takes_yes = line[:2] not in (["memory", "pin"], ["memory", "review"])
    if key == "\x04" and takes_yes:
        assert "no answer came" in message[0] and f"`{typed} --yes` asks nothing" in message[-1], shown


@pytest.mark.parametrize("line", [["remove", "long"], ["admin", "telemetry", "reset"]], ids=" ".join)
def test_a_no_changes_nothing_and_says_so(line: list[str], tmp_path: Path, home: Path) -> None:
    root = write_sample_workspace(tmp_path / "w")
    prompt = "for good?" if line[0] == "remove" else "to zero?"
    code, shown = press(["-w", str(root), *line], prompt, "n\n", home)
    assert code == 130 and "you answered no: nothing was changed" in shown, shown
    assert f"run `{shlex.join(['lineage', '-w', str(root), *line])}` again to answer otherwise" in shown, shown
