"""`lineage setup`: a whole home before, after and after the undo; questions at a pseudo-terminal."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from lineage.store.platform import lock_file
from tests.support.commands import SAMPLE, SAMPLE_ID

pytestmark = pytest.mark.slow

SETTINGS = '{\n  // mine\n  "model": "opus"\n}\n'
CONFIG = '# of this machine\n[web]\ntoken = "a-very-long-token-of-mine"   # keep\n'
QUESTIONS = ("Folder for the memory", "Connect claude-code, codex", "Import the earlier sessions")


class Home:
    """A user's home with two harnesses and a session, and lineage as its user types it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.memory = path / "lineage"
        history = path / ".claude" / "projects" / "-home-ada-reader" / f"{SAMPLE_ID}.jsonl"
        self.write(".claude/settings.json", SETTINGS)
        self.write(".codex/config.toml", 'model = "gpt"  # mine\n')
        self.write(str(history.relative_to(path)), SAMPLE.read_text(encoding="utf-8"))

    def write(self, name: str, text: str) -> None:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    @property
    def environment(self) -> dict[str, str]:
        return {"HOME": str(self.path), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "LINEAGE_NO_WORKER": "1"}

    def run(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "lineage", *words], env={**self.environment, **environment}, cwd=self.path,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip

    def expect(self, *words: str) -> str:
        done = self.run(*words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def files(self) -> dict[str, bytes | None]:
        """Every file and folder of the home, with the bytes of files."""
        paths = sorted(self.path.rglob("*"))
        return {str(path.relative_to(self.path)): path.read_bytes() if path.is_file() else None for path in paths}

    def at_terminal(self, *answers: str, interrupt_at: str = "") -> tuple[int, str]:
        """Answer the questions of a set-up at a pseudo-terminal; press Ctrl-C at the one that `interrupt_at` begins."""
        dialog = zip(QUESTIONS, answers or ("",) * len(QUESTIONS), strict=False)
        return self.talk("setup", dialog=list(dialog), interrupt_at=interrupt_at)

    def talk(self, *words: str, dialog: Sequence[tuple[str, str]], interrupt_at: str = "") -> tuple[int, str]:
        """Run a command at a pseudo-terminal, and type an answer where each text appears."""
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.path)
            os.execve(sys.executable, [sys.executable, "-m", "lineage", *words], self.environment)
        shown, waiting = "", list(dialog)
        while True:
            if not select.select([terminal], [], [], 60)[0]:
                os.kill(child, signal.SIGKILL)  # it waits for another answer
                break
            try:
                data = os.read(terminal, 65536)
            except OSError:  # the program is gone
                break
            if not data:
                break
            shown += data.decode("utf-8", "replace")
            if interrupt_at and interrupt_at in shown:
                time.sleep(0.1)
                os.write(terminal, b"\x03")
                interrupt_at = ""
                waiting.clear()
            elif waiting and waiting[0][0] in shown:
                os.write(terminal, waiting.pop(0)[1].encode() + b"\n")
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGCONT)
        _, status = os.waitpid(child, 0)
        os.close(terminal)
        return os.waitstatus_to_exitcode(status), shown


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Home]:
    yield Home(tmp_path / "home")


def test_one_command_and_the_next_session_is_told(machine: Home) -> None:
    out = machine.expect("setup", "--yes")
    assert "1 session of claude-code" in out
    assert "imported" in out
    assert "csv.reader" in machine.expect("context", "--project", "/home/ada/reader")
    status = json.loads(machine.expect("hooks", "status", "--json"))["harnesses"]
    connected = {one["harness"]: one for one in status if one["present"]}
    assert set(connected) == {"claude-code", "codex"}
    for one in connected.values():
        assert (one["state"], one["workspace"]) == ("installed", str(machine.memory))
        assert one["parts"] == ["mcp", "skill"]


def test_undone_no_byte_differs(machine: Home) -> None:
    machine.write(".config/lineage/config.toml", CONFIG)
    before = machine.files()
    machine.expect("setup", "--yes")
    assert machine.files() != before
    machine.expect("setup", "--undo", "--with-memory", "--yes")
    assert machine.files() == before
    assert "nothing to undo" in machine.expect("setup", "--undo")


