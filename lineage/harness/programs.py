"""The command lines of each harness's own program: resume a session, send it a message, start one. (vendors' manuals).

The programs behind `send` and `spawn` ask no questions: the harness's own settings limit its agent.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from lineage.errors import InvalidInput
from lineage.harness import validate_harness

SESSION = "{session}"
TEXT = "{text}"
_PROMPT = f"--prompt={TEXT}"
_ACTIONS = {"resume": "resume a session by its id", "send": "take a message", "spawn": "begin a session"}

ArgumentTemplate = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """A harness's program and the arguments of each action, None for an action that it lacks.

    Without TEXT in the arguments the message is on stdin, so that no list of processes shows it. `history_file` is the
    name of the transcript if the harness keeps it in the session's folder.
    """

    name: str
    resume: ArgumentTemplate | None = None
    send: ArgumentTemplate | None = None
    spawn: ArgumentTemplate | None = None
    history_file: str = ""

    @property
    def accepts_session_id(self) -> bool:
        """Whether `spawn` takes the id of the new session."""
        return any(SESSION in word for word in self.spawn or ())


@dataclass(frozen=True, slots=True)
class ProgramCall:
    """A command line, and the text for its stdin."""

    argv: ArgumentTemplate
    stdin: str = ""


PROGRAMS: Mapping[str, Program] = {
    "claude-code": Program(
        "claude", resume=("--resume", SESSION), send=("-p", "--resume", SESSION), spawn=("-p", "--session-id", SESSION)
    ),
    "codex": Program("codex", resume=("resume", SESSION), send=("exec", "resume", SESSION, "-"), spawn=("exec", "-")),
    "gemini": Program("gemini", resume=("--resume", SESSION), send=("--resume", SESSION, _PROMPT), spawn=(_PROMPT,)),
    "qwen": Program("qwen", resume=("--resume", SESSION), send=("--resume", SESSION, _PROMPT), spawn=(_PROMPT,)),
    "copilot": Program(
        "copilot", resume=(f"--resume={SESSION}",), send=(f"--resume={SESSION}", _PROMPT), spawn=(_PROMPT,)
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
"""aider has no session ids: it continues its folder's history. OpenClaw starts and shows sessions by lane."""


def get_program(harness: str) -> Program:
    """Return the program of a harness. Raise InvalidInput for an unknown harness or one without a program."""
    if validate_harness(harness) not in PROGRAMS:
        raise InvalidInput(f"{harness} is no program that could be called", hint=f"one of: {', '.join(PROGRAMS)}")
    return PROGRAMS[harness]


def build_call(harness: str, action: str, session: str, text: str = "") -> ProgramCall:
    """Return the call of an action: `resume` is for a person at a terminal, `send` and `spawn` end with the answer.

    A spawned session gets the id `session` if the program accepts one. Raise InvalidInput if there is no such call.
    """
    program = get_program(harness)
    arguments: ArgumentTemplate | None = getattr(program, action)
    if arguments is None:
        able = [name for name, other in PROGRAMS.items() if other.send and other.spawn and other.resume]
        hint = f"these do: {', '.join(able)}"
        raise InvalidInput(f"the program of {harness} does not {_ACTIONS[action]}", hint=hint)
    # Ids come from transcripts, which are untrusted.
    if session.startswith("-"):
        raise InvalidInput(f"{session[:60]!r} would be read as an option", hint="no harness gives such an id")
    if "\x00" in text + session:
        raise InvalidInput("a message holds a NUL", hint="take it out: no program can be given it")
    # One replacement a word: a message may hold the placeholder of the session.
    filled = (word.replace(SESSION, session) if SESSION in word else word.replace(TEXT, text) for word in arguments)
    has_text = any(TEXT in word for word in arguments)
    return ProgramCall((program.name, *filled), "" if has_text else text)
