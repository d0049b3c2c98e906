"""Every harness program, driven as a person drives it: what lineage captures of it, and what it is told.

A harness's cells are held in order in one life of its home, for each builds on the one before. A cell that the program
can't hold is named in `programs.py`, with the reason; the README's table shows all of them.
"""

import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.harness.model_server import LINEAGE_BLOCK, Asked
from tests.harness.programs import PROGRAMS_BY_NAME, Program, why_not
from tests.harness.sandbox import Run, Sandbox, Terminal, find_homes

pytestmark = pytest.mark.slow

DECISION = "We decided to moor at berth nine, because berth four silts up."
FIRST = f"RUN(echo the tide is 42) SAY({DECISION})"
WITHIN = 15  # seconds from the end of a program's process to its session's capture


class Life:
    """One harness's home, from the installation of hooks to their removal."""

    def __init__(self, program: Program, sandbox: Sandbox) -> None:
        self.program, self.sandbox = program, sandbox
        self.vault = sandbox.home / "vault"

    def say(self, prompt: str, words: Sequence[str] = ()) -> Run:
        """Run the program without a terminal for one prompt."""
        run = self.sandbox.run(*self.program.command(words or self.program.prompt, prompt))
        assert run.status == 0, run.output[-3000:]
        return run

    def sessions(self) -> list[dict[str, Any]]:
        """Return the captured sessions, newest first."""
        run = self.sandbox.lineage("sessions", "--json")
        assert run.status == 0, run.output
        found: list[dict[str, Any]] = json.loads(run.output)["sessions"]
        return found

    def files(self, kind: str) -> list[Path]:
        """Return the captured files of a kind, oldest first."""
        return sorted((self.vault / "memory").glob(f"*--{kind}.md"))

    def settle(self) -> None:
        """Wait until no hook and no worker runs, or for the ten seconds beyond which a worker watches open sessions."""
        running = ("lineage work", "lineage hook")
        wait_for(lambda: not any(word in line for line in self.sandbox.command_lines() for word in running), 10)

    def last_event(self) -> str:
        """Return what the program's hooks told of last: when, and what."""
        marks = json.loads(self.expect("status", "--json"))["marks"]
        return str(marks.get(f"event {self.program.name}", ""))

    def collect(self) -> None:
        """Bring in what no event told of, for a program whose process outlives its sessions."""
        if self.program.by_sweep:
            self.expect("sweep", "--idle", "0")

    def read_newest(self) -> str:
        """Return the body of the newest transcript."""
        text = self.files("transcript")[-1].read_text(encoding="utf-8")
        return text[text.index("\n---\n") :]

    def expect(self, *words: str) -> str:
        """Run a command of lineage that has to end well; return what it printed."""
        run = self.sandbox.lineage(*words)
        assert run.status == 0, f"lineage {' '.join(words)} → {run.status}\n{run.output}"
        return run.output


def captured(life: Life) -> None:
    """A session with a tool call is captured whole and in order within 15 s of the end of its process."""
    life.say(FIRST)
    life.collect()
    assert wait_for(lambda: len(life.files("transcript")) == 1), life.sandbox.lineage("status").output
    life.settle()
    body = life.read_newest()
    in_order = [
        "[!user]",
        "RUN(echo the tide is 42)",
        "[!tool]",
        "echo the tide is 42",
        "the tide is 42",
        "[!agent]",
        DECISION,
    ]
    place = 0
    for words in in_order:
        place = body.find(words, place)
        assert place >= 0, f"{words!r} is missing, or out of order:\n{body}"
        place += len(words)
    assert body.count("[!user]") == 1, body


def told_at_start(life: Life) -> None:
    """The next session's request holds the block with the first one's decision."""
    before = len(life.sandbox.asked())
    life.say("SAY(The second one was here.)", life.program.another)
    life.collect()
    assert wait_for(lambda: len(life.sessions()) == 2), life.sandbox.lineage("status").output
    assert "berth nine" in find_blocks(life.sandbox.asked()[before:])[-1]
    newest = life.read_newest()
    assert "lineage-context" not in newest, newest
    assert "berth nine" not in newest, newest


def resumed(life: Life) -> None:
    """A resumed session adds its turns alone."""
    sessions, files = len(life.sessions()), len(life.files("transcript"))
    life.say("SAY(A third answer, by resuming.)", life.program.resume)
    life.collect()
    assert wait_for(lambda: len(life.files("transcript")) == files + 1), life.sandbox.lineage("status").output
    assert len(life.sessions()) == sessions
    newest = life.read_newest()
    assert newest.count("[!user]") == 1 and "A third answer, by resuming." in newest, newest
    assert "The second one was here." not in newest, newest


