"""Every harness program, driven as a person drives it: what lineage captures of it, and what it is told.

A harness's cells are held in order in one life of its home, for each builds on the one before. A cell that the program
can't hold is named in `programs.py`, with the reason; the table in tests/README.md shows all of them.
"""

import contextlib
import json
import os
import shutil
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.harness.model_server import LINEAGE_BLOCK, Asked
from tests.harness.programs import PROGRAMS_BY_NAME, Program, why_not
from tests.harness.sandbox import Run, Sandbox, Terminal, find_homes

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default::tests.harness.test_harnesses.TriedAgain")]

DECISION = "We decided to moor at berth nine, because berth four silts up."
FIRST = f"RUN(echo the tide is 42) SAY({DECISION})"
ASKED = "Why did we decide to moor at berth nine, not at berth four, which silts up? SAY(So it was decided.)"
AT_ACTION = "What memory holds about this file, command or error"
LESSONS = {"command:printf tide": "The tide table prints in local time.", "file:tides.txt": "Tides are sorted by port."}
HEADING = "What earlier sessions in this project hold about this prompt"
REMEMBERED = {
    "text": "Berth four is dredged before berth nine, because it silts up.",
    "kind": "decision",
    "about": ["berths.py"],
}
CURATED = {"text": "Never moor anybody at berth four.", "curated": True}
SKILL = "Memory of earlier coding sessions on this machine."  # how the description of the skill begins
STATED = "Always grease the winch before the tide turns."  # what a person says in a session that is compacted
PROMISED = 15  # seconds from the end of a program's process to its session's capture; told, and no test fails for more
DEADLINE = 120  # seconds for whatever has to come, on a machine with other work
CLEAR_LINE = "\x15"


class Life:
    """One harness's home, from the installation of hooks to their removal."""

    def __init__(self, program: Program, sandbox: Sandbox) -> None:
        self.program, self.sandbox = program, sandbox
        self.vault = sandbox.home / "vault"
        self.settings: dict[Path, bytes] = {}  # what was there before hooks were installed
        self.installed: dict[Path, bytes] = {}  # and right behind it
        self.first_requests = ""  # all that the first session sent to the model
        self.at_question: list[Asked] = []  # what the model was asked by the session that asks, and the one that acts
        self.at_action: list[Asked] = []
        self.behind: list[Asked] = []  # what the model was asked behind a compaction

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
        """Wait until no hook runs, no signal waits and no capture is under way; a worker may go on watching."""
        spool, hooks = self.vault / ".lineage" / "spool", ("lineage hook", "hook_entry")

        def is_quiet() -> bool:
            lines = self.sandbox.command_lines()
            waiting = [*spool.glob("*.json"), *spool.glob("signals/*.json")]
            return not waiting and not any(word in line for line in lines for word in hooks)

        assert wait_for(is_quiet), self.sandbox.lineage("status").output

    def wait_for_captures(self, seen: Callable[[], bool], what: str) -> None:
        """Wait for a capture, and tell how long it took behind the end of the program."""
        began = time.monotonic()
        assert wait_for(seen), f"{what}\n{self.sandbox.lineage('status').output}"
        took = time.monotonic() - began
        print(f"  {what}: {took:.1f} s{'' if took < PROMISED else f', more than the {PROMISED} s that are promised'}")

    def last_event(self) -> str:
        """Return what the program's hooks told of last: when, and what."""
        marks = json.loads(self.expect("status", "--json"))["marks"]
        return str(marks.get(f"event {self.program.name}", ""))

    def read_newest(self) -> str:
        """Return the body of the newest transcript."""
        text = self.files("transcript")[-1].read_text(encoding="utf-8")
        return text[text.index("\n---\n") :]

    def import_elsewhere(self, name: str) -> Path:
        """Import the program's history into a new workspace, and return that."""
        root = self.sandbox.home / "workspaces" / name
        self.expect("init", str(root))
        self.expect("import", self.program.name, "--workspace", str(root))
        return root

    def expect(self, *words: str) -> str:
        """Run a command of lineage that has to end well; return what it printed."""
        run = self.sandbox.lineage(*words)
        assert run.status == 0, f"lineage {' '.join(words)} → {run.status}\n{run.output}"
        return run.output


