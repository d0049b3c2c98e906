"""`lineage memory review`: what waits for the user, one entry and one key at a time."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from lineage.app.locations import detect_caller
from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.book.entries import confirm
from lineage.cli.book.print_entry import print_evidence
from lineage.cli.output import print_json, print_text
from lineage.errors import InvalidInput
from lineage.pipeline.memory import books
from lineage.pipeline.memory.book_overviews import list_books
from lineage.pipeline.memory.waiting_entries import Evidence, confirm_entries, load_evidence
from lineage.workspace.workspace import Workspace

_CONFIRM, _FORGET, _SKIP, _QUIT = "y", "n", "s", "q"
_QUESTION = "[y] remember it  [n] forget it  [s] decide later  [q] stop"


@options.command("review")
@click.argument("entry_ids", metavar="[ID]...", nargs=-1)
@click.option("--yes", is_flag=True, help="Remember each ID without asking.")
@click.pass_context
def command(context: click.Context, root: Path, entry_ids: Sequence[str], yes: bool, as_json: bool) -> int:
    """Go through what waits for you: each entry, why it waits and the words it came from, then one key.

    y remembers it, n forgets it, s leaves it for later, q or Ctrl-D stops. With IDs only these are asked about. Only
    you can review, no agent.

    \b
    Example:
      lineage memory review
      lineage memory review 77ab 0c3e
    """
    if entry_ids:
        return int(context.invoke(confirm, root=root, entry_ids=entry_ids, yes=yes, as_json=as_json))
    books.refuse_agents(detect_caller(), "review what waits for the user")
    waiting = run_in_workspace(root, _load_waiting)
    if as_json:
        print_json({"waiting": [item.location.as_json() for item in waiting]})
        return 0
    if not waiting:
        print_text("nothing waits for you")
        return 0
    if not sys.stdin.isatty():
        problem = "entries wait for you, and there is no terminal to ask on"
        hint = "`lineage memory review ID --yes` remembers one, `lineage memory forget ID` forgets it"
        raise InvalidInput(problem, hint=hint)
    return _review(root, waiting)


def _load_waiting(ws: Workspace) -> list[Evidence]:
    names = [place.entry.id for book in list_books(ws) for place in book.waiting]
    return load_evidence(ws, names) if names else []


def _review(root: Path, waiting: Sequence[Evidence]) -> int:
    """Ask about each entry and do what the key says at once: what was answered stays, wherever the user stops."""
    counts = {_CONFIRM: 0, _FORGET: 0}
    left = len(waiting)
    for number, item in enumerate(waiting, 1):
        print_text(f"{number} of {len(waiting)}")
        print_evidence(item)
        key = _read_key()
        if key == _QUIT:
            break
        if key == _SKIP:
            continue
        left -= 1
        counts[key] += 1
        _apply(root, item, is_confirmed=key == _CONFIRM)
    print_text(f"{counts[_CONFIRM]} remembered, {counts[_FORGET]} forgotten, {left} still waiting")
    return 0


def _apply(root: Path, item: Evidence, *, is_confirmed: bool) -> None:
    name = item.location.entry.id
    if is_confirmed:
        run_in_workspace(root, lambda ws: confirm_entries(ws, [item], detect_caller()), writes=True)
        print_text(f"remembered: {name}")
    else:
        run_in_workspace(root, lambda ws: books.forget_entry(ws, name, detect_caller()), writes=True)
        print_text(f"forgotten: {name}; `lineage memory restore {name}` lets it come back")


def _read_key() -> str:
    """Return the user's key; Ctrl-D and the end of input stop. Raises Abort for Ctrl-C."""
    while True:
        click.echo(f"{_QUESTION} ", nl=False)
        try:
            # nothing at all comes from a terminal that was closed
            key = (click.getchar() or "").lower()
        except (EOFError, OSError):
            key = ""
        except KeyboardInterrupt as error:
            click.echo()
            raise click.Abort from error
        click.echo(key if key.isprintable() else "")
        if key in (_CONFIRM, _FORGET, _SKIP, _QUIT, ""):
            return key or _QUIT
        print_text("press y, n, s or q")
