"""`lineage store`: what a workspace lies in."""

import click

from lineage.cli.lazy import LazyGroup

COMMANDS = {
    "check": "lineage.cli.store.check",
}


@click.group("store", cls=LazyGroup, modules=COMMANDS)
def command() -> None:
    """What a workspace lies in: a folder, or a bucket.

    \b
    Example:
      lineage store check ~/memory
    """