def captured(life: Life) -> None:
    """A session with a tool call is captured whole and in order within 15 s of the end of its process."""
    life.say(FIRST)
    life.first_requests = life.sandbox.requests.read_text(encoding="utf-8")
    life.wait_for_captures(lambda: len(life.files("transcript")) == 1, "the capture of the first session")
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
    life.say(ASKED, life.program.another)
    life.wait_for_captures(lambda: len(life.sessions()) == 2, "the capture of the second session")
    life.at_question = life.sandbox.asked()[before:]
    assert "because berth four silts up" in find_blocks(life.at_question)[-1]
    newest = life.read_newest()
    assert "So it was decided." in newest and "because berth four silts up" not in newest, newest
    assert "lineage-context" not in newest, newest


def told_at_the_prompt(life: Life) -> None:
    """The request of a prompt holds what memory holds about it, which is in no transcript."""
    # in the second session, too, for a program takes long to start
    texts = [said.text for asked in life.at_question for said in asked.messages]
    recalled = [block for text in texts for block in LINEAGE_BLOCK.findall(text) if HEADING in block]
    assert recalled and all("because berth four silts up" in block for block in recalled), texts
    (path,) = (path for path in life.files("transcript") if "So it was decided." in path.read_text("utf-8"))
    assert HEADING not in path.read_text("utf-8"), path


def act(life: Life) -> list[Asked]:
    """Hold one session that runs a command, writes a file and calls lineage's tools; return what its model was asked.

    Three cells look at it, for a program takes long to start.
    """
    if life.at_action:
        return life.at_action
    life.expect("config", "set", "context.budget", "0")  # what a session's start tells, an action doesn't tell again
    for about, lesson in LESSONS.items():
        project = str(life.sandbox.project)
        life.expect("remember", "--project", project, "--kind", "lesson", "--about", about, lesson)
    before, files = len(life.sandbox.asked()), len(life.files("transcript"))
    tool, given = life.program.write
    write = json.dumps({key: value.format(path=life.sandbox.project / "tides.txt") for key, value in given.items()})
    calls = ["search query=berth nine", *(f"remember {json.dumps(given)}" for given in (REMEMBERED, CURATED))]
    done = ["RUN(printf tide)", f"FORCE({tool} {write})"] if "told at an action" not in life.program.impossible else []
    done += [f"CALL({call})" for call in calls if "MCP" not in life.program.impossible]
    life.say(f"{' '.join(done)} SAY(The tides were written.)", life.program.another)
    life.wait_for_captures(lambda: len(life.files("transcript")) == files + 1, "the capture of the session that acted")
    life.at_action = life.sandbox.asked()[before:]
    life.expect("config", "set", "context.budget", "2000")
    return life.at_action


def told_at_an_action(life: Life) -> None:
    """The requests behind a command and an edit hold the lessons bound to these, which are in no transcript."""
    texts = [said.text for asked in act(life) for said in asked.messages]
    told = "".join(block for text in texts for block in LINEAGE_BLOCK.findall(text) if AT_ACTION in block)
    assert [lesson for lesson in LESSONS.values() if lesson not in told] == [], texts
    newest = life.read_newest()
    assert "The tides were written." in newest and "tides.txt" in newest, newest
    assert not any(text in newest for text in (AT_ACTION, *LESSONS.values())), newest


def resumed(life: Life) -> None:
    """A resumed session adds its turns alone."""
    sessions, files = len(life.sessions()), len(life.files("transcript"))
    life.say("SAY(A third answer, by resuming.)", life.program.resume)
    life.wait_for_captures(lambda: len(life.files("transcript")) == files + 1, "the capture of the resumed session")
    assert len(life.sessions()) == sessions
    newest = life.read_newest()
    assert newest.count("[!user]") == 1 and "A third answer, by resuming." in newest, newest
    assert "So it was decided." not in newest, newest


