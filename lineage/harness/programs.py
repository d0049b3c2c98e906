"""How each harness's own program is called: to resume a session, to send it a message, to begin one. (vendors' manuals)

What `send` and `spawn` start asks nobody anything: the harness's own settings say what its agent may do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lineage.errors import InvalidInput
from lineage.harness import validate_harness

SESSION = "{session}"
TEXT = "{text}"

ArgumentTemplate = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """A harness's program and what follows it; None where it has no such thing. The message is on stdin where no word
    holds TEXT, so that nobody sees it in a list of processes. With `names`, `spawn` says which session to begin.

    `history`: the transcript's name, where the harness keeps it in the session's folder.
    """

    name: str
    resume: ArgumentTemplate | None = None
    send: ArgumentTemplate | None = None
    spawn: ArgumentTemplate | None = None
    history_file: str = ""

    @property
    def accepts_session_id(self) -> bool:
        """Whether the session that `spawn` begins gets the id that it is told."""
        return any(SESSION in word for word in self.spawn or ())


@dataclass(frozen=True, slots=True)
class ProgramCall:
    """A command line, and what its program reads on stdin."""

    argv: ArgumentTemplate
    stdin: str = ""


PROGRAMS: Mapping[str, Program] = {
    "claude-code": Program(
        "claude",
        resume=("--resume", SESSION),
        send=("-p", "--resume", SESSION),
        spawn=("-p", "--session-id", SESSION),
    ),
    "codex": Program("codex", resume=("resume", SESSION), send=("exec", "resume", SESSION, "-"), spawn=("exec", "-")),
    "gemini": Program(
        "gemini",
        resume=("--resume", SESSION),
        send=("--resume", SESSION, f"--prompt={TEXT}"),
        spawn=(f"--prompt={TEXT}",),
    ),
    "qwen": Program(
        "qwen",
        resume=("--resume", SESSION),
        send=("--resume", SESSION, f"--prompt={TEXT}"),
        spawn=(f"--prompt={TEXT}",),
    ),
    "copilot": Program(
        "copilot",
        resume=(f"--resume={SESSION}",),
        send=(f"--resume={SESSION}", f"--prompt={TEXT}"),
        spawn=(f"--prompt={TEXT}",),
    ),
    "cursor": Program(
        "cursor-agent",
        resume=(f"--resume={SESSION}",),
        send=("-p", f"--resume={SESSION}", "--", TEXT),
        spawn=("-p", "--", TEXT),
    ),
    "opencode": Program("opencode", resume=("--session", SESSION), send=("run", "--session", SESSION), spawn=("run",)),
    "pi": Program("pi", resume=("--session", SESSION), send=("-p", "--session", SESSION), spawn=("-p",)),
    "openclaw": Program("openclaw", send=("agent", "--session-id", SESSION, f"--message={TEXT}")),
    "goose": Program(
        "goose",
        resume=("session", "--resume", "--session-id", SESSION),
        send=("run", "--resume", "--session-id", SESSION, "--instructions", "-"),
        spawn=("run", "--instructions", "-"),
    ),
    "aider": Program(
        "aider",
        resume=("--restore-chat-history",),
        send=("--restore-chat-history", f"--message={TEXT}"),
        spawn=(f"--message={TEXT}",),
        history_file=".aider.chat.history.md",
    ),
}
"""aider has no ids of sessions: it goes on with its folder's history. OpenClaw begins and shows sessions by lane."""


def get_program(harness: str) -> Program:
    """The program of a harness. Raises InvalidInput for one that nobody knows or that has none."""
    if validate_harness(harness) not in PROGRAMS:
        raise InvalidInput(f"{harness} is no program that could be called", hint=f"one of: {', '.join(PROGRAMS)}")
    return PROGRAMS[harness]


def build_resume_call(harness: str, session: str) -> ProgramCall:
    """The call that resumes a session for a person at a terminal. Raises InvalidInput where there is none."""
    return _build_call(harness, get_program(harness).resume, "resume a session by its id", session=session)


def build_send_call(harness: str, session: str, text: str) -> ProgramCall:
    """The call that sends a session a message and ends with its answer. Raises InvalidInput where there is none."""
    return _build_call(harness, get_program(harness).send, "take a message", session=session, text=text)


def build_spawn_call(harness: str, session: str, text: str) -> ProgramCall:
    """The call that begins a session with a message and ends with its answer. `session` is the id that it gets, where
    the program takes one. Raises InvalidInput where there is none."""
    return _build_call(harness, get_program(harness).spawn, "begin a session", session=session, text=text)


def _build_call(
    harness: str, arguments: Sequence[str] | None, action: str, *, session: str, text: str = ""
) -> ProgramCall:
    if arguments is None:
        able = [name for name, program in PROGRAMS.items() if program.send and program.spawn and program.resume]
        raise InvalidInput(f"the program of {harness} does not {action}", hint=f"these do: {', '.join(able)}")
    if session.startswith("-"):
        raise InvalidInput(f"{session[:60]!r} would be read as an option", hint="no harness gives such an id")
    if "\x00" in text + session:
        raise InvalidInput("a message holds a NUL", hint="take it out: no program can be given it")
    filled = tuple(
        word.replace(SESSION, session) if SESSION in word else word.replace(TEXT, text) for word in arguments
    )
    return ProgramCall((get_program(harness).name, *filled), "" if any(TEXT in word for word in arguments) else text)
