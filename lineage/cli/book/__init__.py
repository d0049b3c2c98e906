"""`lineage book`: the group; each of its commands is a file of its own, imported when it is asked for."""

from importlib import import_module

import click

COMMANDS = {
    "list": "lineage.cli.book.listing",  # a module named `list` would hide the builtin in this one
    "show": "lineage.cli.book.show",
    "add": "lineage.cli.book.add",
    "edit": "lineage.cli.book.edit",
    "done": "lineage.cli.book.done",
    "pin": "lineage.cli.book.pin",
    "demote": "lineage.cli.book.demote",
    "forget": "lineage.cli.book.forget",
    "confirm": "lineage.cli.book.confirm",
    "migrate": "lineage.cli.book.migrate",
}


class BookCommands(click.Group):
    """Imports a command's module when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(COMMANDS[cmd_name]).command
        return command


@click.group("book", cls=BookCommands)
def command() -> None:
    """What is known for good: one note of entries per scope and kind, to be edited by hand at any time.

    Entries go by their ids, or the beginning of one. What an agent proposed for every session waits until it is
    confirmed.

    \b
    Example:
      lineage book add global preference "Prefers tabs over spaces in Makefiles."
      lineage book list
      lineage book show global preference
      lineage book pin 718d
      lineage book list --pending
    """
