"""`lineage sweep`."""

from dataclasses import asdict
from pathlib import Path

import click

from lineage.cli import options
from lineage.cli.output import say, say_json
from lineage.core.wording import counted


@click.command("sweep")
@click.option(
    "--idle", "idle_minutes", type=click.IntRange(0), default=10, show_default=True, metavar="MINUTES",
    help="Leave sessions alone that were written to in the last MINUTES.",
)  # fmt: skip
@options.as_json
@options.workspace
def command(root: Path, idle_minutes: int, as_json: bool) -> int:
    """Capture sessions that a hook once told of and that ended without a signal, or grew since.

    \b
    Example:
      lineage sweep
      lineage sweep --idle 0
    """
    from lineage.app.working import swept

    done = swept(root, idle_minutes=idle_minutes)
    if as_json:
        say_json(asdict(done))
        return 0
    for token in done.captured:
        say(f"captured: session {token}")
    for session, why in done.failed:
        say(f"failed: {session}: {why}")
    say(
        f"{counted(len(done.captured), 'session')} captured, {done.unchanged} unchanged, {done.waiting} still being"
        f" written, {done.gone} without a transcript"
    )
    return 0
