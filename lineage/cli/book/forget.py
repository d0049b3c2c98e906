"""`lineage book forget`."""

from pathlib import Path

import click

from lineage.cli import options
from lineage.cli.book.printing import report
from lineage.cli.output import say


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
    from lineage.app import caller, with_house
    from lineage.pipeline.knowledge.bookkeeping import forget

    place = with_house(root, lambda house: forget(house, entry_id, caller()), writes=True)
    report(place, "forgotten", as_json=as_json)
    if not as_json:
        say("  its words won't come back either; to take that back, remember them: you are told which line to delete")
    return 0
