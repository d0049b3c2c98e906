"""`lineage book edit`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage.cli import options
from lineage.cli.book.printing import report
from lineage.cli.editors import at_line, editor, run
from lineage.cli.texts import text_or_stdin
from lineage.errors import InvalidInput

if TYPE_CHECKING:
    from lineage.pipeline.knowledge.bookkeeping import Place


@click.command("edit")
@click.argument("entry_id", metavar="ID")
@click.argument("text", required=False)
@options.as_json
@options.workspace
def command(root: Path, entry_id: str, text: str | None, as_json: bool) -> int:
    """Give an entry another text; without TEXT, open its book in VISUAL or EDITOR, at its line. TEXT `-` is stdin.

    An edited entry keeps its id, date and source.

    \b
    Example:
      lineage book edit 718d "Prefers tabs in Makefiles, spaces elsewhere."
      lineage book edit 718d
    """
    from lineage.app import caller, with_house
    from lineage.pipeline.knowledge.bookkeeping import edit

    if text is None:
        place = _by_hand(root, entry_id)
    else:
        body = text_or_stdin([text])
        place = with_house(root, lambda house: edit(house, entry_id, body, caller()), writes=True)
    return report(place, "edited", as_json=as_json)


def _by_hand(root: Path, entry_id: str) -> "Place":
    """Lets the user edit the file, then brings index and MEMORY.md up to it."""
    from lineage.app import caller, with_house
    from lineage.app.places import is_bucket
    from lineage.pipeline.knowledge.bookkeeping import found, refuse_agents, settled

    refuse_agents(caller(), "open the user's editor")
    if is_bucket(root):
        raise InvalidInput("an editor opens files, and this book lies in a bucket", hint="lineage book edit ID TEXT")
    command = editor("give the text: lineage book edit ID TEXT")
    place = with_house(root, lambda house: found(house, entry_id))
    words = at_line(command, root / place.ref.path, place.line, waits=True)
    run(words, hint="set VISUAL or EDITOR", failed="what it saved is kept; run it again")
    with_house(root, lambda house: settled(house, [place.ref]), writes=True)
    return place