def imported(life: Life) -> None:
    """`import` finds nothing new behind the hooks, and everything for a workspace that no hook told of anything."""
    life.settle()
    files = life.files("transcript")
    life.expect("import", life.program.name)
    assert life.files("transcript") == files
    other = life.import_elsewhere("other")
    there = json.loads(life.expect("sessions", "--json", "--workspace", str(other)))["sessions"]
    assert len(there) == len(life.sessions())
    assert any(DECISION in path.read_text(encoding="utf-8") for path in other.glob("memory/*.md"))


def swept(life: Life) -> None:
    """`sweep` finds nothing new."""
    files = life.files("transcript")
    life.expect("sweep", "--idle", "0")
    assert life.files("transcript") == files


def mcp(life: Life) -> None:
    """Lineage's tools are in the request, one is called, and its result arrives."""
    requests = act(life)
    tools = {name for asked in requests for name in asked.tools}
    assert any("lineage" in name for name in tools), sorted(tools)
    results = [said.text for asked in requests for said in asked.messages if said.kind == "result"]
    assert any("berth nine" in text for text in results), results


def offered_a_skill(life: Life) -> None:
    """The skill is in a session's first request, by its description."""
    assert SKILL in life.first_requests


def remembered(life: Life) -> None:
    """What the agent remembers over MCP waits for its session's capture, and is then in force as derived."""
    life.settle()
    entries = json.loads(life.expect("book", "show", "project/quayside", "decision", "--json"))["entries"]
    (entry,) = (entry for entry in entries if entry["text"] == REMEMBERED["text"])
    assert (entry["trust"], entry["source"], entry["about"]) == ("[derived]", "assistant_turn", ["file:berths.py"])
    (waiting,) = json.loads(life.expect("book", "show", "global", "curated", "--pending", "--json"))["entries"]
    assert (waiting["text"], waiting["trust"]) == (CURATED["text"], "[derived]")
    assert CURATED["text"] not in (life.vault / "AGENT_MEMORY.md").read_text(encoding="utf-8")


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
    assert terminal.wait_for(lambda: life.last_event().endswith("turn-end"), DEADLINE), life.last_event()
    life.sandbox.end_terminals()
    life.wait_for_captures(lambda: len(life.files("transcript")) > files, "the capture of the killed session")
    assert "The last words before the end." in life.read_newest()


def killed_in_a_turn(life: Life) -> None:
    """A program that is killed while the model answers loses nothing that it wrote, and leaves nothing half-done."""
    asked = len(life.sandbox.asked())
    process = life.sandbox.start(*life.program.command(life.program.another, "SAY(Half a word.) HANG()"))
    try:
        assert wait_for(lambda: len(life.sandbox.asked()) > asked)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    life.expect("sweep", "--idle", "0")
    healthy(life)

    def count(workspace: Path) -> int:
        found = workspace.glob("memory/*--transcript.md")
        return sum("Half a word." in path.read_text(encoding="utf-8") for path in found)

    # a program may write a prompt down only once it is answered: its history says whether this one did
    there = life.import_elsewhere("killed")
    assert count(life.vault) == count(there) <= 1


def unreachable(life: Life) -> None:
    """A model that nobody reaches ends the program with an error in bounded time; memory takes no harm."""
    with life.sandbox.without_model():
        run = life.sandbox.run(*life.program.command(life.program.another, "SAY(Nobody hears this.)"), seconds=15)
    assert run.status != 0 or "error" in run.output.lower(), run.output
    life.expect("sweep", "--idle", "0")
    healthy(life)


def compacted(life: Life) -> None:
    """A compaction at a terminal leaves one compaction."""
    before = len(life.files("compaction"))
    terminal = open_terminal(life)
    # some programs compact no short conversation
    type_prompt(life, terminal, "First at the terminal.", f"{STATED} FILL(1500) ")
    type_prompt(life, terminal, "Second at the terminal.", "FILL(1500) ")
    asked = len(life.sandbox.asked())
    type_line(life, terminal, life.program.compact, lambda: len(life.sandbox.asked()) > asked)
    assert terminal.wait_for(life.program.compacted, DEADLINE), terminal.shown
    asked = len(life.sandbox.asked())
    type_prompt(life, terminal, "Behind the compaction.")
    life.behind = life.sandbox.asked()[asked:]
    leave(life, terminal)
    life.wait_for_captures(lambda: len(life.files("compaction")) == before + 1, "the capture of the compaction")
    life.settle()
    assert len(life.files("compaction")) == before + 1