def test_the_memory_stays_unless_it_is_asked_for(machine: Home) -> None:
    before = machine.files()
    machine.expect("setup", "--yes")
    assert "the memory stays" in machine.expect("setup", "--undo")
    after = machine.files()
    assert {name: data for name, data in after.items() if name.split("/")[0] != "lineage"} == before
    assert len(list((machine.memory / "memory").glob("*--transcript.md"))) == 1
    done = machine.run("setup", "--undo", "--with-memory")  # nothing to undo, and nothing is removed
    assert done.returncode == 0
    assert machine.files() == after


def test_again_changes_nothing(machine: Home) -> None:
    machine.expect("setup", "--yes")
    settings = {name: data for name, data in machine.files().items() if not name.startswith("lineage/.lineage")}
    out = machine.expect("setup", "--yes")
    assert "connected" in out and "0 sessions imported, 1 imported before" in out
    assert {name: data for name, data in machine.files().items() if not name.startswith("lineage/.lineage")} == settings


def test_former_hooks_come_back(machine: Home) -> None:
    machine.expect("init", str(machine.path / "old"))
    machine.expect("-w", str(machine.path / "old"), "hooks", "install", "claude-code", "--agent", "ann", "--no-skill")
    before = machine.files()
    out = machine.expect("-w", "new", "setup", "--yes")
    assert str(machine.path / "old") in out
    machine.expect("setup", "--undo", "--with-memory", "--yes")
    assert machine.files() == before


def test_hooks_that_are_there_decide_on_the_memory(machine: Home) -> None:
    machine.expect("init", str(machine.path / "old"))
    machine.expect("-w", str(machine.path / "old"), "hooks", "install", "claude-code")
    machine.expect("setup", "--yes")
    assert not machine.memory.exists()
    assert str(machine.path / "old") in machine.expect("status")


def test_what_others_changed_meanwhile_stays(machine: Home) -> None:
    machine.write(".config/lineage/config.toml", CONFIG)
    machine.expect("setup", "--yes")
    config, settings = machine.path / ".config/lineage/config.toml", machine.path / ".claude/settings.json"
    config.write_text(config.read_text(encoding="utf-8") + "# later\n", encoding="utf-8")
    settings.write_text(settings.read_text(encoding="utf-8").replace('"opus"', '"haiku"'), encoding="utf-8")
    out = machine.expect("setup", "--undo")
    assert config.read_text(encoding="utf-8") == CONFIG + "# later\n"
    assert settings.read_text(encoding="utf-8") == SETTINGS.replace("opus", "haiku")
    assert "others changed it since" in out


def test_half_a_set_up_is_finished_and_undone(machine: Home) -> None:
    before = machine.files()
    machine.write(".claude.json", "[")  # Claude Code's own state is damaged: its hooks fail
    done = machine.run("setup", "--yes")
    assert done.returncode != 0 and "claude-code" in done.stderr
    (machine.path / ".claude.json").unlink()
    (machine.memory / "AGENT_MEMORY.md").unlink()
    out = machine.expect("setup", "--yes")
    assert "unfinished" in out
    assert (machine.memory / "AGENT_MEMORY.md").exists()
    machine.expect("setup", "--undo", "--with-memory", "--yes")
    assert machine.files() == before


def test_the_questions_at_a_terminal(machine: Home) -> None:
    code, shown = machine.at_terminal("~/notes", "n", "y")
    assert code == 0, shown
    assert (machine.path / "notes" / "MEMORY.md").exists() and not machine.memory.exists()
    assert (machine.path / ".claude/settings.json").read_text(encoding="utf-8") == SETTINGS
    assert "1 session imported" in shown
    assert str(machine.path / "notes") in machine.expect("status")


def test_a_no_to_the_folder_stops_and_makes_nothing(machine: Home) -> None:
    before = machine.files()
    code, shown = machine.at_terminal("n")
    assert code == 130, shown
    assert machine.files() == before


def test_without_hooks_it_promises_no_session_that_is_saved(machine: Home) -> None:
    for choice in (("--no-hooks",), ("--trial",)):
        out = machine.expect("setup", "--yes", *choice)
        assert "none is yet, and no session is saved by itself" in out
        assert "start an agent" not in out and "hooks save" not in out and "check that sessions" not in out
    assert "none is yet" not in machine.expect("setup", "--yes")


