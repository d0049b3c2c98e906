"""`lineage remove`."""

import sys
from pathlib import Path

import click

from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.output import print_result, print_text
from lineage.errors import InvalidInput
from lineage.pipeline.maintenance.remove import RemovalReceipt, remove


@options.command("remove")
@click.argument("session")
@click.option("--reason", metavar="TEXT", default="", help="Why; it is kept in the tombstone.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and remove nothing.")
@click.option("--again", is_flag=True, help="Delete what came back of a session that was removed before.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(root: Path, session: str, reason: str, dry_run: bool, again: bool, yes: bool, as_json: bool) -> int:
    """Remove a session for good: its files, rows and every copy of its text in the workspace.

    A tombstone stays and keeps it from coming back. It prints a receipt: what went, what was checked, and what lies
    outside lineage's reach.

    \b
    Example:
      lineage remove 2489c83d --dry-run
      lineage remove 2489c83d --reason "a customer asked for it" --yes
    """
    if not (dry_run or yes):
        if not sys.stdin.isatty():
            hint = f"`lineage remove {session} --yes`, or `--dry-run` first"
            raise InvalidInput("a removal has to be confirmed", hint=hint)
        click.confirm(f"Remove session {session} for good?", abort=True)
    receipt = run_in_workspace(
        root, lambda ws: remove(ws, session, reason=reason, dry_run=dry_run, again=again), writes=not dry_run
    )
    return print_result(receipt, lambda: _print_receipt(receipt), as_json=as_json)


def _print_receipt(receipt: RemovalReceipt) -> None:
    removed = "would be removed" if receipt.dry_run else "removed"
    print_text(
        f"session {receipt.session_id or receipt.session_token} of {receipt.agent_id}: {receipt.turns} turns {removed}"
    )
    for path in receipt.removed_paths:
        print_text(f"  {removed}: {path}")
    if receipt.entries:
        print_text(f"  {removed}: {receipt.entries} {'entry' if receipt.entries == 1 else 'entries'} in books")
    for path in receipt.spool_files:
        print_text(f"  removed: .lineage/{path}")
    if not receipt.dry_run:
        print_text(f"  removed: {receipt.rows} rows; databases scrubbed")
        print_text(f"  stays: memory/tombstones/{receipt.session_token}.md")
    print_text(f"checked {receipt.checked_files} other files for lines of the session")
    for path in receipt.elsewhere:
        print_text(f"  holds some too, and is not the session's: {path}")
    print_text("outside lineage's reach:")
    for place in receipt.out_of_reach:
        print_text(f"  {place}")