def told_again(life: Life) -> None:
    """The request behind a compaction holds the block again, with what the person stated in this very session."""
    block = find_blocks(life.behind)[-1]
    assert "berth nine" in block, block
    assert STATED in block, block


def silent(life: Life) -> None:
    """Start and leave without a word: nothing is captured, and nothing waits."""
    life.settle()
    before = sorted((life.vault / "memory").rglob("*.md"))
    leave(life, open_terminal(life))
    healthy(life)
    assert sorted((life.vault / "memory").rglob("*.md")) == before


def uninstalled(life: Life) -> None:
    """Uninstalling leaves every byte that the harness itself didn't rewrite, and nothing of lineage in what it did."""
    sandbox = life.sandbox
    kept = {path: content for path, content in life.installed.items() if sandbox.read_settings().get(path) == content}
    life.expect("hooks", "uninstall", life.program.name)
    left = sandbox.read_settings()
    for path, content in kept.items():
        assert left.get(path) == life.settings.get(path), f"{path}\n{content!r}\n{left.get(path)!r}"
    mine = {path for path, content in left.items() if b"lineage hook" in content or b'"lineage", "hook"' in content}
    assert not {path for path in mine if path.suffix in {".json", ".toml", ".js", ".ts", ".mjs"}}, mine


def wait_for(seen: Callable[[], bool], seconds: float = DEADLINE) -> bool:
    """Return whether something comes to be seen in time."""
    until = time.monotonic() + seconds
    while not seen():
        if time.monotonic() > until:
            return False
        time.sleep(0.25)
    return True


def find_blocks(requests: list[Asked]) -> list[str]:
    """Return lineage's blocks of the start in each request; there has to be one."""
    texts = (said.text for asked in requests for said in asked.messages)
    found = (block for text in texts for block in LINEAGE_BLOCK.findall(text))
    blocks = [block for block in found if HEADING not in block and AT_ACTION not in block]
    assert blocks, f"none of {len(requests)} requests holds the block"
    return blocks


def open_terminal(life: Life) -> Terminal:
    """Start the program at a terminal, and the service that it talks to, and wait until it takes input."""
    program = life.program
    if program.service:
        life.sandbox.end((program.executable,))  # helpers of a killed one, which would keep the next start waiting
        service = Terminal(life.sandbox, *program.service)
        assert service.wait_for(program.serving, DEADLINE), service.shown
    terminal = Terminal(life.sandbox, *program.terminal)
    assert terminal.wait_for(program.ready, DEADLINE), terminal.shown
    return terminal


def type_line(life: Life, terminal: Terminal, words: str, is_taken: Callable[[], bool]) -> None:
    """Type words, and when they stand on the screen the end of the line until it is taken."""
    for _ in range(5):  # a program that just starts may drop keys
        terminal.press(words)
        if terminal.wait_for(words, 15):
            break
        terminal.press(CLEAR_LINE)
    else:
        raise AssertionError(f"{words!r} can't be typed\n{terminal.shown}")
    described = life.program.described.get(words, "")
    assert terminal.wait_for(described, DEADLINE), f"{described!r} isn't shown\n{terminal.shown}"
    terminal.read(0.3)  # else the end of the line counts as a part of what was pasted
    assert terminal.press_until("\r", is_taken), f"{words!r} isn't taken\n{terminal.shown}"


def type_prompt(life: Life, terminal: Terminal, words: str, before: str = "") -> None:
    """Type a prompt and wait for its answer: the same words in capitals, for what is typed is drawn, too."""
    asked = len(life.sandbox.asked())
    type_line(life, terminal, f"{before}SHOUT({words})", lambda: len(life.sandbox.asked()) > asked)
    assert terminal.wait_for(words.upper(), DEADLINE), terminal.shown


