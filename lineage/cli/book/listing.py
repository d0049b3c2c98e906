"""`lineage memory list`: the books of a workspace, and what each holds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.book.print_entry import print_entry
from lineage.cli.output import is_terminal, print_json, print_text, print_warning
from lineage.cli.typed_names import SCOPE_HELP, resolve_scope_filter
from lineage.core.base.book_paths import session_scope
from lineage.core.base.plural import pluralize
from lineage.errors import IndexUnavailable
from lineage.pipeline.memory.book_overviews import BookOverview, list_books
from lineage.workspace.book_folders import locate_scopes
from lineage.workspace.lookup import name_session_scopes
from lineage.workspace.workspace import Workspace


@options.command("list")
@click.option("--scope", metavar="SCOPE", callback=options.expand_scope, help=f"Only the books of one: {SCOPE_HELP}")
@options.project("Only the books of a project: a folder of it, `.` for example, its name, or owner/name.")
@click.option("--pending", is_flag=True, help="List the entries that wait for your confirmation instead.")
@options.no_pager
def list_command(root: Path, scope: str | None, project: str | None, pending: bool, as_json: bool) -> int:
    """The books, and how many entries each has: in use, superseded, done, stale, waiting, archived, forgotten.

    Of a session's book the session is named, too. Forgotten is what you forgot: not what you edited or moved.

    \b
    Example:
      lineage memory list --scope global
      lineage memory list --project .
      lineage memory list --pending
    """
    wanted = resolve_scope_filter(root, scope, project)
    found = run_in_workspace(root, lambda ws: list_books(ws, wanted), needs_index=False)
    selected = [book for book in found if book.waiting or not pending]
    if as_json:
        print_json({"books": [_book_as_json(book, pending=pending) for book in selected]})
        return 0
    places = _locate_scopes(root, selected)
    if is_terminal() and selected and not pending:
        from lineage.cli.session_screen import print_books

        waiting = sum(len(book.waiting) for book in selected)
        rest = f"{waiting} waiting for you: `lineage memory review`" if waiting else ""
        print_books(selected, places, rest)
        return 0
    for book in selected:
        _print_book(book, places.get(book.ref.scope, ""), pending=pending)
    if not selected:
        nothing = "no books yet: `lineage remember TEXT` begins one"
        nothing = f"no books of {wanted} yet; `lineage memory list` lists all" if wanted else nothing
        print_text("nothing waits" if pending else nothing)
    elif pending:
        print_text(
            "`lineage memory review ID` shows where an entry came from, and asks; `lineage memory forget ID` drops it"
        )
    return 0


def _locate_scopes(root: Path, found: Sequence[BookOverview]) -> dict[str, str]:
    """Return which session each session's scope is, and on a terminal the folders of projects' scopes.

    Nothing while the index is away, for the books are files.
    """
    has_sessions = any(book.ref.scope.startswith(session_scope("")) for book in found)
    if not (is_terminal() or has_sessions):
        return {}

    def locate(ws: Workspace) -> dict[str, str]:
        sessions = name_session_scopes(ws, [book.ref.scope for book in found], is_short=is_terminal())
        return (locate_scopes(ws) if is_terminal() else {}) | sessions

    try:
        return run_in_workspace(root, locate)
    except IndexUnavailable as error:
        what = ["the folders of projects"] * is_terminal() + ["the ids of sessions"] * has_sessions
        print_warning(f"{' and '.join(what)} are not known: {error.message}")
        return {}


def _print_book(book: BookOverview, place: str, *, pending: bool) -> None:
    counts = {
        "of them superseded": book.superseded,
        "of them done": book.done,
        "of them stale": book.stale,
        "waiting": len(book.waiting),
        "archived": book.archived,
        "forgotten": book.forgettings,
    }
    more = "".join(f", {count} {what}" for what, count in counts.items() if count)
    where = f"  ({place})" if place else ""
    print_text(f"{book.ref.scope:24} {book.ref.kind:20} {pluralize(book.entries, 'entry')}{more}{where}")
    for problem in book.problems:
        print_text(f"    problem: {problem}")
    for waiting in book.waiting if pending else ():
        print_entry(waiting)


def _book_as_json(book: BookOverview, *, pending: bool) -> dict[str, Any]:
    return book.as_json() | ({"pending": [place.as_json() for place in book.waiting]} if pending else {})
