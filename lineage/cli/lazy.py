"""Groups of commands that import a command's module when it is called."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """A group that starts one command without loading the others.

    `modules` maps a command's name to its `module:attribute` in `lineage.cli`; the attribute defaults to `command`.
    `short_helps` has the first sentence of each help text, so that the list of commands imports none of them.
    """

    def __init__(
        self, *args: Any, modules: Mapping[str, str], short_helps: Mapping[str, str] | None = None, **attributes: Any
    ) -> None:
        super().__init__(*args, **attributes)
        self._modules = modules
        self._short_helps = short_helps or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of `modules`."""
        return list(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a command and return the command, None for an unknown name."""
        if cmd_name not in self._modules:
            return None
        module, _, attribute = self._modules[cmd_name].partition(":")
        command: click.Command = getattr(import_module(f"lineage.cli.{module}"), attribute or "command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands as click does, from the short helps."""
        # the width that click itself leaves for the texts
        limit = formatter.width - 6 - max(map(len, self._modules))
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._short_help(ctx, name, limit)) for name in self._modules])

    def _short_help(self, ctx: click.Context, name: str, limit: int) -> str:
        text = self._short_helps.get(name)
        command = click.Command(name, help=text) if text else self.get_command(ctx, name)
        return command.get_short_help_str(limit) if command else ""
