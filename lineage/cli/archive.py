"""`lineage archive`."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage.cli import options
from lineage.cli.output import say, say_json
from lineage.core.wording import counted

if TYPE_CHECKING:
    from lineage.pipeline.archive.archiving import Archived


@click.command("archive")
@click.option("--before", metavar="DATE", required=True, help="A UTC day; what ended before it begins is archived.")
@click.option("--dry-run", is_flag=True, help="Show what would be archived, and change nothing.")
@options.as_json
@options.workspace
def command(root: Path, before: str, dry_run: bool, as_json: bool) -> int:
    """Pack what ended before DATE into one folder a month.

    Transcripts, summaries and compactions go into bundles, byte for byte; notes stay for the links to them. All
    commands work on them as ever. DATE is at least 30 days ago.

    \b
    Example:
      lineage archive --before 2026-01-01 --dry-run
      lineage archive --before 2026-01-01
    """
    from lineage.app import with_house
    from lineage.pipeline.archive.archiving import archive

    done = with_house(root, lambda house: archive(house, before, dry_run=dry_run), writes=not dry_run)
    if as_json:
        say_json(asdict(done))
    else:
        _say(done)
    return 0


def _say(done: "Archived") -> None:
    would = "would be archived" if done.dry_run else "archived"
    for month, count in sorted(done.months.items()):
        say(f"{would}: {counted(count, 'file')} of {month}")
    for path, what in done.problems:
        say(f"stays: {what if what.startswith(path) else f'{path}: {what}'}")
    for reason, count in sorted(done.left.items()):
        say(f"left in memory/: {counted(count, 'file')}, {reason}")
    size = f"{done.bytes / 1_000_000:.1f} MB"
    say(f"{counted(done.artifacts, 'file')} of {counted(done.sessions, 'session')} {would} ({size})")
