"""Groups of commands whose modules are imported when they are asked for."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """Starting one command does not load the others. `modules` names the module of each; it has it as `command`.
    `summaries` are the first sentences of their helps, so that a list of commands loads none of those."""

    def __init__(
        self, *args: Any, modules: Mapping[str, str], summaries: Mapping[str, str] | None = None, **attributes: Any
    ) -> None:
        super().__init__(*args, **attributes)
        self._modules = modules
        self._summaries = summaries or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._modules:
            return None
        command: click.Command = import_module(self._modules[cmd_name]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        limit = formatter.width - 6 - max(map(len, self._modules))
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._said(ctx, name, limit)) for name in self._modules])

    def _said(self, ctx: click.Context, name: str, limit: int) -> str:
        summary = self._summaries.get(name)
        command = click.Command(name, help=summary) if summary else self.get_command(ctx, name)
        return command.get_short_help_str(limit) if command else ""
