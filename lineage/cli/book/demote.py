"""`lineage book demote`."""

from pathlib import Path

import click

from lineage.app.machine_config import detect_caller
from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.book.entry_output import print_change
from lineage.pipeline.memory.books import demote_entry


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
    place = run_in_workspace(root, lambda ws: demote_entry(ws, entry_id, scope, detect_caller()), writes=True)
    return print_change(place, "moved", as_json=as_json)
