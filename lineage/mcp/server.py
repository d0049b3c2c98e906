"""The server on the SDK, over stdin and stdout. Only the protocol is written to stdout.

Calls run in threads, a few at a time, so a long one blocks no other. Errors are answers: an agent can read them and do
better. What calls need is imported by the first one: a harness waits for the list of tools before its first request.
"""

import logging
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread
from mcp import types
from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError

from lineage import __version__
from lineage.errors import LineageError, NotFoundError
from lineage.mcp.server_config import ServerConfig
from lineage.mcp.tools import INSTRUCTIONS, TOOLS, TOOLS_BY_NAME, Tool
from lineage.mcp.unreadable import open_streams

if TYPE_CHECKING:
    from lineage.workspace.access import AgentAccess

_MAX_CONCURRENT_CALLS = 4

Result = TypeVar("Result")
_Context = ServerRequestContext[Any]
_PageParams = types.PaginatedRequestParams | None


def serve(config: ServerConfig) -> None:
    """Serve one client until it closes stdin or dies. An interrupt ends the process at once."""
    # A thread blocked on stdin cannot be told.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _silence_sdk_log()
    try:
        anyio.run(_serve, config)
    except* BrokenPipeError:
        pass  # nobody is there to be told


async def _serve(config: ServerConfig) -> None:
    server = build_server(config)
    async with open_streams() as (reading, writing):
        with redirect_stdout(sys.stderr):
            await server.run(reading, writing, server.create_initialization_options())


def build_server(config: ServerConfig) -> Server[Any]:
    """Return the server of one agent."""
    answers = _Handlers(config)
    return Server(
        "lineage", version=__version__, title="lineage", instructions=INSTRUCTIONS,
        on_list_tools=answers.list_tools, on_call_tool=answers.call_tool,
        on_list_resources=answers.list_resources, on_list_resource_templates=answers.list_templates,
        on_read_resource=answers.read_resource,
    )  # fmt: skip


class _Handlers:
    """The handlers of each kind of request."""

    def __init__(self, config: ServerConfig) -> None:
        self._config = config
        self._threads = anyio.CapacityLimiter(_MAX_CONCURRENT_CALLS)

    async def list_tools(self, _: _Context, __: _PageParams) -> types.ListToolsResult:
        """Return the tools."""
        return types.ListToolsResult(tools=[_describe_tool(tool) for tool in TOOLS])

    async def call_tool(self, _: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Run a tool and return its text; errors become answers."""
        tool = TOOLS_BY_NAME.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"no such tool; there are {', '.join(TOOLS_BY_NAME)}")
        try:
            return _text_result(await self._run_in_thread(partial(_run, self._config, tool, params.arguments or {})))
        except LineageError as error:
            return _text_result(_render_error(error), is_error=True)
        except Exception as error:  # noqa: BLE001  (the last resort: an answer instead of a silent end)
            return _text_result(_log_unexpected(error), is_error=True)

    async def list_resources(self, _: _Context, __: _PageParams) -> types.ListResourcesResult:
        """Return the resources of this agent."""
        from lineage.mcp import resources

        found = await self._run_resource(resources.list_resources)
        made = (types.Resource(name=one.path, title=one.title, uri=one.uri, mime_type=resources.MIME) for one in found)
        return types.ListResourcesResult(resources=list(made))

    async def list_templates(self, _: _Context, __: _PageParams) -> types.ListResourceTemplatesResult:
        """Return the one template of resource addresses."""
        from lineage.mcp import resources

        uri, about = resources.TEMPLATE, resources.TEMPLATE_DESCRIPTION
        template = types.ResourceTemplate(name="path", uri_template=uri, description=about, mime_type=resources.MIME)
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(self, _: _Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """Return the framed text of one resource."""
        from lineage.mcp import resources

        text = await self._run_resource(lambda access: resources.read_resource(access, params.uri))
        contents = types.TextResourceContents(uri=params.uri, mime_type=resources.MIME, text=text)
        return types.ReadResourceResult(contents=[contents])

    async def _run_resource(self, use_case: Callable[["AgentAccess"], Result]) -> Result:
        """Run a use case in a thread. Raises MCPError for every failure: resources have no error answer."""
        from lineage.mcp.call import run_on_workspace

        try:
            return await self._run_in_thread(partial(run_on_workspace, self._config, use_case))
        except LineageError as error:
            code = types.INVALID_PARAMS if isinstance(error, NotFoundError) else types.INTERNAL_ERROR
            raise MCPError(code, _render_error(error)) from error
        except Exception as error:
            raise MCPError(types.INTERNAL_ERROR, _log_unexpected(error)) from error

    async def _run_in_thread(self, use_case: Callable[[], Result]) -> Result:
        return await anyio.to_thread.run_sync(use_case, limiter=self._threads)


def _run(config: ServerConfig, tool: Tool, arguments: Mapping[str, Any]) -> str:
    from lineage.mcp.tool_answers import run_tool

    return run_tool(config, tool, arguments)


def _render_error(error: LineageError) -> str:
    from lineage.mcp.response import render_error

    return render_error(error.message, error.hint)


def _describe_tool(tool: Tool) -> types.Tool:
    """Return a tool as the SDK describes it. Writing tools are idempotent and destroy nothing."""
    changes = bool(tool.writing_actions)
    annotations = types.ToolAnnotations(
        title=tool.title, read_only_hint=not changes, destructive_hint=False if changes else None,
        idempotent_hint=True if changes else None, open_world_hint=False,
    )  # fmt: skip
    return types.Tool(
        name=tool.name, title=tool.title, description=tool.description, input_schema=tool.schema,
        annotations=annotations,
    )  # fmt: skip


def _text_result(text: str, *, is_error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=is_error)


def _log_unexpected(error: Exception) -> str:
    """Return the error's class name; print its traceback to stderr without values, for those may be unsanitized."""
    print(f"lineage: unexpected: {type(error).__name__}", *traceback.format_tb(error.__traceback__), file=sys.stderr)
    return f"unexpected: {type(error).__name__}\nthe user finds where in the log of this server"


def _silence_sdk_log() -> None:
    """Silence the SDK's log: it quotes unreadable input word for word."""
    log = logging.getLogger("mcp")
    log.addHandler(logging.NullHandler())
    log.propagate = False
