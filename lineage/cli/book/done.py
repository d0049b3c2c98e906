"""`lineage book done`."""

from pathlib import Path

import click

from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.book.entry_output import print_change
from lineage.pipeline.memory.books import set_task_done


@click.command("done")
@click.argument("entry_id", metavar="ID")
@click.option("--undo", is_flag=True, help="Open it again.")
@options.as_json
@options.workspace
def command(root: Path, entry_id: str, undo: bool, as_json: bool) -> int:
    """Tick a task.

    \b
    Example:
      lineage book done 4c1f
      lineage book done 4c1f --undo
    """
    place = run_in_workspace(root, lambda ws: set_task_done(ws, entry_id, is_done=not undo), writes=True)
    return print_change(place, "open again" if undo else "done", as_json=as_json)
