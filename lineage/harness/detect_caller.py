"""Detecting the harness around this process by the environment variables that harnesses set for their agents' commands.

The variables come from the vendors' documentation. A command under one of them speaks for an agent, so global entries
that it makes wait for the user. (format: Books; harnesses.md 0.5)
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HarnessVariables:
    """The variables that a harness sets. `session_variable` holds the session's id, "" for none."""

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
"""In order of precedence: harnesses nest, and some set the generic variables too."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The harness around a command, and the ids of all sessions in the environment."""

    harness: str
    sessions: tuple[str, ...] = ()


def detect_caller(environment: Mapping[str, str]) -> Caller | None:
    """Return the harness that runs this process for its agent, None for a person at a terminal, as far as one can tell.

    >>> detect_caller({"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "5f0c2f7e", "AI_AGENT": "claude-code"})
    Caller(harness='claude-code', sessions=('5f0c2f7e',))
    >>> detect_caller({"CLAUDECODE": "", "CODEX_HOME": "/home/ann/.codex"})
    """
    active = [item for item in HARNESS_VARIABLES if any(map(environment.get, item.variables))]
    sessions = (environment.get(item.session_variable, "") for item in active)
    return Caller(active[0].harness, tuple(filter(None, sessions))) if active else None
