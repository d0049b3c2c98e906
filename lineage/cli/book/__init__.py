"""`lineage book`: the group; each of its commands is a file of its own, imported when it is asked for."""

import click

from lineage.cli.lazy import LazyGroup

COMMANDS = {
    "list": "lineage.cli.book.list_books",  # a module named `list` would hide the builtin in this one
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
