"""Every harness program, driven as a person drives it: what lineage captures of it, and what it is told.

A harness's cells are held in order in one life of its home, for each builds on the one before. A cell that the program
can't hold is named in `programs.py`, with the reason; the README's table shows all of them.
"""

import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
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

    def say(self, prompt: str, words: tuple[str, ...] = ()) -> Run:
        """Run the program without a terminal for one prompt."""
        run = self.sandbox.run(*self.program.command(words or tuple(self.program.prompt), prompt))
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

    def wait_for(self, seen: Callable[[], bool], seconds: float = WITHIN) -> bool:
        """Return whether something comes to be seen in time."""
        until = time.monotonic() + seconds
        while not seen():
            if time.monotonic() > until:
                return False
            time.sleep(0.25)
        return True

    def settle(self) -> None:
        """Wait until lineage's worker has ended: what it prepares for the next session is ready then."""
        self.wait_for(lambda: not any("lineage work" in words for words in self.sandbox.command_lines()), 30)

    def expect(self, *words: str) -> str:
        """Run a command of lineage that has to end well; return what it printed."""
        run = self.sandbox.lineage(*words)
        assert run.status == 0, f"lineage {' '.join(words)} → {run.status}\n{run.output}"
        return run.output


def captured(life: Life) -> None:
    """A session with a tool call is captured whole and in order within 15 s of the end of its process."""
    life.say(FIRST)
    assert life.wait_for(lambda: len(life.files("transcript")) == 1), life.sandbox.lineage("status").output
    life.settle()
    text = life.files("transcript")[0].read_text(encoding="utf-8")
    body = text[text.index("\n---\n") + 4 :]
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
    life.say("SAY(The second one was here.)")
    assert life.wait_for(lambda: len(life.sessions()) == 2)
    assert "berth nine" in find_blocks(life.sandbox.asked()[before:])[-1]
    newest = life.files("transcript")[-1].read_text(encoding="utf-8")
    assert "lineage-context" not in newest, newest
    assert "berth nine" not in newest[newest.index("\n---\n") :], newest


def resumed(life: Life) -> None:
    """A resumed session adds its turns alone."""
    sessions, files = len(life.sessions()), len(life.files("transcript"))
    life.say("SAY(A third answer, by resuming.)", tuple(life.program.resume))
    assert life.wait_for(lambda: len(life.files("transcript")) == files + 1)
    assert len(life.sessions()) == sessions
    text = life.files("transcript")[-1].read_text(encoding="utf-8")
    assert text.count("[!user]") == 1 and "A third answer, by resuming." in text, text
    assert "The second one was here." not in text[text.index("\n---\n") :], text


def found_again(life: Life) -> None:
    """`import` and `sweep` find nothing new."""
    files = life.files("transcript")
    life.expect("import", life.program.name)
    life.expect("sweep")
    assert life.files("transcript") == files


def mcp(life: Life) -> None:
    """Lineage's tools are in the request, one is called, and its result arrives."""
    assert life.program.connect
    life.program.connect(life.sandbox)
    before = len(life.sandbox.asked())
    # some harnesses send their first request before they have asked a server for its tools
    life.say('RUN(sleep 3) CALL(search {"query": "berth nine"}) SAY(It was found.)')
    requests = life.sandbox.asked()[before:]
    tools = {name for asked in requests for name in asked.tools}
    assert any("lineage" in name for name in tools), sorted(tools)
    results = [said.text for asked in requests for said in asked.messages if said.kind == "result"]
    assert any("berth nine" in text for text in results), results


def killed(life: Life) -> None:
    """A session whose process dies without an end is captured within 15 s all the same."""
    files = len(life.files("transcript"))
    terminal = open_terminal(life)
    type_prompt(terminal, "The last words before the end.")
    time.sleep(1)  # the turn's end is told of behind what is drawn
    os.killpg(terminal.child, signal.SIGKILL)
    assert life.wait_for(lambda: len(life.files("transcript")) > files), life.sandbox.lineage("status").output


