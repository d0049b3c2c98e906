"""`lineage remove`."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage.cli import options
from lineage.cli.output import say, say_json
from lineage.errors import InvalidInput

if TYPE_CHECKING:
    from lineage.pipeline.upkeep.removal import Receipt


@click.command("remove")
@click.argument("session")
@click.option("--reason", metavar="TEXT", default="", help="Why; it is kept in the tombstone.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and remove nothing.")
@click.option("--again", is_flag=True, help="Delete what came back of a session that was removed before.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.as_json
@options.workspace
def command(root: Path, session: str, reason: str, dry_run: bool, again: bool, yes: bool, as_json: bool) -> int:
    """Remove a session for good: its files, rows and every copy of its text in the workspace.

    A tombstone stays and keeps it from coming back. It prints a receipt: what went, what was checked, and what lies
    outside lineage's reach.

    \b
    Example:
      lineage remove 2489c83d --dry-run
      lineage remove 2489c83d --reason "a customer asked for it" --yes
    """
    from lineage.app import with_house
    from lineage.pipeline.upkeep.removal import remove

    if not (dry_run or yes):
        _confirm(session)
    receipt = with_house(
        root, lambda house: remove(house, session, reason=reason, dry_run=dry_run, again=again), writes=not dry_run
    )
    if as_json:
        say_json(asdict(receipt))
    else:
        _say(receipt)
    return 0


def _confirm(session: str) -> None:
    if not sys.stdin.isatty():
        raise InvalidInput(
            "a removal has to be confirmed", hint=f"`lineage remove {session} --yes`, or `--dry-run` first"
        )
    click.confirm(f"Remove session {session} for good?", abort=True)


def _say(receipt: "Receipt") -> None:
    would = "would be removed" if receipt.dry_run else "removed"
    say(f"session {receipt.session_id or receipt.session_token} of {receipt.agent_id}: {receipt.turns} turns {would}")
    for path in receipt.removed_paths:
        say(f"  {would}: {path}")
    if receipt.entries:
        say(f"  {would}: {receipt.entries} {'entry' if receipt.entries == 1 else 'entries'} in books")
    for path in receipt.spool_files:
        say(f"  removed: .lineage/{path}")
    if not receipt.dry_run:
        say(f"  removed: {receipt.rows} rows; databases scrubbed")
        say(f"  stays: memory/tombstones/{receipt.session_token}.md")
    say(f"checked {receipt.checked_files} other files for lines of the session")
    for path in receipt.elsewhere:
        say(f"  holds some too, and is not the session's: {path}")
    say("outside lineage's reach:")
    for place in receipt.out_of_reach:
        say(f"  {place}")