def imported(life: Life) -> None:
    """`import` finds nothing new behind the hooks, and everything for a workspace that no hook told of anything."""
    life.settle()
    files = life.files("transcript")
    life.expect("import", life.program.name)
    assert life.files("transcript") == files
    other = ("--workspace", str(life.sandbox.home / "other"))
    life.expect("init", str(life.sandbox.home / "other"))
    life.expect("import", life.program.name, *other)
    there = json.loads(life.expect("sessions", "--json", *other))["sessions"]
    assert len(there) == len(life.sessions())
    assert any(DECISION in path.read_text(encoding="utf-8") for path in life.sandbox.home.glob("other/memory/*.md"))


def swept(life: Life) -> None:
    """`sweep` finds nothing new."""
    files = life.files("transcript")
    life.expect("sweep", "--idle", "0")
    assert life.files("transcript") == files


def mcp(life: Life) -> None:
    """Lineage's tools are in the request, one is called, and its result arrives."""
    assert life.program.connect
    life.program.connect(life.sandbox)
    before = len(life.sandbox.asked())
    life.say("CALL(search query=berth nine) SAY(It was found.)", life.program.another)
    requests = life.sandbox.asked()[before:]
    tools = {name for asked in requests for name in asked.tools}
    assert any("lineage" in name for name in tools), sorted(tools)
    results = [said.text for asked in requests for said in asked.messages if said.kind == "result"]
    assert any("berth nine" in text for text in results), results


def healthy(life: Life) -> None:
    """`verify` and `doctor` exit 0, and say nothing of a finding."""
    life.settle()
    assert "no problems found" in life.expect("verify")
    life.expect("doctor")


def killed(life: Life) -> None:
    """A session whose process is killed behind a turn is captured within 15 s all the same."""
    files = len(life.files("transcript"))
    terminal = open_terminal(life)
    type_prompt(life, terminal, "The last words before the end.")
    assert terminal.wait_for(lambda: life.last_event().endswith("turn-end")), life.last_event()
    life.sandbox.end_terminals()
    life.collect()
    assert wait_for(lambda: len(life.files("transcript")) > files), life.sandbox.lineage("status").output


def killed_in_a_turn(life: Life) -> None:
    """A program that is killed while the model answers loses nothing that it wrote, and leaves nothing half-done."""
    asked = len(life.sandbox.asked())
    process = life.sandbox.start(*life.program.command(life.program.another, "SAY(Half a word.) HANG()"))
    assert wait_for(lambda: len(life.sandbox.asked()) > asked, 60)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    life.expect("sweep", "--idle", "0")
    healthy(life)
    found = [path for path in life.files("transcript") if "Half a word." in path.read_text(encoding="utf-8")]
    assert len(found) <= 1  # a program may write a prompt down only once it is answered


def unreachable(life: Life) -> None:
    """A model that nobody reaches ends the program with an error in bounded time; memory takes no harm."""
    with life.sandbox.without_model():
        run = life.sandbox.run(*life.program.command(life.program.another, "SAY(Nobody hears this.)"), seconds=10)
    assert run.status != 0 or "error" in run.output.lower(), run.output
    life.expect("sweep", "--idle", "0")
    healthy(life)


def compacted(life: Life) -> None:
    """A compaction at a terminal leaves one compaction, and the block is there again in the request behind it."""
    before = len(life.files("compaction"))
    terminal = open_terminal(life)
    # some programs compact no short conversation
    type_prompt(life, terminal, "First at the terminal.", "FILL(1500) ")
    type_prompt(life, terminal, "Second at the terminal.", "FILL(1500) ")
    asked = len(life.sandbox.asked())
    type_line(terminal, life.program.compact)
    assert terminal.wait_for(lambda: len(life.sandbox.asked()) > asked), terminal.shown
    assert terminal.wait_for(life.program.compacted), terminal.shown
    asked = len(life.sandbox.asked())
    type_prompt(life, terminal, "Behind the compaction.")
    behind = life.sandbox.asked()[asked:]
    leave(life, terminal)
    assert wait_for(lambda: len(life.files("compaction")) == before + 1), life.sandbox.lineage("status").output
    life.settle()
    assert len(life.files("compaction")) == before + 1
    assert "berth nine" in find_blocks(behind)[-1]


def silent(life: Life) -> None:
    """Start and leave without a word: nothing is captured, and nothing waits."""
    life.settle()
    before = sorted((life.vault / "memory").rglob("*.md"))
    leave(life, open_terminal(life))
    healthy(life)
    assert sorted((life.vault / "memory").rglob("*.md")) == before