def compacted(life: Life) -> None:
    """A compaction at a terminal leaves one compaction, and the block is there again in the request behind it."""
    before = len(life.files("compaction"))
    terminal = open_terminal(life)
    type_prompt(terminal, "First at the terminal.")
    type_prompt(terminal, "Second at the terminal.")
    asked = len(life.sandbox.asked())
    terminal.type(life.program.compact)
    assert life.wait_for(lambda: terminal.read(0.2) is not None and len(life.sandbox.asked()) > asked, 30), (
        terminal.drawn[-2000:]
    )
    terminal.read(3)
    asked = len(life.sandbox.asked())
    type_prompt(terminal, "Behind the compaction.")
    behind = life.sandbox.asked()[asked:]
    terminal.type(life.program.leave)
    terminal.wait()
    assert life.wait_for(lambda: len(life.files("compaction")) == before + 1), life.sandbox.lineage("status").output
    time.sleep(2)
    assert len(life.files("compaction")) == before + 1
    assert "berth nine" in find_blocks(behind)[-1]


def silent(life: Life) -> None:
    """Start and leave without a word: nothing is captured, and nothing waits."""
    before = sorted((life.vault / "memory").rglob("*.md"))
    terminal = open_terminal(life)
    terminal.type(life.program.leave)
    terminal.wait()
    time.sleep(3)
    assert sorted((life.vault / "memory").rglob("*.md")) == before
    life.expect("verify")
    life.expect("doctor")


def healthy(life: Life) -> None:
    """`verify` and `doctor` exit 0, and say nothing of a finding."""
    life.settle()
    assert "no problems found" in life.expect("verify")
    life.expect("doctor")


def uninstalled(life: Life) -> None:
    """Uninstalling leaves every byte that the harness itself didn't rewrite."""
    home = life.sandbox.home
    life.expect("hooks", "uninstall", life.program.name)
    left = [path for path in home.rglob("*") if path.is_file() and not path.is_relative_to(life.vault)]
    mine = [
        path
        for path in left
        if path.suffix in {".json", ".toml", ".js", ".ts", ".mjs"} and b"lineage hook" in path.read_bytes()
    ]
    assert not mine, mine
    for path, content in life.sandbox.settings.items():
        if path.read_bytes() != content:
            assert b'"hook"' not in path.read_bytes(), path


def find_blocks(requests: list[Asked]) -> list[str]:
    """Return lineage's block of each request that holds one; there has to be one."""
    texts = ("\n".join(said.text for said in asked.messages) for asked in requests)
    blocks = [block[0] for text in texts if (block := LINEAGE_BLOCK.search(text))]
    assert blocks, f"none of {len(requests)} requests holds the block"
    return blocks


def open_terminal(life: Life) -> Terminal:
    """Start the program at a terminal and wait until it takes input."""
    terminal = Terminal(life.sandbox, *life.program.terminal)
    assert terminal.wait_for(life.program.ready), terminal.tail
    terminal.read(1)
    return terminal


def type_prompt(terminal: Terminal, words: str) -> None:
    """Type a prompt and wait for its answer: the same words in capitals, for what is typed is drawn, too."""
    terminal.type(f"SHOUT({words})\r")
    assert terminal.wait_for(words.upper()), terminal.tail
    terminal.read(1)


CELLS: dict[str, Callable[[Life], None]] = {
    "captured": captured,
    "told at start": told_at_start,
    "resumed": resumed,
    "found again": found_again,
    "mcp": mcp,
    "healthy": healthy,
    "killed": killed,
    "compacted": compacted,
    "silent": silent,
    "uninstalled": uninstalled,
}


@pytest.fixture
def life(request: pytest.FixtureRequest) -> Iterator[Life]:
    """A harness with lineage's hooks, in a home of its own."""
    program = PROGRAMS_BY_NAME[request.param]
    if reason := why_not(program):
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
        if name in life.program.impossible or (wanted != [""] and name not in wanted):
            continue
        started = time.monotonic()
        try:
            cell(life)
        except AssertionError as problem:
            problems[name] = str(problem)[:4000]
        finally:
            life.sandbox.end_terminals()
            print(f"{name}: {'lost' if name in problems else 'held'} in {time.monotonic() - started:.1f} s")
    assert not problems, "\n\n".join(f"== {name}\n{problem}" for name, problem in problems.items())
