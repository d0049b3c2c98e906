"""`lineage sweep`."""

from pathlib import Path

import click

from lineage.app.worker import drain_and_sweep
from lineage.cli import options
from lineage.cli.output import print_json, print_text
from lineage.core.base.plural import pluralize


@click.command("sweep")
@click.option(
    "--idle", "idle_minutes", type=click.IntRange(0), default=10, show_default=True, metavar="MINUTES",
    help="Leave sessions alone that were written to in the last MINUTES.",
)  # fmt: skip
@options.common
def command(root: Path, idle_minutes: int, as_json: bool) -> int:
    """Capture sessions that a hook once told of and that ended without a signal, or grew since.

    \b
    Example:
      lineage sweep
      lineage sweep --idle 0
    """
    result = drain_and_sweep(root, idle_minutes=idle_minutes)
    if as_json:
        print_json(result)
        return 0
    for token in result.captured:
        print_text(f"captured: session {token}")
    for session, why in result.failed:
        print_text(f"failed: {session}: {why}")
    captured = pluralize(len(result.captured), "session")
    print_text(
        f"{captured} captured, {result.unchanged} unchanged, {result.waiting} still being written,"
        f" {result.gone} without a transcript"
    )
    return 0
