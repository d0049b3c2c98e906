"""A workspace served to an agent in tests: the SDK's own client, over stdio, against a real process."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, types
from mcp.client.stdio import StdioServerParameters, stdio_client

from lineage.core.base.hook_output import CONTEXT_CLOSING, CONTEXT_OPENING
from lineage.projection.context_block import PREAMBLE

PROGRAM = ("-m", "lineage")


@dataclass(frozen=True)
class ToolResponse:
    """What a tool answered."""

    text: str
    is_error: bool

    @property
    def quoted_text(self) -> str:
        """What somebody said, without what lineage says."""
        return "\n".join(line for line in self.text.splitlines() if line.startswith("> "))


class AgentClient:
    """An agent at work: each call is one message to the server and back."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal = portal
        self._client = client

    def __call__(self, tool: str, **arguments: Any) -> ToolResponse:
        result = self._portal.call(self._client.call_tool, tool, arguments)
        (content,) = result.content
        assert isinstance(content, types.TextContent)
        return ToolResponse(content.text, result.is_error)

    def call_concurrently(self, *calls: tuple[str, Mapping[str, Any]]) -> list[str]:
        """The answers to calls that are under way at the same time, in their order."""
        futures = [self._portal.start_task_soon(self._client.call_tool, name, dict(given)) for name, given in calls]
        return [content.text for future in futures for content in future.result().content]

    def list_tools(self) -> list[types.Tool]:
        return list(self._portal.call(self._client.list_tools).tools)

    def list_resources(self) -> list[types.Resource]:
        return list(self._portal.call(self._client.list_resources).resources)

    def list_templates(self) -> list[types.ResourceTemplate]:
        return list(self._portal.call(self._client.list_resource_templates).resource_templates)

    def read_resource(self, uri: str) -> str:
        (content,) = self._portal.call(self._client.read_resource, uri).contents
        assert isinstance(content, types.TextResourceContents)
        return content.text

    @property
    def client(self) -> Client:
        return self._client


@contextmanager
def start_agent(
    root: Path,
    *arguments: str,
    program: tuple[str, ...] = PROGRAM,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Iterator[AgentClient]:
    """An agent whose harness has started `lineage mcp` with these arguments, in a folder or in no project."""
    command = [*program, "--workspace", str(root), "mcp", *arguments]
    paths = {"PYTHONPATH": str(Path(__file__).parents[2]), "HOME": os.environ["HOME"]}
    server = StdioServerParameters(
        command=sys.executable, args=command, env={**paths, **(environment or {})}, cwd=folder or paths["HOME"]
    )
    with start_blocking_portal() as portal, (root.parent / "server.log").open("w", encoding="utf-8") as log:
        connecting = Client(stdio_client(server, errlog=log))
        with portal.wrap_async_context_manager(connecting) as client:
            yield AgentClient(portal, client)


@contextmanager
def start_server(root: Path, *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
    """The bare process, for what no client says."""
    command = [sys.executable, *PROGRAM, "--workspace", str(root), "mcp", *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            yield process
        finally:
            process.kill()


def assert_framed(text: str) -> None:
    """The text is one block in the frame, and in no other."""
    lines = text.split("\n")
    assert (lines[0], lines[-1]) == (CONTEXT_OPENING, CONTEXT_CLOSING)
    assert lines[1:3] == PREAMBLE.split("\n")
    assert text.count(CONTEXT_OPENING) == text.count(CONTEXT_CLOSING) == 1
