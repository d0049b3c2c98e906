"""`lineage archive`."""

from pathlib import Path

import click

from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.output import print_json, print_text
from lineage.core.base.plural import pluralize
from lineage.pipeline.maintenance.archive import archive


@click.command("archive")
@click.option("--before", metavar="DATE", required=True, help="A UTC day; what ended before it begins is archived.")
@click.option("--dry-run", is_flag=True, help="Show what would be archived, and change nothing.")
@options.common
def command(root: Path, before: str, dry_run: bool, as_json: bool) -> int:
    """Pack what ended before DATE into one folder a month.

    Transcripts, summaries and compactions go into bundles, byte for byte; notes stay for the links to them. All
    commands work on them as ever. DATE is at least 30 days ago.

    \b
    Example:
      lineage archive --before 2026-01-01 --dry-run
      lineage archive --before 2026-01-01
    """
    result = run_in_workspace(root, lambda ws: archive(ws, before, dry_run=dry_run), writes=not dry_run)
    if as_json:
        print_json(result)
        return 0
    archived = "would be archived" if result.dry_run else "archived"
    for month, count in sorted(result.months.items()):
        print_text(f"{archived}: {pluralize(count, 'file')} of {month}")
    for path, what in result.problems:
        print_text(f"stays: {what if what.startswith(path) else f'{path}: {what}'}")
    for reason, count in sorted(result.left.items()):
        print_text(f"left in memory/: {pluralize(count, 'file')}, {reason}")
    size = f"{result.bytes / 1_000_000:.1f} MB"
    print_text(f"{pluralize(result.artifacts, 'file')} of {pluralize(result.sessions, 'session')} {archived} ({size})")
    return 0
