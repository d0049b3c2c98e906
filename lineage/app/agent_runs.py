"""Composition for `resume`, `send` and `spawn`: this machine's programs, and the bounds on what they start.

An agent that lineage started starts no other, unless the workspace's `spawn_depth` lets it (lesson 39: 1,057 child
processes); at most four run at once for a workspace, each for a bounded time.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from lineage.app.locations import open_private_store
from lineage.app.machine_config import detect_machine
from lineage.app.subprocesses import TextSink, run_subprocess
from lineage.app.workspace import run_in_workspace
from lineage.core.base.identity import validate_agent_id
from lineage.core.base.terminal import EscapeFilter
from lineage.errors import LineageError
from lineage.harness.programs import ProgramCall, build_resume_call, build_send_call, build_spawn_call, get_program
from lineage.pipeline.capture.result import CaptureResult
from lineage.pipeline.conversations.agent_sessions import (
    ResumeTarget,
    capture_new_sessions,
    capture_target,
    find_resume_target,
    list_harness_sessions,
)
from lineage.store import BusyError
from lineage.workspace.workspace import Workspace

DEPTH_VARIABLE = "LINEAGE_DEPTH"
SUPPRESS_VARIABLE = "LINEAGE_SUPPRESS"
MAX_CONCURRENT_RUNS = 4

_PARENT_VARIABLES = ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_ENTRYPOINT")
"""What Claude Code tells the commands that it runs; one that finds it takes itself for a part of that session."""


@dataclass(frozen=True, slots=True)
class ResumePlan:
    """A session and the call that resumes it in its folder, if that is known."""

    target: ResumeTarget
    call: ProgramCall
    max_depth: int


@dataclass(frozen=True, slots=True)
class AgentRunResult:
    """What became of a message: the program's exit code, the folder it ran in, the captures of what it said."""

    harness: str
    folder: str
    exit_code: int
    captures: tuple[CaptureResult, ...]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How long a program may take, and where its output goes: (say, cleaner) for stdout and stderr."""

    timeout_seconds: float
    out: tuple[TextSink, EscapeFilter]
    err: tuple[TextSink, EscapeFilter]


def plan_resume(root: Path, reference: str, project: Path | None = None) -> ResumePlan:
    """What resumes a session, in `project` instead of its own folder where one is named. Raises NotFoundError, and
    InvalidInput where its harness has no such call."""

    def found(ws: Workspace) -> ResumePlan:
        session = _with_folder(find_resume_target(ws, reference), project)
        return ResumePlan(
            session, build_resume_call(session.harness, session.session_id), ws.settings.sessions.spawn_depth
        )

    return run_in_workspace(root, found)


def resume(plan: ResumePlan) -> int:
    """Becomes the harness's program, in the session's folder: its hooks ring as ever. On Windows, waits for it."""
    _check_depth(plan.max_depth)
    words = _find_program(plan.call)
    folder = _resolve_folder(plan.target.folder)
    if os.name != "nt":
        os.chdir(folder)
        os.execv(words[0], words)
    return subprocess.run(words, cwd=folder, check=False).returncode


def send(root: Path, reference: str, text: str, *, project: Path | None, options: RunOptions) -> AgentRunResult:
    """Sends a session a message, in `project` instead of its own folder where one is named, and captures what came of
    it. Raises NotFoundError, InvalidInput, LineageError."""
    found, most = run_in_workspace(
        root, lambda ws: (find_resume_target(ws, reference), ws.settings.sessions.spawn_depth)
    )
    session = _with_folder(found, project)
    call = build_send_call(session.harness, session.session_id, text)
    folder = _resolve_folder(session.folder)
    is_new = bool(get_program(session.harness).history_file)
    before = list_harness_sessions(detect_machine(), session.harness, folder) if is_new else frozenset()
    code = _run_program(root, call, folder, most, options)

    def capture(ws: Workspace) -> list[CaptureResult]:
        if is_new:
            return capture_new_sessions(ws, detect_machine(), session.harness, session.agent_id, folder, before)
        return capture_target(ws, detect_machine(), session)

    return AgentRunResult(session.harness, str(folder), code, tuple(run_in_workspace(root, capture, writes=True)))


def spawn(root: Path, harness: str, text: str, *, agent: str, project: Path, options: RunOptions) -> AgentRunResult:
    """Begins a session with a message, and captures it. Raises InvalidInput and LineageError."""
    agent, folder = validate_agent_id(agent), _resolve_folder(str(project.absolute()))
    identifier, most = run_in_workspace(root, lambda ws: (_new_uuid(ws), ws.settings.sessions.spawn_depth))
    call = build_spawn_call(harness, identifier, text)
    before = list_harness_sessions(detect_machine(), harness, folder)
    code = _run_program(root, call, folder, most, options)

    def capture(ws: Workspace) -> list[CaptureResult]:
        if get_program(harness).accepts_session_id:
            return capture_target(ws, detect_machine(), ResumeTarget(harness, agent, identifier, "", str(folder)))
        return capture_new_sessions(ws, detect_machine(), harness, agent, folder, before)

    return AgentRunResult(harness, str(folder), code, tuple(run_in_workspace(root, capture, writes=True)))


def _with_folder(session: ResumeTarget, project: Path | None) -> ResumeTarget:
    return replace(session, folder=str(project.absolute())) if project else session


def _run_program(root: Path, call: ProgramCall, folder: Path, max_depth: int, options: RunOptions) -> int:
    depth = _check_depth(max_depth)
    words = _find_program(call)
    environment = {name: value for name, value in os.environ.items() if name not in _PARENT_VARIABLES}
    environment |= {SUPPRESS_VARIABLE: "1", DEPTH_VARIABLE: str(depth + 1), "LINEAGE_WORKSPACE": str(root)}
    with _reserve_slot(root):
        return run_subprocess(
            words,
            stdin=call.stdin,
            cwd=folder,
            environment=environment,
            timeout_seconds=options.timeout_seconds,
            out=options.out,
            err=options.err,
        )


def _check_depth(max_depth: int) -> int:
    """How deep this process is below a person: what lineage started is one deeper. Raises LineageError where no more
    may be started from here."""
    given = os.environ.get(DEPTH_VARIABLE, "0")
    depth = int(given) if given.isascii() and given.isdigit() else max_depth
    depth = max(depth, 1 if os.environ.get(SUPPRESS_VARIABLE) else 0)
    if depth >= max_depth:
        raise LineageError(
            f"an agent that lineage started may not start another: depth {depth} of {max_depth}",
            hint="answer without, or raise `spawn_depth` in lineage.toml",
        )
    return depth


def _find_program(call: ProgramCall) -> list[str]:
    found = shutil.which(call.argv[0])
    if found is None:
        raise LineageError(f"there is no program {call.argv[0]} on PATH", hint="install it, or add its folder to PATH")
    return [found, *call.argv[1:]]


def _resolve_folder(named: str | None) -> Path:
    """The folder to run in: this one where nobody named another. Raises LineageError where it is not there."""
    folder = Path(named) if named else Path.cwd()
    if not (folder.is_absolute() and folder.is_dir()):
        raise LineageError(
            f"the folder {folder} is not there (any more)",
            hint="name where the project is now: `--project DIR`",
        )
    return folder


def _new_uuid(ws: Workspace) -> str:
    """A new id in the form that harnesses take."""
    digits = ws.new_id()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


@contextmanager
def _reserve_slot(root: Path) -> Iterator[None]:
    """One of the places for programs that run at once. Raises BusyError where all are taken."""
    private = open_private_store(root)
    with ExitStack() as held:
        for number in range(MAX_CONCURRENT_RUNS):
            with suppress(BusyError):
                held.enter_context(private.lock(f"child-{number}", wait=False))
                break
        else:
            raise BusyError(
                f"{MAX_CONCURRENT_RUNS} agents run for this workspace already", hint="wait for one of them to end"
            )
        yield
