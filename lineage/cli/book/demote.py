"""`lineage book demote`."""

from pathlib import Path

import click

from lineage.cli import options
from lineage.cli.book.printing import report


@click.command("demote")
@click.argument("entry_id", metavar="ID")
@click.argument("scope")
@options.as_json
@options.workspace
def command(root: Path, entry_id: str, scope: str, as_json: bool) -> int:
    """Move an entry to another scope: what held everywhere holds in one project only, for example.

    It gets an id of its own there, and doesn't come back to where it was.

    \b
    Example:
      lineage book demote 718d project/lineage
    """
    from lineage.app import caller, with_house
    from lineage.pipeline.knowledge.bookkeeping import demote

    place = with_house(root, lambda house: demote(house, entry_id, scope, caller()), writes=True)
    return report(place, "moved", as_json=as_json)