def uninstalled(life: Life) -> None:
    """Uninstalling leaves every byte that the harness itself didn't rewrite."""
    home = life.sandbox.home
    life.expect("hooks", "uninstall", life.program.name)
    workspaces = (life.vault, home / "other")
    left = [path for path in home.rglob("*") if path.is_file() and not any(map(path.is_relative_to, workspaces))]
    mine = [
        path
        for path in left
        if path.suffix in {".json", ".toml", ".js", ".ts", ".mjs"} and b"lineage hook" in path.read_bytes()
    ]
    assert not mine, mine
    for path, content in life.sandbox.settings.items():
        if path.read_bytes() != content:
            assert b'"hook"' not in path.read_bytes(), path


def wait_for(seen: Callable[[], bool], seconds: float = WITHIN) -> bool:
    """Return whether something comes to be seen in time."""
    until = time.monotonic() + seconds
    while not seen():
        if time.monotonic() > until:
            return False
        time.sleep(0.25)
    return True


def find_blocks(requests: list[Asked]) -> list[str]:
    """Return lineage's block of each request that holds one; there has to be one."""
    texts = ("\n".join(said.text for said in asked.messages) for asked in requests)
    blocks = [block[0] for text in texts if (block := LINEAGE_BLOCK.search(text))]
    assert blocks, f"none of {len(requests)} requests holds the block"
    return blocks


def open_terminal(life: Life) -> Terminal:
    """Start the program at a terminal and wait until it takes input."""
    terminal = Terminal(life.sandbox, *life.program.terminal)
    assert terminal.wait_for(life.program.ready), terminal.shown
    return terminal


def type_line(terminal: Terminal, words: str) -> None:
    """Type words, and when they stand on the screen the end of the line."""
    terminal.press(words)
    if not terminal.wait_for(words, 5):  # a program that just starts may drop keys
        terminal.press(words)
        assert terminal.wait_for(words, 10), terminal.shown
    terminal.read(0.3)  # else the end of the line counts as a part of what was pasted
    terminal.press("\r")


def type_prompt(life: Life, terminal: Terminal, words: str, before: str = "") -> None:
    """Type a prompt and wait for its answer: the same words in capitals, for what is typed is drawn, too."""
    asked = len(life.sandbox.asked())
    type_line(terminal, f"{before}SHOUT({words})")
    assert terminal.wait_for(lambda: len(life.sandbox.asked()) > asked), terminal.shown
    assert terminal.wait_for(words.upper()), terminal.shown


def leave(life: Life, terminal: Terminal) -> None:
    """Leave the program as a person does."""
    type_line(terminal, life.program.leave)
    assert terminal.wait() is not None, terminal.shown


CELLS: dict[str, Callable[[Life], None]] = {
    "captured": captured,
    "told at start": told_at_start,
    "resumed": resumed,
    "import": imported,
    "sweep": swept,
    "MCP": mcp,
    "verify and doctor": healthy,
    "killed behind a turn": killed,
    "killed in a turn": killed_in_a_turn,
    "model not reached": unreachable,
    "/compact": compacted,
    "left without a word": silent,
    "uninstalled": uninstalled,
}


@pytest.fixture
def life(request: pytest.FixtureRequest) -> Iterator[Life]:
    """A harness with lineage's hooks, in a home of its own."""
    program = PROGRAMS_BY_NAME[request.param]
    if reason := why_not(program):
        assert os.environ.get("LINEAGE_HARNESSES") != "required", reason  # where every program has to be there
        pytest.skip(reason)
    sandbox = Sandbox(find_homes() / f"{program.name}-{os.getpid()}", program.folder, dict(program.variables))
    sandbox.variables["LINEAGE_WORKSPACE"] = str(sandbox.home / "vault")
    try:
        program.configure(sandbox)
        sandbox.keep_settings()
        assert sandbox.run("git", "init", "--quiet").status == 0
        life = Life(program, sandbox)
        life.expect("init")
        life.expect("hooks", "install", program.name)
        if program.approve:
            program.approve(sandbox)
        yield life
    finally:
        sandbox.close()
        if not os.environ.get("LINEAGE_KEEP_HOMES"):
            shutil.rmtree(sandbox.home, ignore_errors=True)


@pytest.mark.parametrize("life", sorted(PROGRAMS_BY_NAME), indirect=True)
def test_harness(life: Life) -> None:
    problems = {}
    wanted = os.environ.get("LINEAGE_CELLS", "").split(",")
    for name, cell in CELLS.items():
        left_out = {*life.program.impossible, *life.program.unseen}
        if (name in left_out) if wanted == [""] else (name not in wanted):
            continue
        started = time.monotonic()
        try:
            cell(life)
        except AssertionError as problem:
            problems[name] = str(problem)[-4000:]
        finally:
            life.sandbox.end_terminals()
            print(f"{name}: {'lost' if name in problems else 'held'} in {time.monotonic() - started:.1f} s")
    assert not problems, "\n\n".join(f"== {name}\n{problem}" for name, problem in problems.items())
