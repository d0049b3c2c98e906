"""Groups of commands whose modules are imported when they are asked for."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """Starting one command does not load the others. `modules` names the module of each, which has it as `command`;
    `short_helps` has the first sentence of its help, so that a list of commands loads none."""

    def __init__(
        self, *args: Any, modules: Mapping[str, str], short_helps: Mapping[str, str] | None = None, **attributes: Any
    ) -> None:
        super().__init__(*args, **attributes)
        self._modules = modules
        self._short_helps = short_helps or {}

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
            formatter.write_dl([(name, self._short_help(ctx, name, limit)) for name in self._modules])

    def _short_help(self, ctx: click.Context, name: str, limit: int) -> str:
        text = self._short_helps.get(name)
        command = click.Command(name, help=text) if text else self.get_command(ctx, name)
        return command.get_short_help_str(limit) if command else ""
