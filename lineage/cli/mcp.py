"""`lineage mcp`."""

from pathlib import Path

import click

from lineage.app.locations import detect_caller, require_extra
from lineage.cli import options
from lineage.cli.output import print_json, print_text
from lineage.core.base.naming import validate_agent_id
from lineage.errors import InvalidInput
from lineage.mcp.server_config import DEFAULT_CALLER, ServerConfig


@options.command("mcp")
@click.option("--agent", metavar="ID", default="default", show_default=True, help="The one agent that is served.")
@options.project("The project for calls that name none.", metavar="PATH")
@click.option("--tools", "only_tools", is_flag=True, help="Print the tools of an agent, and end.")
def command(root: Path, agent: str, project: str | None, only_tools: bool, as_json: bool) -> int:
    """Serve one agent its memory as an MCP server, on stdin and stdout: a harness starts it.

    It finds, reads and remembers; removing, confirming and forgetting are yours. Other agents' sessions and books and
    private sessions stay hidden from it. `lineage help MCP` says how to register it with a harness.

    \b
    Example:
      lineage mcp --tools
    """
    require_extra("mcp", "mcp")
    if only_tools:
        return _print_tools(as_json=as_json)
    if validate_agent_id(agent) == "all":
        raise InvalidInput("one server serves one agent", hint="name it: `lineage mcp --agent ID`")
    from lineage.mcp.server import serve

    caller = detect_caller() or DEFAULT_CALLER
    serve(ServerConfig(root=root, agent_id=agent, project=project, folder=str(Path.cwd()), caller=caller))
    return 0


def _print_tools(*, as_json: bool) -> int:
    from lineage.mcp.tools import TOOLS

    if as_json:
        tools = [{"name": tool.name, "description": tool.description, "input": tool.schema} for tool in TOOLS]
        print_json({"tools": tools})
        return 0
    for tool in TOOLS:
        print_text(f"{tool.name:10}{tool.description}")
        for name, parameter in tool.schema["properties"].items():
            print_text(f"    {name:12}{parameter['description']}")
    return 0
