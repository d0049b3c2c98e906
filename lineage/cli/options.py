"""Options that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from lineage.app.locations import resolve_workspace_root

Function = TypeVar("Function", bound=Callable[..., Any])

agent = click.option(
    "--agent", metavar="ID", default="default", show_default=True, help="The agent; `all` for every one."
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def workspace(function: Function) -> Function:
    """Accept `--workspace` after the command too, and pass the resolved folder as `root`."""

    def resolve_root(ctx: click.Context, _: click.Parameter, value: str | None) -> Path:
        return resolve_workspace_root(value or (ctx.find_root().obj or {}).get("workspace"))

    # the callback sees the group's value too: the option may stand before or after the command
    return click.option(
        "--workspace", "-w", "root", metavar="DIR", callback=resolve_root,
        help="A folder, or a bucket; else LINEAGE_WORKSPACE, else ~/.agents.",
    )(function)  # fmt: skip


def common(function: Function) -> Function:
    """Accept `--json`, passed as `as_json`, and `--workspace`: what nearly every command takes."""
    return as_json(workspace(function))
