"""The command `remove`: what would go, a question, and the receipt."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from lineage.app.locations import detect_caller
from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.book.print_entry import SHORT_ENTRY_ID
from lineage.cli.completion import complete_session
from lineage.cli.output import cut_line, format_when, is_terminal, print_result, print_text
from lineage.core.base.book_paths import BookRef
from lineage.core.base.plural import pluralize
from lineage.core.books.entry import CONFIRMED, Entry, parse_before
from lineage.pipeline.maintenance.remove import RemovalReceipt, remove, resolve_removal
from lineage.pipeline.memory.books import refuse_agents
from lineage.pipeline.memory.merge_statements import is_learned, is_reworded
from lineage.pipeline.memory.session_entries import find_session_entries, select_removed
from lineage.workspace.lookup import MAX_CANDIDATES, match_reference, resolve_session
from lineage.workspace.workspace import Workspace

_MAX_NAMED = 8
_MAX_SHARING = 3  # at a terminal: their names say little


@options.command("remove", writes=True)
@click.argument("session", shell_complete=complete_session)
@click.option("--reason", metavar="TEXT", default="", help="Why; it is kept in the tombstone.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and remove nothing.")
@click.option("--again", is_flag=True, help="Delete files of a removed session that came back.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(root: Path, session: str, reason: str, dry_run: bool, again: bool, yes: bool, as_json: bool) -> int:
    """Remove a session for good: its files, rows and every copy of its text in the workspace.

    A tombstone stays and keeps it from coming back. No agent can do it, but for `--dry-run`. It prints a receipt:
    what was removed, what was checked, and which copies it can't remove.

    \b
    Example:
      lineage remove 2489c83d --dry-run
      lineage remove 2489c83d --reason "a customer asked for it" --yes
    """
    hint = f"`lineage remove {session} --yes`, or `--dry-run` first"
    question, asks = "", not (yes or dry_run)
    if asks or (dry_run and not as_json):
        question, places = run_in_workspace(root, partial(_look_before_removal, session=session, again=again))
        if not as_json:
            _print_entries_to_go(places)
    options.confirm(question, yes=not asks, what="a removal", hint=hint)
    work = partial(_remove_as_user, session=session, reason=reason, dry_run=dry_run, again=again)
    receipt = run_in_workspace(root, work, writes=not dry_run, frees_space=True)
    return print_result(receipt, lambda: _print_receipt(receipt), as_json=as_json)


def _remove_as_user(ws: Workspace, session: str, *, reason: str, dry_run: bool, again: bool) -> RemovalReceipt:
    if not dry_run:
        refuse_agents(detect_caller(), "remove a session")
    return remove(ws, session, reason=reason, dry_run=dry_run, again=again)


def _look_before_removal(ws: Workspace, session: str, *, again: bool) -> tuple[str, Sequence[tuple[BookRef, Entry]]]:
    """Return the question, with the session that is meant, and its entries. Raise NotFoundError for no session."""
    token = resolve_removal(ws, session, again=again)
    places = select_removed({token: find_session_entries(ws, token)})
    rows = ws.index.list_sessions(None, reference=session, limit=MAX_CANDIDATES)
    if not match_reference(rows, session):  # one whose removal was cut off is in no row
        return f"Remove session {session} for good?", places
    row = resolve_session(ws, session)
    return f"Remove “{row.title}” of {format_when(row.membership_ts)} ({row.session_id}) for good?", places


def _print_entries_to_go(places: Sequence[tuple[BookRef, Entry]]) -> None:
    """Print the entries that a removal forgets: a person may have edited one, and wants to keep its words."""
    if places:
        print_text(f"with the session {pluralize(len(places), 'entry')} in books would be removed:")
    for ref, entry in places:
        is_yours = entry.source == CONFIRMED or parse_before(entry) or (is_learned(entry) and is_reworded(ref, entry))
        yours = ", edited or confirmed by you" if is_yours else ""
        print_text(f"  {entry.id[:SHORT_ENTRY_ID]}  {ref.kind} of {ref.scope}{yours}")
        print_text(cut_line(f"      “{' '.join(entry.body.split())}”"), folds=False)


def _print_receipt(receipt: RemovalReceipt) -> None:
    removed = "would be removed" if receipt.dry_run else "removed"
    print_text(
        f"session {receipt.session_id or receipt.session_token} of {receipt.agent_id}: {receipt.turns} turns {removed}"
    )
    for name in receipt.sub_agents:
        print_text(f"  with its sub-agent {name}")
    for path in receipt.removed_paths:
        print_text(f"  {removed}: {path}")
    if receipt.entries:
        print_text(f"  {removed}: {receipt.entries} {'entry' if receipt.entries == 1 else 'entries'} in books")
    for path in receipt.spool_files:
        print_text(f"  removed: .lineage/{path}")
    if not receipt.dry_run:
        print_text("  removed: its rows in the index and in this machine's databases, which are scrubbed")
        print_text(f"  stays: memory/tombstones/{receipt.session_token}.md")
    print_text(f"searched {pluralize(receipt.checked_files, 'other file')} for lines of the session")
    if receipt.elsewhere:
        files = pluralize(len(receipt.elsewhere), "file")
        print_text(f"  {files} of other sessions hold lines that it had, too, such as code or output. They stay:")
    shown = receipt.elsewhere[:_MAX_SHARING] if is_terminal() else receipt.elsewhere
    for path in shown:
        print_text(f"    {path}")
    if left := len(receipt.elsewhere) - len(shown):
        print_text(f"    and {left} more" + (": --json lists them" if receipt.dry_run else ""))
    if receipt.naming_project:
        named = ", ".join(receipt.naming_project[:_MAX_NAMED]) + (" …" if receipt.naming_project[_MAX_NAMED:] else "")
        stay = "that stays" if len(receipt.naming_project) == 1 else "that stay"
        print_text(f"its project is named in {pluralize(len(receipt.naming_project), 'file')} {stay}: {named}")
    if not receipt.dry_run:
        print_text("nothing else of its text is left in this memory" if receipt.elsewhere else "its text is gone")
    print_text("lineage can't remove these copies:")
    for place in receipt.out_of_reach:
        print_text(f"  {place}")