def leave(life: Life, terminal: Terminal) -> None:
    """Leave the program as a person does."""
    type_line(life, terminal, life.program.leave, terminal.has_ended)


CELLS: dict[str, Callable[[Life], None]] = {
    "captured": captured,
    "told at start": told_at_start,
    "told at the prompt": told_at_the_prompt,
    "told at an action": told_at_an_action,
    "resumed": resumed,
    "import": imported,
    "sweep": swept,
    "MCP": mcp,
    "skill": offered_a_skill,
    "remembered": remembered,
    "verify and doctor": healthy,
    "killed behind a turn": killed,
    "killed in a turn": killed_in_a_turn,
    "model not reached": unreachable,
    "/compact": compacted,
    "told after /compact": told_again,
    "left without a word": silent,
    "uninstalled": uninstalled,
}
NEEDS = {  # what a cell needs beside the first one
    "told at the prompt": "told at start",
    "told after /compact": "/compact",
    "remembered": "MCP",
}


class TriedAgain(UserWarning):
    """Cells were lost once and held in a fresh home."""


@contextlib.contextmanager
def open_life(program: Program, install: Callable[[Life], None] | None = None) -> Iterator[Life]:
    """Give a harness with lineage's hooks, in a home of its own; `install` takes the place of `hooks install`."""
    sandbox = Sandbox(find_homes() / f"{program.name}-{os.getpid()}", program.folder, dict(program.variables))
    sandbox.variables["LINEAGE_WORKSPACE"] = str(sandbox.home / "vault")
    try:
        program.configure(sandbox)
        life = Life(program, sandbox)
        life.settings = sandbox.read_settings()
        assert sandbox.run("git", "init", "--quiet").status == 0
        life.expect("init")
        if install:
            install(life)
        else:
            life.expect("hooks", "install", program.name)
        life.installed = sandbox.read_settings()
        if program.approve:
            program.approve(sandbox)
        yield life
    finally:
        sandbox.close()
        if not os.environ.get("LINEAGE_KEEP_HOMES"):
            shutil.rmtree(sandbox.home, ignore_errors=True)


def hold(program: Program, cells: Collection[str]) -> dict[str, str]:
    """Hold cells in one life of a home; return what was lost, by cell."""
    problems = {}
    try:
        with open_life(program) as life:
            for name in (name for name in CELLS if name in cells):
                started = time.monotonic()
                try:
                    CELLS[name](life)
                except Exception:  # noqa: BLE001  (a cell that is lost must not keep the others from being tried)
                    problems[name] = traceback.format_exc()[-6000:]
                finally:
                    life.sandbox.end_terminals()
                    life.sandbox.lineage("sweep")  # no cell counts a session that the one before left behind
                    state = "lost" if name in problems else "held"
                    print(f"{program.name}, {name}: {state} in {time.monotonic() - started:.1f} s")
    except AssertionError:  # not even a home with hooks
        problems["captured"] = traceback.format_exc()[-6000:]
    return problems


@pytest.mark.parametrize("name", sorted(PROGRAMS_BY_NAME))
def test_harness(name: str) -> None:
    program = PROGRAMS_BY_NAME[name]
    if reason := why_not(program):
        assert os.environ.get("LINEAGE_HARNESSES") != "required", reason  # where every program has to be there
        pytest.skip(reason)
    cells = {*CELLS} - {*program.impossible, *program.unseen}
    if chosen := os.environ.get("LINEAGE_CELLS"):
        cells = {*chosen.split(",")}
    if lost := hold(program, cells):
        # A real program on a machine with other work: what is lost is tried once more, in a fresh home.
        why = "\n\n".join(f"== {cell}\n{problem}" for cell, problem in lost.items())
        problems = hold(program, {"captured", *lost, *(NEEDS[cell] for cell in lost if cell in NEEDS)})
        again = "\n\n".join(f"== {cell}, again\n{problem}" for cell, problem in problems.items())
        assert not problems, f"{why}\n\n{again}"
        warnings.warn(f"{name}: {', '.join(lost)} held at the second try alone:\n{why}", TriedAgain, stacklevel=1)
