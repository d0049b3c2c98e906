"""`lineage memory edit`: another text for an entry, from the command line or from the user's editor."""

import re
import shlex
from contextlib import suppress
from pathlib import Path

import click

from lineage.app.locations import detect_caller, is_bucket
from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.book.entries import print_change
from lineage.cli.book.print_entry import print_indented
from lineage.cli.open import build_command, find_editor, run_program
from lineage.core.books.entry import Entry
from lineage.errors import InvalidInput, NotFoundError
from lineage.pipeline.memory import books
from lineage.pipeline.memory.book_changes import publish_books
from lineage.pipeline.memory.prepared_contexts import refresh_contexts
from lineage.workspace.workspace import Workspace

_ENTRY_ID = re.compile(r"[0-9a-fA-F]{4,16}")


@options.command("edit", writes=True)
@click.argument("entry_id", metavar="ID")
@click.argument("text", required=False)
def edit(root: Path, entry_id: str, text: str | None, as_json: bool) -> int:
    """Give an entry another text; without TEXT, open its book in VISUAL or EDITOR, at its line. TEXT `-` is stdin.

    What you write is yours: the entry is [user-stated] then, unless it came from what a tool printed. It keeps its id
    and date.

    \b
    Example:
      lineage memory edit 718d "Prefers tabs in Makefiles, spaces elsewhere."
      lineage memory edit 718d
    """
    if text is None:
        place, before = _edit_in_editor(root, entry_id)
    else:
        body = options.read_text([text])
        place, before = run_in_workspace(root, lambda ws: _edit(ws, entry_id, body), writes=True)
    done = "edited" if place.entry != before else "unchanged"
    code = print_change(place, done, as_json=as_json, more=f" {place.entry.trust}")
    if not as_json and place.entry.body != before.body:
        print_indented("it said", before.body)
    return code


def _edit(ws: Workspace, entry_id: str, text: str) -> tuple[books.EntryLocation, Entry]:
    """Return the entry's place after the edit, and the entry before it. Raises InvalidInput for text and id swapped."""
    try:
        before = books.find_entry(ws, entry_id).entry
    except NotFoundError:
        _refuse_swapped(ws, entry_id, text)
        raise
    return books.edit_entry(ws, before.id, text, detect_caller()), before


def _refuse_swapped(ws: Workspace, text: str, name: str) -> None:
    """Raise InvalidInput with the right line if the first argument is a text, and the second one an entry's id."""
    if not _ENTRY_ID.fullmatch(name) or _ENTRY_ID.fullmatch(text):
        return
    with suppress(NotFoundError):
        found = books.find_entry(ws, name).entry.id
        line = shlex.join(["lineage", "memory", "edit", found, *["--"] * text.startswith("-"), text])
        raise InvalidInput("the id comes first, then the text", hint=f"run `{line}`")


def _edit_in_editor(root: Path, entry_id: str) -> tuple[books.EntryLocation, Entry]:
    """Open the book in the user's editor, then publish it; return the entry's place, and the entry before."""
    books.refuse_agents(detect_caller(), "open the user's editor")
    if is_bucket(root):
        raise InvalidInput(
            "an editor opens files, and this book lies in a bucket", hint="run `lineage memory edit ID TEXT`"
        )
    command = find_editor("give the text: `lineage memory edit ID TEXT`")
    place = run_in_workspace(root, lambda ws: books.find_entry(ws, entry_id))
    path = root / place.ref.path
    words = build_command(command, path, place.line, waits=True)
    run_program(words, hint="set VISUAL or EDITOR", failure_hint="what it saved is kept; run it again")
    return run_in_workspace(root, lambda ws: _publish_edit(ws, place), writes=True), place.entry


def _publish_edit(ws: Workspace, place: books.EntryLocation) -> books.EntryLocation:
    """Publish what the editor saved, and return the entry's place: what it says is the user's if it was changed."""
    publish_books(ws, [place.ref])
    refresh_contexts(ws)
    return books.claim_entry(ws, place, detect_caller())
