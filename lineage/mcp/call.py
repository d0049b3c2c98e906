"""One call of a tool or for a resource, on the workspace."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from lineage.app.workspace import run_in_workspace
from lineage.harness.detect_caller import Caller
from lineage.mcp.server_config import ServerConfig
from lineage.workspace.access import AgentAccess
from lineage.workspace.workspace import Workspace

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool: its checked arguments and the agent's access."""

    config: ServerConfig
    access: AgentAccess
    arguments: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.arguments[name]

    @property
    def ws(self) -> Workspace:
        """The opened workspace."""
        return self.access.ws

    @property
    def project(self) -> str | None:
        """The project named in the call, else the server's default."""
        named: str | None = self.arguments["project"]
        return named or self.config.project

    @property
    def caller(self) -> Caller:
        """The writing agent, bound to the session that the call names, if any."""
        return self.access.bind_caller(self.config.caller, self.arguments["session_id"])


def run_on_workspace(
    config: ServerConfig, use_case: Callable[[AgentAccess], Result], *, writes: bool = False
) -> Result:
    """Run a use case on the workspace, opened for this call, its index repaired first if needed."""
    return run_in_workspace(config.root, lambda ws: use_case(AgentAccess(ws, config.agent_id)), writes=writes)
