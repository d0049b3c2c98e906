"""Composition for `resume`, `send` and `spawn`: this machine's programs, and the bounds on what they start.

An agent that lineage started starts no other, unless the workspace's `spawn_depth` lets it (lesson 39: 1,057 child
processes); at most four run at once for a workspace, each for a bounded time.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from lineage.app import STATE, with_house
from lineage.app.children import Say, run_child
from lineage.app.working import machine
from lineage.core.identity import checked_agent
from lineage.core.terminal import Cleaner
from lineage.errors import LineageError
from lineage.harness.programs import Call, program_of, resuming, sending, spawning
from lineage.pipeline.house import House, Outcome
from lineage.pipeline.people.launching import Target, capture_new, capture_target, sessions_of, target
from lineage.store import BusyError, LocalStore

DEPTH = "LINEAGE_DEPTH"
SUPPRESS = "LINEAGE_SUPPRESS"
MOST_AT_ONCE = 4

_PARENTS = ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_ENTRYPOINT")
"""What Claude Code tells the commands that it runs; one that finds it takes itself for a part of that session."""


@dataclass(frozen=True, slots=True)
class Resumable:
    """A session and the call that resumes it in its folder, if that is known."""

    target: Target
    call: Call
    depth: int


@dataclass(frozen=True, slots=True)
class Answered:
    """What became of a message: the program's exit code, the folder it ran in, the captures of what it said."""

    harness: str
    folder: str
    exit_code: int
    captures: tuple[Outcome, ...]


@dataclass(frozen=True, slots=True)
class Terms:
    """How long a program may take, and where its output goes: (say, cleaner) for stdout and stderr."""

    seconds: float
    out: tuple[Say, Cleaner]
    err: tuple[Say, Cleaner]


def resumable(root: Path, reference: str, project: Path | None = None) -> Resumable:
    """What resumes a session, in `project` instead of its own folder where one is named. Raises NotFoundError, and
    InvalidInput where its harness has no such call."""

    def found(house: House) -> Resumable:
        session = _placed(target(house, reference), project)
        return Resumable(session, resuming(session.harness, session.session_id), house.settings.sessions.spawn_depth)

    return with_house(root, found)


def resume(session: Resumable) -> int:
    """Becomes the harness's program, in the session's folder: its hooks ring as ever. On Windows, waits for it."""
    _refuse_depth(session.depth)
    words = _program(session.call)
    folder = _folder(session.target.folder)
    if os.name != "nt":
        os.chdir(folder)
        os.execv(words[0], words)
    import subprocess

    return subprocess.run(words, cwd=folder, check=False).returncode


def send(root: Path, reference: str, text: str, *, project: Path | None, terms: Terms) -> Answered:
    """Sends a session a message, in `project` instead of its own folder where one is named, and captures what came of
    it. Raises NotFoundError, InvalidInput, LineageError."""
    found, most = with_house(root, lambda house: (target(house, reference), house.settings.sessions.spawn_depth))
    session = _placed(found, project)
    call = sending(session.harness, session.session_id, text)
    folder = _folder(session.folder)
    is_new = bool(program_of(session.harness).history)
    before = sessions_of(machine(), session.harness, folder) if is_new else frozenset()
    code = _run(root, call, folder, most, terms)

    def capture(house: House) -> list[Outcome]:
        if is_new:
            return capture_new(house, machine(), session.harness, session.agent_id, folder, before)
        return capture_target(house, machine(), session)

    return Answered(session.harness, str(folder), code, tuple(with_house(root, capture, writes=True)))


def spawn(root: Path, harness: str, text: str, *, agent: str, project: Path, terms: Terms) -> Answered:
    """Begins a session with a message, and captures it. Raises InvalidInput and LineageError."""
    agent, folder = checked_agent(agent), _folder(str(project.absolute()))
    identifier, most = with_house(root, lambda house: (_uuid(house), house.settings.sessions.spawn_depth))
    call = spawning(harness, identifier, text)
    before = sessions_of(machine(), harness, folder)
    code = _run(root, call, folder, most, terms)

    def capture(house: House) -> list[Outcome]:
        if program_of(harness).names:
            return capture_target(house, machine(), Target(harness, agent, identifier, "", str(folder)))
        return capture_new(house, machine(), harness, agent, folder, before)

    return Answered(harness, str(folder), code, tuple(with_house(root, capture, writes=True)))


def _placed(session: Target, project: Path | None) -> Target:
    return replace(session, folder=str(project.absolute())) if project else session


def _run(root: Path, call: Call, folder: Path, most: int, terms: Terms) -> int:
    depth = _refuse_depth(most)
    words = _program(call)
    environment = {name: value for name, value in os.environ.items() if name not in _PARENTS}
    environment |= {SUPPRESS: "1", DEPTH: str(depth + 1), "LINEAGE_WORKSPACE": str(root)}
    with _place(root):
        return run_child(
            words,
            stdin=call.stdin,
            folder=folder,
            environment=environment,
            seconds=terms.seconds,
            out=terms.out,
            err=terms.err,
        )


def _refuse_depth(most: int) -> int:
    """How deep this process is below a person: what lineage started is one deeper. Raises LineageError where no more
    may be started from here."""
    given = os.environ.get(DEPTH, "0")
    depth = int(given) if given.isascii() and given.isdigit() else most
    depth = max(depth, 1 if os.environ.get(SUPPRESS) else 0)
    if depth >= most:
        raise LineageError(
            f"an agent that lineage started may not start another: depth {depth} of {most}",
            hint="answer without, or raise `spawn_depth` in lineage.toml",
        )
    return depth


def _program(call: Call) -> list[str]:
    found = shutil.which(call.words[0])
    if found is None:
        raise LineageError(f"there is no program {call.words[0]} on PATH", hint="install it, or add its folder to PATH")
    return [found, *call.words[1:]]


def _folder(named: str | None) -> Path:
    """The folder to run in: this one where nobody named another. Raises LineageError where it is not there."""
    folder = Path(named) if named else Path.cwd()
    if not (folder.is_absolute() and folder.is_dir()):
        raise LineageError(
            f"the folder {folder} is not there (any more)",
            hint="name where the project is now: `--project DIR`",
        )
    return folder


def _uuid(house: House) -> str:
    """A new id in the form that harnesses take."""
    digits = house.new_id()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


@contextmanager
def _place(root: Path) -> Iterator[None]:
    """One of the places for programs that run at once. Raises BusyError where all are taken."""
    private = LocalStore(root / STATE, locks=root / STATE / "locks", private=True)
    with ExitStack() as held:
        for number in range(MOST_AT_ONCE):
            with suppress(BusyError):
                held.enter_context(private.mutex(f"child-{number}", wait=False))
                break
        else:
            raise BusyError(f"{MOST_AT_ONCE} agents run for this workspace already", hint="wait for one of them to end")
        yield
