"""`lineage book`: the group, whose commands are imported when they are asked for."""

import click

from lineage.cli.lazy import LazyGroup

_NAMES = ("list", "show", "add", "edit", "done", "pin", "demote", "forget", "confirm", "why", "migrate", "relearn")
_EXCEPTIONS = {"list": "book.entries:list_command", "add": "remember:add"}
COMMANDS = {name: f"book.entries:{name}" for name in _NAMES} | _EXCEPTIONS


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
