"""`lineage book list`."""

from pathlib import Path
from typing import Any

import click

from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.book.entry_output import print_entry
from lineage.cli.output import print_json, print_text
from lineage.pipeline.memory.books import BookOverview, list_books


@click.command("list")
@click.option("--scope", metavar="SCOPE", help="Only the books of one scope, for example global or project/NAME.")
@click.option("--pending", is_flag=True, help="Only what waits for confirmation, with the entries.")
@options.as_json
@options.workspace
def command(root: Path, scope: str | None, pending: bool, as_json: bool) -> int:
    """The books, and how many entries each has: in use, waiting, archived, forgotten.

    \b
    Example:
      lineage book list --scope global
      lineage book list --pending
    """
    books = run_in_workspace(root, lambda ws: list_books(ws, scope), needs_index=False)
    selected = [book for book in books if book.waiting or not pending]
    if as_json:
        print_json({"books": [_as_json(book, pending=pending) for book in selected]})
        return 0
    for book in selected:
        _print_book(book, pending=pending)
    if not selected:
        print_text("nothing waits" if pending else "no books yet: `lineage remember TEXT` begins one")
    elif pending:
        print_text(
            "`lineage book confirm ID` shows where an entry came from, and asks; `lineage book forget ID` drops it"
        )
    return 0


def _print_book(book: BookOverview, *, pending: bool) -> None:
    counts = {"waiting": len(book.waiting), "archived": book.archived, "forgotten": book.forgotten}
    more = "".join(f", {count} {what}" for what, count in counts.items() if count)
    noun = "entry" if book.entries == 1 else "entries"
    print_text(f"{book.ref.scope:24} {book.ref.kind:20} {book.entries} {noun}{more}")
    for problem in book.problems:
        print_text(f"    problem: {problem}")
    for place in book.waiting if pending else ():
        print_entry(place)


def _as_json(book: BookOverview, *, pending: bool) -> dict[str, Any]:
    return {
        "scope": book.ref.scope,
        "kind": book.ref.kind,
        "path": book.ref.path,
        "entries": book.entries,
        "waiting": len(book.waiting),
        "archived": book.archived,
        "forgotten": book.forgotten,
        "problems": list(book.problems),
    } | ({"pending": [place.as_json() for place in book.waiting]} if pending else {})
