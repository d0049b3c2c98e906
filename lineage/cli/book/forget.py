"""`lineage memory forget`, and `restore`, which takes it back."""

from pathlib import Path

import click

from lineage.app.locations import detect_caller
from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.book.entries import print_change
from lineage.cli.output import print_result, print_text
from lineage.pipeline.memory import books
from lineage.pipeline.memory.restore import restore_entry


@options.command("forget", writes=True)
@click.argument("entry_id", metavar="ID")
def forget(root: Path, entry_id: str, as_json: bool) -> int:
    """Forget an entry, in use, waiting or archived. Its id stays in the book, so that it is not learned again.

    \b
    Example:
      lineage memory forget 718d
    """
    place = run_in_workspace(root, lambda ws: books.forget_entry(ws, entry_id, detect_caller()), writes=True)
    print_change(place, "forgotten", as_json=as_json)
    if not as_json:
        print_text(f"  its words won't come back either; to take that back: `lineage memory restore {place.entry.id}`")
    return 0


@options.command("restore", writes=True)
@click.argument("entry_id", metavar="ID")
def restore(root: Path, entry_id: str, as_json: bool) -> int:
    """Let a forgotten entry be learned again: delete the line that prevents it.

    Its words are gone; it is learned again from its session, or you remember it again.

    \b
    Example:
      lineage memory restore 718d
    """
    name, refs = run_in_workspace(root, lambda ws: restore_entry(ws, entry_id, detect_caller()), writes=True)
    paths = [ref.path for ref in refs]

    def print_lines() -> None:
        print_text(f"{name} is no longer blocked: its line is deleted from {', '.join(paths)}")
        print_text("  `lineage memory relearn` learns it again from its session; what you typed, type again:")
        print_text("  `lineage remember TEXT`")

    return print_result({"id": name, "paths": paths}, print_lines, as_json=as_json)
