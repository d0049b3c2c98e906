"""`lineage book show`."""

from pathlib import Path

import click

from lineage.cli import options
from lineage.cli.book.printing import say_entry
from lineage.cli.output import say, say_json
from lineage.errors import InvalidInput


@click.command("show")
@click.argument("scope")
@click.argument("kind")
@click.option("--pending", is_flag=True, help="What waits for confirmation instead.")
@click.option("--archive", metavar="YEAR", help="What rolled over of that year instead.")
@options.as_json
@options.workspace
def command(root: Path, scope: str, kind: str, pending: bool, archive: str | None, as_json: bool) -> int:
    """The entries of a book: id, date, trust, state, text; and what can't be made out in its file.

    What is written between no markers is an entry of yours. A state is one of standing, superseded, done,
    pinned, waiting.

    \b
    Example:
      lineage book show global preference
      lineage book show global curated --json
    """
    from lineage.app import with_house
    from lineage.core.book_paths import PENDING, BookRef
    from lineage.pipeline.knowledge.bookkeeping import opened

    if pending and archive:
        raise InvalidInput("what waits isn't archived", hint="give `--pending` or `--archive YEAR`")
    ref = BookRef(scope, kind, archive or (PENDING if pending else ""))
    shelf = with_house(root, lambda house: opened(house, ref), needs_index=False)
    if as_json:
        entries = [place.as_json() for place in shelf.places]
        head = {"scope": scope, "kind": kind, "shelf": ref.shelf, "path": ref.path}
        say_json(head | {"entries": entries, "forgotten": sorted(shelf.forgotten), "problems": list(shelf.problems)})
        return 0
    for place in shelf.places:
        say_entry(place)
    for problem in shelf.problems:
        say(f"problem: {ref.path}: {problem}")
    if not shelf.places:
        say(f"nothing in {ref.path}; `lineage book list` names the books")
    return 0
