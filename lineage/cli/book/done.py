"""`lineage book done`."""

from pathlib import Path

import click

from lineage.cli import options
from lineage.cli.book.printing import report


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
    from lineage.app import with_house
    from lineage.pipeline.knowledge.bookkeeping import done

    place = with_house(root, lambda house: done(house, entry_id, is_done=not undo), writes=True)
    return report(place, "open again" if undo else "done", as_json=as_json)
