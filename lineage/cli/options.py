"""Options that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from lineage.app import workspace_root
from lineage.cli.plain import JSON, WORKSPACE, Command, Option

Function = TypeVar("Function", bound=Callable[..., Any])

agent = click.option(
    "--agent", metavar="ID", default="default", show_default=True, help="The agent; `all` for every one."
)


def workspace(function: Function) -> Function:
    """`--workspace` after the command too; the command gets it as `root`, an absolute path."""

    def chosen(ctx: click.Context, _: click.Parameter, value: str | None) -> Path:
        return workspace_root(value or (ctx.find_root().obj or {}).get("workspace"))

    return click.option(*WORKSPACE.typed, "root", metavar=WORKSPACE.metavar, callback=chosen, help=WORKSPACE.help)(
        function
    )


def declared(command: Command) -> Callable[[Function], Function]:
    """The options of a command that is read without click too, and `--workspace`."""

    def decorated(function: Function) -> Function:
        function = workspace(function)
        for option in reversed(command.options):
            function = _option(option)(function)
        return function

    return decorated


def _option(option: Option) -> Callable[[Function], Function]:
    return click.option(
        *option.typed,
        option.name,
        help=option.help,
        metavar=option.metavar,
        default=option.default,
        show_default=isinstance(option.default, str),
        is_flag=option.is_flag,
        type=None if option.least is None else click.IntRange(min=option.least),
    )


as_json = _option(JSON)
