"""The configuration of a server."""

from dataclasses import dataclass
from pathlib import Path

from lineage.harness.detect_caller import Caller

DEFAULT_CALLER = Caller("an MCP client")
"""Who calls where the environment names no harness: an agent, never a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """The workspace, the one agent served, the default project, the folder it was started in, the calling harness."""

    root: Path
    agent_id: str
    project: str | None = None
    folder: str | None = None
    caller: Caller = DEFAULT_CALLER
