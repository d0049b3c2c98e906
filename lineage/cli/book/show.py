"""`lineage book show`."""

from pathlib import Path

import click

from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.book.entry_output import print_entry
from lineage.cli.output import print_json, print_text
from lineage.core.base.book_paths import PENDING, BookRef
from lineage.errors import InvalidInput
from lineage.pipeline.memory.books import read_contents


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
    if pending and archive:
        raise InvalidInput("what waits isn't archived", hint="give `--pending` or `--archive YEAR`")
    ref = BookRef(scope, kind, archive or (PENDING if pending else ""))
    contents = run_in_workspace(root, lambda ws: read_contents(ws, ref), needs_index=False)
    if as_json:
        entries = [place.as_json() for place in contents.entries]
        book = {"scope": scope, "kind": kind, "shelf": ref.shelf, "path": ref.path}
        rest = {"forgotten": sorted(contents.forgotten), "problems": list(contents.problems)}
        print_json(book | {"entries": entries} | rest)
        return 0
    for place in contents.entries:
        print_entry(place)
    for problem in contents.problems:
        print_text(f"problem: {ref.path}: {problem}")
    if not contents.entries:
        print_text(f"nothing in {ref.path}; `lineage book list` names the books")
    return 0
