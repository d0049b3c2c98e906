"""`lineage book edit`."""

from pathlib import Path

import click

from lineage.app.locations import is_bucket
from lineage.app.machine_config import detect_caller
from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.arguments import read_text_argument
from lineage.cli.book.entry_output import print_change
from lineage.cli.editor import build_command, find_editor, run_program
from lineage.errors import InvalidInput
from lineage.pipeline.memory.books import EntryLocation, edit_entry, find_entry, publish_books, refuse_agents


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
    if text is None:
        place = _edit_in_editor(root, entry_id)
    else:
        body = read_text_argument([text])
        place = run_in_workspace(root, lambda ws: edit_entry(ws, entry_id, body, detect_caller()), writes=True)
    return print_change(place, "edited", as_json=as_json)


def _edit_in_editor(root: Path, entry_id: str) -> EntryLocation:
    """Open the book in the user's editor, then publish it; return the entry's place before the edit."""
    refuse_agents(detect_caller(), "open the user's editor")
    if is_bucket(root):
        raise InvalidInput("an editor opens files, and this book lies in a bucket", hint="lineage book edit ID TEXT")
    command = find_editor("give the text: lineage book edit ID TEXT")
    place = run_in_workspace(root, lambda ws: find_entry(ws, entry_id))
    words = build_command(command, root / place.ref.path, place.line, waits=True)
    run_program(words, hint="set VISUAL or EDITOR", failure_hint="what it saved is kept; run it again")
    run_in_workspace(root, lambda ws: publish_books(ws, [place.ref]), writes=True)
    return place
