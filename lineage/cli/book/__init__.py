"""`lineage book`: the group, whose commands are imported when they are asked for."""

import click

from lineage.cli.lazy import LazyGroup

COMMANDS = {
    "list": "lineage.cli.book.entries:list_command",
    "show": "lineage.cli.book.entries:show",
    "add": "lineage.cli.remember:add",
    "edit": "lineage.cli.book.entries:edit",
    "done": "lineage.cli.book.entries:done",
    "pin": "lineage.cli.book.entries:pin",
    "demote": "lineage.cli.book.entries:demote",
    "forget": "lineage.cli.book.entries:forget",
    "confirm": "lineage.cli.book.confirm",
    "migrate": "lineage.cli.book.migrate",
}


@click.group("book", cls=LazyGroup, modules=COMMANDS)
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
