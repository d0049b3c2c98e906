"""What a server is started for, and one call to it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from lineage.app import with_house
from lineage.harness.callers import Caller
from lineage.mcp.parameters import Arguments
from lineage.pipeline.house import House
from lineage.pipeline.reach import Reach

Result = TypeVar("Result")

AGENT = Caller("an MCP client")
"""Who calls where the environment names no harness: an agent, never a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The workspace, the one agent that is served, the project that is meant where none is named, and who called."""

    root: Path
    agent_id: str
    project: str | None = None
    caller: Caller = AGENT

    def reached(self, use_case: Callable[[Reach], Result], *, writes: bool = False) -> Result:
        """Runs a use case on the workspace as it is now: opened for this call, with an index that heals."""
        return with_house(self.root, lambda house: use_case(Reach(house, self.agent_id)), writes=writes)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool: its checked arguments and what it may reach."""

    start: Start
    reach: Reach
    arguments: Arguments

    def __getitem__(self, name: str) -> Any:
        return self.arguments[name]

    @property
    def house(self) -> House:
        return self.reach.house

    @property
    def project(self) -> str | None:
        """The project that is named, else the one that the server was started for."""
        named: str | None = self.arguments["project"]
        return named or self.start.project

    @property
    def caller(self) -> Caller:
        """Who writes: an agent, in the session that it names if it names one."""
        return self.reach.speaking(self.start.caller, self.arguments["session_id"])