def test_a_yes_to_the_folder_means_the_one_that_is_shown(machine: Home) -> None:
    code, shown = machine.at_terminal("y", "n", "n")
    assert code == 0, shown
    assert (machine.memory / "MEMORY.md").exists() and not (machine.path / "y").exists()


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_interrupt_at_a_question_leaves_nothing(machine: Home, question: str) -> None:
    before = machine.files()
    code, shown = machine.at_terminal(interrupt_at=question)
    assert code == 130, shown
    assert machine.files() == before


def test_elsewhere_than_at_a_terminal_it_asks_for_yes(machine: Home) -> None:
    before = machine.files()
    done = machine.run("setup")
    assert (done.returncode, machine.files()) == (2, before)
    assert "lineage setup --yes" in done.stderr


def test_two_at_once(machine: Home) -> None:
    words = [sys.executable, "-m", "lineage", "setup", "--yes"]
    running = [
        subprocess.Popen(words, env=machine.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for _ in range(2)
    ]
    outputs = [process.communicate()[0] for process in running]
    codes = sorted(process.returncode for process in running)
    assert codes[0] == 0 and codes[1] in (0, 1), outputs
    assert codes[1] == 0 or any("another set-up is running" in output for output in outputs)
    assert "no problems found" in machine.expect("verify")


def test_while_another_runs_nothing_is_changed(machine: Home) -> None:
    state = machine.path / ".local" / "state" / "lineage"
    state.mkdir(parents=True)
    unlock = lock_file(state / "setup.lock", wait=False)
    before = machine.files()
    done = machine.run("setup", "--yes")
    unlock()
    assert done.returncode == 1 and "another set-up is running" in done.stderr
    assert machine.files() == before


def test_no_memory_is_removed_under_a_worker(machine: Home) -> None:
    before = machine.files()
    machine.expect("setup", "--yes")
    unlock = lock_file(machine.memory / ".lineage" / "locks" / "worker.lock", wait=True)
    undoing = subprocess.Popen(
        [sys.executable, "-m", "lineage", "setup", "--undo", "--with-memory", "--yes"],
        env=machine.environment, cwd=machine.path, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        while "lineage" in (machine.path / ".claude" / "settings.json").read_text(encoding="utf-8"):
            time.sleep(0.05)
        time.sleep(0.5)
        assert undoing.poll() is None and (machine.memory / "MEMORY.md").exists()
    finally:
        unlock()
    assert undoing.wait(120) == 0
    assert machine.files() == before


def test_no_harness_and_no_history(tmp_path: Path) -> None:
    empty = Home(tmp_path / "home")
    for name in (".claude", ".codex"):
        subprocess.run(["rm", "-r", str(empty.path / name)], check=True)
    out = empty.expect("setup", "--yes")
    assert "none with hooks on this machine" in out and "no earlier sessions" in out
    assert (empty.memory / "MEMORY.md").exists()


def test_no_home(machine: Home) -> None:
    done = machine.run("setup", "--yes", HOME=str(machine.path / "missing"))
    assert done.returncode == 1 and "set HOME" in done.stderr
    assert not (machine.path / "missing").exists()


def as_nobody(machine: Home, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a command without the rights that root has over modes."""
    found = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all"] if os.getuid() == 0 else []
    return subprocess.run([*found, sys.executable, "-m", "lineage", *words], env=machine.environment, cwd=machine.path,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)  # fmt: skip


def test_a_read_only_home(machine: Home) -> None:
    before = machine.files()
    machine.path.chmod(0o500)
    try:
        done = as_nobody(machine, ["setup", "--yes"])
    finally:
        machine.path.chmod(0o700)
    assert done.returncode == 1, done.stderr
    assert "Permission denied" in done.stderr and "unexpected" not in done.stderr
    assert machine.files() == before


def test_other_files_at_the_place(machine: Home) -> None:
    machine.write("lineage/pyproject.toml", "a clone\n")
    machine.expect("setup", "--yes")
    assert (machine.path / "lineage-memory" / "MEMORY.md").exists()
    done = machine.run("-w", str(machine.path / "lineage"), "setup", "--yes")
    assert done.returncode == 1 and "holds other files" in done.stderr
    assert [path.name for path in machine.memory.iterdir()] == ["pyproject.toml"]


def test_an_agents_folder_of_others_and_one_of_ours(machine: Home) -> None:
    machine.write(".agents/skills/one/SKILL.md", "theirs\n")
    machine.expect("setup", "--yes")
    assert machine.memory.exists()
    machine.expect("setup", "--undo", "--with-memory", "--yes")
    machine.expect("init", str(machine.path / ".agents"))
    out = machine.expect("setup", "--yes")
    assert "~/.agents (exists, and stays as it is)" in out and not machine.memory.exists()


def test_another_machines_vault(machine: Home, tmp_path: Path) -> None:
    other = Home(tmp_path / "other")
    other.expect("setup", "--yes")
    subprocess.run(["cp", "-r", str(other.memory), str(machine.memory)], check=True)
    subprocess.run(["rm", "-r", str(machine.memory / ".lineage")], check=True)  # what no sync carries along
    before = machine.files()
    out = machine.expect("setup", "--yes")
    assert "exists, and stays as it is" in out
    assert "csv.reader" in machine.expect("context", "--project", "/home/ada/reader")
    machine.expect("setup", "--undo", "--with-memory", "--yes")  # no set-up made it: it stays
    after = machine.files()
    assert {name for name in before if name not in after} == set()


def test_a_folder_of_a_vault(machine: Home) -> None:
    machine.write("vault/.obsidian/app.json", "{}")
    machine.write("vault/note.md", "mine\n")
    before = machine.files()
    machine.expect("-w", str(machine.path / "vault"), "setup", "--yes")
    assert (machine.path / "vault" / "lineage" / "MEMORY.md").exists()
    machine.expect("setup", "--undo", "--with-memory", "--yes")
    assert machine.files() == before


def test_a_trial_touches_no_setting(machine: Home) -> None:
    before = machine.files()
    machine.expect("-w", "try", "setup", "--yes", "--trial", "--newest", "1")
    after = machine.files()
    changed = {name for name, data in after.items() if before.get(name, b"") != data and not name.startswith("try")}
    assert {name.split("/")[0] for name in changed} <= {".local"}
    assert "csv.reader" in machine.expect("-w", "try", "context", "--project", "/home/ada/reader")


def test_a_trial_leaves_the_undo_of_the_set_up_before_it(machine: Home) -> None:
    before = machine.files()
    machine.expect("setup", "--yes")
    machine.expect("-w", "try", "setup", "--yes", "--trial")
    machine.expect("setup", "--undo", "--with-memory", "--yes")
    after = machine.files()
    assert {name: data for name, data in after.items() if name.split("/")[0] != "try"} == before
    assert "try/MEMORY.md" in after


@pytest.mark.parametrize("place", ["/proc/x", "/proc/x/y", "locked", "locked/new", "note.md", "note.md/a/b"])
def test_a_place_that_cant_be_written_changes_nothing(machine: Home, place: str) -> None:
    """Neither files nor the record of the set-up before. Fails without `require_writable`."""
    machine.write("note.md", "mine\n")
    (machine.path / "locked").mkdir(0o500)
    before = machine.files()
    machine.expect("setup", "--yes")
    with_memory = machine.files()
    done = as_nobody(machine, ["-w", place, "setup", "--yes"])
    assert done.returncode == 1 and str(machine.path / place) in done.stderr, done.stderr
    assert "nothing was changed" in done.stderr or "can't be a workspace: Not a directory" in done.stderr
    assert "name another folder" in done.stderr
    assert machine.files() == with_memory
    assert f"removed {machine.memory}" in machine.expect("setup", "--undo", "--with-memory", "--yes")
    assert machine.files() == before


def test_a_first_set_up_that_cant_be_leaves_no_record(machine: Home) -> None:
    before = machine.files()
    done = machine.run("-w", "/proc/x", "setup", "--yes")
    assert done.returncode == 1 and "can't make /proc/x: No such file or directory; nothing was changed" in done.stderr
    assert machine.files() == before
    assert "nothing to undo" in machine.expect("setup", "--undo")


def test_a_first_set_up_that_fails_before_it_makes_anything_leaves_no_record(machine: Home) -> None:
    """Fails without the end of `lock_setup`."""
    machine.write("old/.lineage/log/mine", "")
    machine.write("old/views", "a file, where there has to be a folder")
    before = machine.files()
    done = machine.run("-w", "old", "setup", "--yes")
    assert done.returncode == 1 and "is a file, where a workspace has a folder" in done.stderr
    after = machine.files()
    assert {name for name in after if not name.startswith("old")} == {
        name for name in before if not name.startswith("old")
    }


def test_a_place_that_cant_be_written_is_asked_for_again(machine: Home) -> None:
    dialog = [(QUESTIONS[0], "/proc/x"), ("nothing was changed", "mem"), (QUESTIONS[1], "n"), (QUESTIONS[2], "n")]
    code, shown = machine.talk("setup", dialog=dialog)
    assert code == 0, shown
    assert (machine.path / "mem" / "MEMORY.md").exists()
    said = " ".join(shown.split())  # a long path has a line of its own
    assert said.index(f"memory {machine.path / 'mem'}") < said.index(" ".join(QUESTIONS[1].split()))


def test_a_set_up_that_fails_in_the_middle_keeps_the_record_of_the_one_before(machine: Home) -> None:
    """Fails where the journal takes the new memory for its own before that is made."""
    machine.write("vault/.obsidian/app.json", "{}")
    machine.write("vault/.obsidian/snippets", "a file, where there has to be a folder")
    before = machine.files()
    machine.expect("setup", "--yes")
    done = machine.run("-w", "vault", "setup", "--yes")
    assert done.returncode == 1 and "is a file, where a workspace has a folder" in done.stderr
    out = machine.expect("setup", "--undo", "--with-memory", "--yes")
    assert f"removed {machine.memory}" in out and "left" not in out, out
    assert machine.files() == before


def test_two_memories_are_undone_and_the_former_one_stays(machine: Home) -> None:
    """Fails where the journal forgets the memory of the set-up before."""
    before = machine.files()
    machine.expect("setup", "--yes")
    machine.expect("-w", "other", "setup", "claude-code", "--yes")
    out = machine.expect("setup", "--undo", "--with-memory", "--yes")
    assert "by now" not in out, "codex still has the hooks of the first set-up: they are ours"
    assert f"left: {machine.memory}: another set-up made it" in out and f"removed {machine.path / 'other'}" in out
    assert {name: data for name, data in machine.files().items() if name.split("/")[0] != "lineage"} == before


def test_back_to_the_first_of_two_memories_it_is_still_its_own(machine: Home) -> None:
    before = machine.files()
    machine.expect("setup", "--yes")
    machine.expect("-w", "other", "setup", "--yes")
    machine.expect("-w", str(machine.memory), "setup", "--yes")
    out = machine.expect("setup", "--undo", "--with-memory", "--yes")
    assert f"removed {machine.memory}" in out and f"left: {machine.path / 'other'}: another set-up made it" in out
    assert {name: data for name, data in machine.files().items() if name.split("/")[0] != "other"} == before


def test_an_undo_says_what_hooks_still_capture_into_the_memory(machine: Home) -> None:
    machine.expect("-w", str(machine.memory), "hooks", "install", "codex")
    machine.expect("setup", "--yes", "--no-import")
    out = machine.expect("setup", "--undo", "--yes")
    assert "left: codex: hooks that no set-up installed capture into it" in out
    machine.expect("hooks", "uninstall", "codex")
    machine.expect("setup", "--yes", "--no-import")
    assert "no set-up installed" not in machine.expect("setup", "--undo", "--yes")


def test_an_undo_says_that_it_failed_and_goes_on_once_the_settings_are_mended(machine: Home) -> None:
    before = machine.files()
    machine.expect("setup", "--yes", "--no-import")
    settings = machine.path / ".claude/settings.json"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(f"{text},,", encoding="utf-8")
    for number in range(2):
        done = machine.run("setup", "--undo", "--yes")
        assert (done.returncode, "the undo isn't complete" in done.stderr) == (1, True)
        assert "left: claude-code may still have what lineage added:" in done.stdout
        assert "lineage's part is out of it" not in done.stdout
        assert ("  removed " in done.stdout) is (number == 0)
    settings.write_text(text, encoding="utf-8")
    assert "restored" in machine.expect("setup", "--undo", "--with-memory", "--yes")
    assert machine.files() == before


def test_what_the_undo_says_of_the_memory_is_true(machine: Home) -> None:
    machine.expect("init", str(machine.memory))
    for _ in range(2):
        machine.expect("setup", "--yes")
        machine.expect("setup", "--undo")
        machine.expect("setup", "--yes")
        out = machine.expect("setup", "--undo", "--with-memory", "--yes")
        assert f"left: {machine.memory}: it was there before this set-up" in out and "delete the folder" in out
    machine.expect("setup", "--yes")
    code, shown = machine.talk("setup", "--undo", "--with-memory", dialog=[("Undo it?", "n")])
    shown = " ".join(shown.split())
    assert code == 130 and f"keep the memory {machine.memory}: it was there before this set-up Undo it?" in shown, shown
    subprocess.run(["rm", "-r", str(machine.memory)], check=True)
    assert "stays" not in machine.expect("setup", "--undo")


@pytest.mark.parametrize("place", ["lineage", "new/folder", "vault"])
def test_a_memory_that_an_undo_kept_is_still_a_set_up_s_own(machine: Home, place: str) -> None:
    """Fails without `record_made`, or `read_made` in `_make_memory`."""
    machine.write("vault/.obsidian/app.json", "{}")
    machine.write("vault/note.md", "mine\n")
    before = machine.files()
    for _ in range(3):
        machine.expect("-w", place, "setup", "--yes", "--no-import")
        machine.expect("setup", "--undo", "--yes")
    machine.expect("-w", place, "setup", "--yes", "--no-import")
    assert list(machine.path.rglob(".lineage/setup.json")) == []
    assert "left" not in machine.expect("setup", "--undo", "--with-memory", "--yes")
    assert machine.files() == before


def test_two_memories_that_an_undo_kept_are_still_set_ups_own(machine: Home) -> None:
    before = machine.files()
    machine.expect("setup", "--yes", "--no-import")
    machine.expect("-w", "other", "setup", "--yes", "--no-import")
    assert f"removed {machine.path / 'other'}" in machine.expect("setup", "--undo", "--with-memory", "--yes")
    machine.expect("setup", "--yes", "--no-import")
    machine.expect("setup", "--undo", "--with-memory", "--yes")
    assert machine.files() == before


@pytest.mark.parametrize(
    "script",
    [
        "mv lineage moved && cp -r moved lineage",  # a copy, or what a sync brought from another machine
        "mv lineage moved && mkdir lineage && cp -r moved/.lineage lineage",
        "rm -r lineage/*",
        "echo '[' > lineage/.lineage/setup.json",
        "rm -r lineage/.lineage",
    ],
    ids=["copied", "state-copied", "emptied", "damaged", "forgotten"],
)
def test_no_folder_is_removed_that_held_something_else_before(machine: Home, script: str) -> None:
    """Fails where `read_made` doesn't compare, or half a memory is taken for one that a set-up made."""
    machine.expect("setup", "--yes", "--no-import")
    machine.expect("setup", "--undo")
    subprocess.run(["bash", "-ec", script], cwd=machine.path, check=True)
    machine.write("lineage/mine.md", "mine\n")
    for _ in range(2):
        machine.expect("-w", "lineage", "setup", "--yes", "--no-import")
        out = machine.expect("setup", "--undo", "--with-memory", "--yes")
        assert f"left: {machine.memory}: it was there before this set-up" in out
        assert (machine.memory / "mine.md").read_text(encoding="utf-8") == "mine\n"
        assert not (machine.memory / ".lineage" / "setup.json").exists()


def test_the_undo_of_another_memory_changes_nothing_and_names_the_one_that_is_set_up(machine: Home) -> None:
    """Fails without `_require_named`."""
    machine.write("vault/.obsidian/app.json", "{}")
    machine.write("vault/note.md", "mine\n")
    machine.expect("-w", "old", "setup", "--yes", "--no-import")
    machine.expect("-w", "vault", "setup", "codex", "--yes", "--no-import")
    vault, before = machine.path / "vault", machine.files()
    line = f"`lineage -w {vault / 'lineage'} setup --undo` undoes"
    for words, variables, said in (
        (("-w", "w2", "setup", "--undo", "--yes"), {}, f"{line} that set-up"),
        (("-w", "w2", "setup", "--undo"), {}, f"{machine.path / 'w2'} is not the memory that is set up"),
        (
            ("setup", "--undo", "--with-memory", "--yes", "-w", "w2"),
            {},
            f": {vault / 'lineage'} is; nothing was changed",
        ),
        (("setup", "--undo", "--json"), {"LINEAGE_WORKSPACE": "~/w2"}, "w2, which LINEAGE_WORKSPACE names, is not"),
        (("-w", "old", "setup", "--undo", "--yes"), {}, f"{line} both set-ups"),
        (("setup", "--undo", "--yes", "-w", ""), {}, "it is empty"),
    ):
        done = machine.run(*words, **variables)
        assert (done.returncode, said in done.stderr, done.stdout) == (2, True, ""), done.stderr
        assert machine.files() == before
    (machine.path / "link").symlink_to(vault)
    assert "the memory stays" in machine.expect("-w", "link/../link", "setup", "--undo")
    assert "nothing to undo" in machine.expect("-w", "w2", "setup", "--undo")
    machine.expect("-w", "vault", "setup", "--yes", "--no-import")
    assert "the memory stays" in machine.run("-w", "vault/lineage", "setup", "--undo", LINEAGE_WORKSPACE="w2").stdout


def test_at_a_terminal_the_undo_says_what_it_does_and_asks(machine: Home) -> None:
    before = machine.files()
    machine.expect("setup", "--yes", "--no-import")
    done = machine.files()
    code, shown = machine.talk("setup", "--undo", dialog=[("Undo it?", "n")])
    assert code == 130 and "you answered no: nothing was changed" in shown, shown
    for line in (
        "disconnect claude-code (hooks, MCP server, skill)", f"restore {machine.path / '.claude' / 'settings.json'}",
        f"remove {machine.path / '.config' / 'lineage' / 'config.toml'}", f"keep the memory {machine.memory}",
    ):  # fmt: skip
        assert line in shown.replace("\r", "").replace("\n    ", " "), shown
    assert machine.files() == done
    code, shown = machine.talk("setup", "--undo", "--with-memory", dialog=[("that it remembers?", "\x04")])
    assert code == 130 and "`lineage setup --undo --with-memory --yes` asks nothing" in shown, shown
    assert machine.files() == done
    code, shown = machine.talk("setup", "--undo", "--yes", dialog=[])
    assert (code, "Undo it?" in shown) == (0, False), shown
    machine.expect("setup", "--yes", "--no-import")
    code, shown = machine.talk("setup", "--undo", dialog=[("Undo it?", "y")])
    assert code == 0, shown
    assert {name: data for name, data in machine.files().items() if name.split("/")[0] != "lineage"} == before


def test_off_the_path_the_end_says_what_to_type(machine: Home) -> None:
    """Fails without `describe_off_path` in `_print_next_steps`."""
    bare = {**machine.environment, "PATH": "/usr/bin:/bin"}
    out = machine.run("setup", "--yes", PATH=bare["PATH"]).stdout
    (line,) = (line for line in out.partition("Next:")[2].splitlines() if "` is not on PATH: " in line)
    typed, export = line.partition(": type ")[2].split(", or put it there")[0], line.partition("→ ")[2]
    for script in (f"{typed} --version", f"{export}; lineage --version"):
        done = subprocess.run(["bash", "-c", script], env=bare, capture_output=True, text=True, check=False)
        assert (done.returncode, "lineage" in done.stdout) == (0, True), script + done.stderr
    assert line.strip() in machine.run("status", PATH=bare["PATH"]).stdout
    found = os.pathsep.join([str(Path(sys.executable).parent), bare["PATH"]])
    assert "is not on PATH" not in machine.run("setup", "--yes", PATH=found).stdout


def test_no_temporary_folder_is_proposed(machine: Home) -> None:
    """Fails without `is_test_session` in `_measure_context`."""
    newer, text = f"{SAMPLE_ID[:-4]}ffff", SAMPLE.read_text(encoding="utf-8")
    for old, new in ((SAMPLE_ID, newer), ("/home/ada/reader", "/tmp/ai"), ('"timestamp":"2026-', '"timestamp":"2027-')):
        assert old in text
        text = text.replace(old, new)
    machine.write(f".claude/projects/-tmp-ai/{newer}.jsonl", text)
    out = machine.expect("setup", "--yes")
    assert "2 sessions imported" in out and "start an agent in /home/ada/reader" in out and "/tmp/ai" not in out
