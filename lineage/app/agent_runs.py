"""Running agents for `resume`, `send` and `spawn`, within bounds.

An agent that lineage started starts no other, unless the workspace's `spawn_depth` allows it (lesson 39: 1,057 child
processes). At most four run at once for a workspace, each for a bounded time.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import UUID

from lineage.app.documents import detect_machine
from lineage.app.locations import PARENT_VARIABLES, SUPPRESS_VARIABLE, open_private_store
from lineage.app.subprocesses import RunOptions, run_subprocess
from lineage.app.workspace import run_in_workspace
from lineage.core.base.naming import validate_agent_id
from lineage.errors import LineageError
from lineage.harness.programs import ProgramCall, build_call, get_program
from lineage.pipeline.capture.session import CaptureResult
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
MAX_CONCURRENT_RUNS = 4


@dataclass(frozen=True, slots=True)
class ResumePlan:
    """A session and the call that resumes it. `max_depth` is the workspace's `spawn_depth`."""

    target: ResumeTarget
    call: ProgramCall
    max_depth: int


@dataclass(frozen=True, slots=True)
class AgentRunResult:
    """The result of a run: the program's exit code, its folder, the captures of its sessions."""

    harness: str
    folder: str
    exit_code: int
    captures: tuple[CaptureResult, ...]


def plan_resume(root: Path, reference: str, project: Path | None = None) -> ResumePlan:
    """Return the call that resumes a session, in `project` or else in the session's own folder.

    Raises NotFoundError, and InvalidInput for a harness without such a call.
    """
    session, max_depth = _load_target(root, reference, project)
    return ResumePlan(session, build_call(session.harness, "resume", session.session_id), max_depth)


def resume(plan: ResumePlan) -> int:
    """Become the harness's program, in the session's folder and with its hooks. On Windows, wait for it."""
    _check_depth(plan.max_depth)
    words = _find_program(plan.call)
    folder = _resolve_folder(plan.target.folder)
    if os.name != "nt":
        os.chdir(folder)
        os.execv(words[0], words)  # does not return
    return subprocess.run(words, cwd=folder, check=False).returncode


def send(root: Path, reference: str, text: str, *, project: Path | None, options: RunOptions) -> AgentRunResult:
    """Send a session a message, in `project` or else in its own folder, and capture the answer.

    Raises NotFoundError, InvalidInput, LineageError.
    """
    session, max_depth = _load_target(root, reference, project)
    call = build_call(session.harness, "send", session.session_id, text)
    folder = _resolve_folder(session.folder)
    # such a program continues in a session of its own: the new one in the folder is captured, not the one named
    starts_session = bool(get_program(session.harness).history_file)
    before = list_harness_sessions(detect_machine(), session.harness, folder) if starts_session else frozenset()
    code = _run_program(root, call, folder, max_depth, options)

    def capture(ws: Workspace) -> list[CaptureResult]:
        if starts_session:
            return capture_new_sessions(ws, detect_machine(), session.harness, session.agent_id, folder, before)
        return capture_target(ws, detect_machine(), session)

    return AgentRunResult(session.harness, str(folder), code, tuple(run_in_workspace(root, capture, writes=True)))


def spawn(root: Path, harness: str, text: str, *, agent: str, project: Path, options: RunOptions) -> AgentRunResult:
    """Begin a session with a message, and capture it. Raises InvalidInput and LineageError."""
    agent, folder = validate_agent_id(agent), _resolve_folder(str(project.absolute()))
    identifier, max_depth = run_in_workspace(
        root, lambda ws: (str(UUID(ws.new_id())), ws.settings.sessions.spawn_depth)
    )
    call = build_call(harness, "spawn", identifier, text)
    before = list_harness_sessions(detect_machine(), harness, folder)
    code = _run_program(root, call, folder, max_depth, options)

    def capture(ws: Workspace) -> list[CaptureResult]:
        if get_program(harness).accepts_session_id:
            return capture_target(ws, detect_machine(), ResumeTarget(harness, agent, identifier, "", str(folder)))
        return capture_new_sessions(ws, detect_machine(), harness, agent, folder, before)

    return AgentRunResult(harness, str(folder), code, tuple(run_in_workspace(root, capture, writes=True)))


def _load_target(root: Path, reference: str, project: Path | None) -> tuple[ResumeTarget, int]:
    """Return the session that is meant, with its folder, and the workspace's `spawn_depth`."""
    session, max_depth = run_in_workspace(
        root, lambda ws: (find_resume_target(ws, reference), ws.settings.sessions.spawn_depth)
    )
    return (replace(session, folder=str(project.absolute())) if project else session), max_depth


def _run_program(root: Path, call: ProgramCall, folder: Path, max_depth: int, options: RunOptions) -> int:
    depth = _check_depth(max_depth)
    words = _find_program(call)
    environment = {name: value for name, value in os.environ.items() if name not in PARENT_VARIABLES}
    environment |= {SUPPRESS_VARIABLE: "1", DEPTH_VARIABLE: str(depth + 1), "LINEAGE_WORKSPACE": str(root)}
    with _reserve_slot(root):
        return run_subprocess(words, options, stdin=call.stdin, cwd=folder, environment=environment)


def _check_depth(max_depth: int) -> int:
    """Return how many agents lie between a person and this process. Raises LineageError at the limit."""
    value = os.environ.get(DEPTH_VARIABLE, "0")
    depth = int(value) if value.isascii() and value.isdigit() else max_depth
    # a process of lineage's without a depth, a worker for example, counts as one deep
    depth = max(depth, 1 if os.environ.get(SUPPRESS_VARIABLE) else 0)
    if depth >= max_depth:
        problem = f"an agent that lineage started may not start another: depth {depth} of {max_depth}"
        raise LineageError(problem, hint="answer without, or raise `spawn_depth` in lineage.toml")
    return depth


def _find_program(call: ProgramCall) -> list[str]:
    program = shutil.which(call.argv[0])
    if program is None:
        raise LineageError(f"there is no program {call.argv[0]} on PATH", hint="install it, or add its folder to PATH")
    return [program, *call.argv[1:]]


def _resolve_folder(name: str | None) -> Path:
    """Return the folder to run in, the current one without a name. Raises LineageError for a missing folder."""
    folder = Path(name) if name else Path.cwd()
    if not (folder.is_absolute() and folder.is_dir()):
        raise LineageError(
            f"the folder {folder} is not there (any more)", hint="name where the project is now: `--project DIR`"
        )
    return folder


@contextmanager
def _reserve_slot(root: Path) -> Iterator[None]:
    """Hold one of the slots for concurrent programs. Raises BusyError if all are taken."""
    private = open_private_store(root)
    with ExitStack() as slot:
        for number in range(MAX_CONCURRENT_RUNS):
            with suppress(BusyError):
                slot.enter_context(private.lock(f"child-{number}", wait=False))
                break
        else:
            raise BusyError(
                f"{MAX_CONCURRENT_RUNS} agents run for this workspace already", hint="wait for one of them to end"
            )
        yield
