"""Who runs this process: the variables that harnesses set for the commands which their agents run.

They come from the vendors' documentation. A command that is called where one of them is set speaks for an agent, and
what it says waits for the user where it would be global. (format: Books; harnesses.md 0.5)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


class HarnessVariables(NamedTuple):
    """The variables that a harness sets; `session` names the one that holds the session's id, "" for none."""

    harness: str
    variables: tuple[str, ...]
    session_variable: str = ""


HARNESS_VARIABLES = (
    HarnessVariables("lineage", ("LINEAGE_SUPPRESS",)),
    HarnessVariables("claude-code", ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID"), "CLAUDE_CODE_SESSION_ID"),
    HarnessVariables(
        "codex", ("CODEX_THREAD_ID", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_CI"), "CODEX_THREAD_ID"
    ),
    HarnessVariables("gemini", ("GEMINI_CLI", "GEMINI_SESSION_ID"), "GEMINI_SESSION_ID"),
    HarnessVariables("qwen", ("QWEN_CODE", "QWEN_PROJECT_DIR")),
    HarnessVariables("copilot", ("COPILOT_CLI", "COPILOT_AGENT")),
    HarnessVariables("cursor", ("CURSOR_AGENT", "CURSOR_VERSION")),
    HarnessVariables("opencode", ("OPENCODE",)),
    HarnessVariables("pi", ("PI_CODING_AGENT",)),
    HarnessVariables("openclaw", ("OPENCLAW_SHELL",)),
    HarnessVariables("goose", ("GOOSE_TERMINAL",)),
    HarnessVariables("another agent", ("AI_AGENT", "AGENT")),
)
"""In order of precedence: harnesses nest, and some set the variables that belong to no one."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The harness that a command is called from, and the ids of all sessions that the environment names."""

    harness: str
    sessions: tuple[str, ...] = ()


def detect_caller(environment: Mapping[str, str]) -> Caller | None:
    """The harness whose agent runs this process; None for a person at a terminal, as far as one can tell.

    >>> detect_caller({"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "5f0c2f7e", "AI_AGENT": "claude-code"})
    Caller(harness='claude-code', sessions=('5f0c2f7e',))
    >>> detect_caller({"CLAUDECODE": "", "CODEX_HOME": "/home/ann/.codex"})
    """
    found = [mark for mark in HARNESS_VARIABLES if any(environment.get(variable) for variable in mark.variables)]
    sessions = (environment.get(mark.session_variable, "") for mark in found)
    return Caller(found[0].harness, tuple(filter(None, sessions))) if found else None
