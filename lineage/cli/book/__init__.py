"""`lineage book`: the group, whose commands are imported when they are asked for."""

import click

from lineage.cli.lazy import LazyGroup

COMMANDS = {
    "list": "book.entries:list_command",
    "show": "book.entries:show",
    "add": "remember:add",
    "edit": "book.entries:edit",
    "done": "book.entries:done",
    "pin": "book.entries:pin",
    "demote": "book.entries:demote",
    "forget": "book.entries:forget",
    "confirm": "book.confirm",
    "migrate": "book.migrate",
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
