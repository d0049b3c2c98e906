"""Detecting the harness around this process by the environment variables that harnesses set for their agents' commands.

The variables come from the vendors' documentation. A command under one of them speaks for an agent, so global entries
that it makes wait for the user. (format: Books; harnesses.md 0.5)
"""

from collections.abc import Mapping
from dataclasses import dataclass

from lineage.harness.registry import HARNESSES


@dataclass(frozen=True, slots=True)
class HarnessVariables:
    """The variables that a harness sets. `session_variable` holds the session's id, "" for none."""

    harness: str
    variables: tuple[str, ...]
    session_variable: str = ""


def list_harness_variables() -> list[HarnessVariables]:
    """Return the variables of every harness in order of precedence: harnesses nest, and some set generic ones too."""
    return [
        HarnessVariables("lineage", ("LINEAGE_SUPPRESS",)),
        *(
            HarnessVariables(name, spec.variables, spec.session_variable)
            for name, spec in HARNESSES.items()
            if spec.variables
        ),
        HarnessVariables("another agent", ("AI_AGENT", "AGENT")),
    ]


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
    active = [item for item in list_harness_variables() if any(map(environment.get, item.variables))]
    sessions = (environment.get(item.session_variable, "") for item in active)
    return Caller(active[0].harness, tuple(filter(None, sessions))) if active else None
