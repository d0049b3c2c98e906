"""The command lines of each harness's own program: resume a session, send it a message, start one. (vendors' manuals).

The programs behind `send` and `spawn` ask no questions: the harness's own settings limit its agent.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from lineage.errors import InvalidInput
from lineage.harness.adapters import SpecView, validate_harness
from lineage.harness.spec import SESSION, TEXT, Program

_ACTIONS = {"resume": "resume a session by its id", "send": "take a message", "spawn": "begin a session"}

ArgumentTemplate = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProgramCall:
    """A command line, and the text for its stdin."""

    argv: ArgumentTemplate
    stdin: str = ""


PROGRAMS: Mapping[str, Program] = SpecView(lambda spec: spec.program)


def is_shared_process(harness: str) -> bool:
    """Return whether a harness's process outlives a session: a server, a daemon, an editor."""
    return harness in PROGRAMS and PROGRAMS[harness].is_shared


def get_program(harness: str) -> Program:
    """Return the program of a harness. Raise InvalidInput for an unknown harness or one without a program."""
    if validate_harness(harness) not in PROGRAMS:
        hint = f"`lineage admin spawn HARNESS TEXT` calls one of: {', '.join(PROGRAMS)}"
        raise InvalidInput(f"{harness} is no program that could be called", hint=hint)
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
