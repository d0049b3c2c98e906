"""`lineage memory forget`, and `restore`, which takes it back."""

from collections.abc import Sequence
from pathlib import Path

import click

from lineage.app.locations import detect_caller
from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.book.entries import print_change
from lineage.cli.output import print_result, print_text
from lineage.pipeline.memory import books
from lineage.pipeline.memory.merge_statements import list_ids_to_forget
from lineage.pipeline.memory.restore import restore_entries


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
        ids = dict.fromkeys((place.entry.id, *list_ids_to_forget(place.ref.scope, place.ref.kind, place.entry)))
        names = " ".join(ids)
        print_text(f"  its words won't come back either; to take that back: `lineage memory restore {names}`")
    return 0


@options.command("restore", writes=True)
@click.argument("entry_ids", metavar="ID...", nargs=-1, required=True)
def restore(root: Path, entry_ids: Sequence[str], as_json: bool) -> int:
    """Let a forgotten entry be learned again: delete the line that prevents it.

    Its words are gone; it is learned again from its session, or you remember it again. Of several ids, those that are
    not forgotten are named and left.

    \b
    Example:
      lineage memory restore 718d
      lineage memory restore 6043d46f d18eda21
    """
    caller = detect_caller()
    found, left = run_in_workspace(root, lambda ws: restore_entries(ws, entry_ids, caller), writes=True)
    restored = [{"id": name, "paths": [ref.path for ref in refs]} for name, refs in found]

    def print_lines() -> None:
        for name, refs in found:
            print_text(f"{name} may be learned again: its line is deleted from {', '.join(ref.path for ref in refs)}")
        for problem in left:
            print_text(f"left: {problem}")
        print_text("  its text is not back: `lineage memory relearn` learns it again from its session;")
        print_text("  what you typed, type again: `lineage remember TEXT`")

    value = restored[0] if len(entry_ids) == 1 else {"restored": restored, "left": left}
    return print_result(value, print_lines, as_json=as_json)
