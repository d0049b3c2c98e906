"""`lineage book forget`."""

from pathlib import Path

import click

from lineage.app.machine_config import detect_caller
from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.book.entry_output import print_change
from lineage.cli.output import print_text
from lineage.pipeline.memory.books import forget_entry


@click.command("forget")
@click.argument("entry_id", metavar="ID")
@options.as_json
@options.workspace
def command(root: Path, entry_id: str, as_json: bool) -> int:
    """Forget an entry, in use, waiting or archived. A line with its id stays behind, which keeps it from coming back.

    \b
    Example:
      lineage book forget 718d
    """
    place = run_in_workspace(root, lambda ws: forget_entry(ws, entry_id, detect_caller()), writes=True)
    print_change(place, "forgotten", as_json=as_json)
    if not as_json:
        print_text(
            "  its words won't come back either; to take that back, remember them: you are told which line to delete"
        )
    return 0
