"""`lineage book pin`."""

from pathlib import Path

import click

from lineage.app.machine_config import detect_caller
from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.book.entry_output import print_change
from lineage.pipeline.memory.books import pin_entry


@click.command("pin")
@click.argument("entry_id", metavar="ID")
@click.option("--undo", is_flag=True, help="Let it roll over again.")
@options.as_json
@options.workspace
def command(root: Path, entry_id: str, undo: bool, as_json: bool) -> int:
    """Keep an entry in use: it never rolls over into an archive. Only you can pin, no agent.

    \b
    Example:
      lineage book pin 718d
      lineage book pin 718d --undo
    """
    place = run_in_workspace(
        root, lambda ws: pin_entry(ws, entry_id, pinned=not undo, caller=detect_caller()), writes=True
    )
    return print_change(place, "no longer pinned" if undo else "pinned", as_json=as_json)
