"""`lineage memory forget`, and `restore`, which takes it back."""

import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from lineage.app.locations import detect_caller
from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.book.entries import print_change
from lineage.cli.output import cut_line, print_result, print_text
from lineage.core.base.book_paths import GLOBAL
from lineage.core.base.naming import TRANSCRIPT, find_tokens
from lineage.core.base.plural import pluralize
from lineage.core.books.entry import Entry
from lineage.core.books.sightings import read_sightings
from lineage.extraction.candidates import HEURISTIC, MODEL
from lineage.pipeline.memory import books
from lineage.pipeline.memory.merge_statements import is_as_found
from lineage.pipeline.memory.restore import restore_entries


@options.command("forget", writes=True)
@click.argument("entry_id", metavar="ID")
def forget(root: Path, entry_id: str, as_json: bool) -> int:
    """Forget an entry, in use, waiting or archived. Its id stays in the book, so that it is not learned again.

    Prints its words, the commands that bring it back, and the one that removes the session that said them, which may
    still be quoted. Nothing asks first.

    \b
    Example:
      lineage memory forget 718d
    """
    place = run_in_workspace(root, lambda ws: books.forget_entry(ws, entry_id, detect_caller()), writes=True)
    print_change(place, "forgotten", as_json=as_json)
    if not as_json:
        print_text(cut_line(f"  “{' '.join(place.entry.body.split())}”"), folds=False)
        print_text("  it won't be learned again; to take that back:")
        print_text(f"    lineage memory restore {place.entry.id}", folds=False)
        print_text(f"    {build_return_command(place)}", folds=False)
        if tokens := _list_speakers(place.entry):
            print_text("  what said it stays, and can be found and quoted; to have nothing of it:")
            for token in tokens:
                print_text(f"    lineage remove {token}", folds=False)
    return 0


def _list_speakers(entry: Entry) -> list[str]:
    """Return the tokens of the captured sessions that said an entry."""
    links = [entry.origin or "", *(one.origin for one in read_sightings(entry))]
    return sorted({token for link in links if TRANSCRIPT in link for token in find_tokens(link)})


def build_return_command(place: books.EntryLocation) -> str:
    """Return the command line that brings a restored entry's words back: rules find them again, or a person types them.

    A shell reads it as one line per line of the words.
    """
    entry, ref = place.entry, place.ref
    if HEURISTIC in entry.tags and is_as_found(ref, entry):
        return "lineage memory relearn"
    options = [] if (ref.scope, ref.kind) == (GLOBAL, "note") else ["--scope", ref.scope, "--kind", ref.kind]
    for name, values in (("--tag", _list_own_tags(entry)), ("--about", [one.partition(":")[2] for one in entry.about])):
        options += [word for value in values for word in (name, value)]
    return shlex.join(["lineage", "remember", *options, *["--"] * entry.body.startswith("-"), entry.body])


def _list_own_tags(entry: Entry) -> list[str]:
    return [tag for tag in entry.tags if tag not in (HEURISTIC, MODEL)]


@options.command("restore", writes=True)
@click.argument("entry_ids", metavar="ID...", nargs=-1, required=True)
def restore(root: Path, entry_ids: Sequence[str], as_json: bool) -> int:
    """Let a forgotten entry be learned again: delete the lines that prevent it.

    One id is enough: the other ids that the same `forget` put away come back with it. The words are gone; `lineage
    memory relearn` learns them again from the entry's session, and what you typed you remember again. Of several ids,
    those that are not forgotten are named and left.

    \b
    Example:
      lineage memory restore 718d
      lineage memory restore 6043d46f d18eda21
    """
    caller = detect_caller()
    found, left = run_in_workspace(root, lambda ws: restore_entries(ws, entry_ids, caller), writes=True)
    restored = [{"id": one.id, "paths": [ref.path for ref in one.refs]} for one in found]

    def print_lines() -> None:
        for one in found:
            lines = f"its {pluralize(len(one.ids), 'line')} are" if len(one.ids) > 1 else "its line is"
            print_text(f"{one.id} may be learned again: {lines} deleted from {', '.join(ref.path for ref in one.refs)}")
        for problem in left:
            print_text(f"left: {problem}")
        print_text("  its text is not back: `lineage memory relearn` learns it again from its session;")
        print_text("  what you typed, type again: `lineage remember TEXT`")

    value = restored[0] if len(entry_ids) == 1 else {"restored": restored, "left": left}
    return print_result(value, print_lines, as_json=as_json)
