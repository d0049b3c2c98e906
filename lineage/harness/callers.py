"""Who runs this process: the variables that harnesses set for the commands which their agents run.

They come from the vendors' documentation. A command that is called where one of them is set speaks for an agent, and
what it says waits for the user where it would be global. (format: Books; harnesses.md 0.5)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


class Mark(NamedTuple):
    """The variables that a harness sets; `session` names the one that holds the session's id, "" for none."""

    harness: str
    variables: tuple[str, ...]
    session: str = ""


MARKS = (
    Mark("lineage", ("LINEAGE_SUPPRESS",)),
    Mark("claude-code", ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID"), "CLAUDE_CODE_SESSION_ID"),
    Mark(
        "codex", ("CODEX_THREAD_ID", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_CI"), "CODEX_THREAD_ID"
    ),
    Mark("gemini", ("GEMINI_CLI", "GEMINI_SESSION_ID"), "GEMINI_SESSION_ID"),
    Mark("qwen", ("QWEN_CODE", "QWEN_PROJECT_DIR")),
    Mark("copilot", ("COPILOT_CLI", "COPILOT_AGENT")),
    Mark("cursor", ("CURSOR_AGENT", "CURSOR_VERSION")),
    Mark("opencode", ("OPENCODE",)),
    Mark("pi", ("PI_CODING_AGENT",)),
    Mark("openclaw", ("OPENCLAW_SHELL",)),
    Mark("goose", ("GOOSE_TERMINAL",)),
    Mark("another agent", ("AI_AGENT", "AGENT")),
)
"""In order of precedence: harnesses nest, and some set the variables that belong to no one."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The harness that a command is called from, and the ids of all sessions that the environment names."""

    harness: str
    sessions: tuple[str, ...] = ()


def calling(environment: Mapping[str, str]) -> Caller | None:
    """The harness whose agent runs this process; None for a person at a terminal, as far as one can tell.

    >>> calling({"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "5f0c2f7e", "AI_AGENT": "claude-code"})
    Caller(harness='claude-code', sessions=('5f0c2f7e',))
    >>> calling({"CLAUDECODE": "", "CODEX_HOME": "/home/ann/.codex"})
    """
    found = [mark for mark in MARKS if any(environment.get(variable) for variable in mark.variables)]
    sessions = (environment.get(mark.session, "") for mark in found)
    return Caller(found[0].harness, tuple(filter(None, sessions))) if found else None
