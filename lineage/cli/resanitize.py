"""`lineage resanitize`."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage.cli import options
from lineage.cli.output import say, say_json
from lineage.core.wording import counted

if TYPE_CHECKING:
    from lineage.pipeline.upkeep.resanitizing import Resanitized


@click.command("resanitize")
@click.option("--dry-run", is_flag=True, help="Show what would be replaced, and replace nothing.")
@options.as_json
@options.workspace
def command(root: Path, dry_run: bool, as_json: bool) -> int:
    """Redact what is committed already, under the rules of today.

    Artifacts in which today's rules find something are replaced in place; the manifest records the old and the new
    hash, the old text goes from the databases. Entries of books are redacted too; what a hand wrote between them stays.
    Copies outside the workspace, git history too, are not lineage's.

    \b
    Example:
      lineage resanitize --dry-run
      lineage resanitize
    """
    from lineage.app import with_house
    from lineage.pipeline.upkeep.resanitizing import resanitize

    done = with_house(root, lambda house: resanitize(house, dry_run=dry_run), writes=not dry_run)
    if as_json:
        say_json({**asdict(done), "replaced": [record._asdict() for record in done.replaced]})
    else:
        _say(done)
    return 0


def _say(done: "Resanitized") -> None:
    would = "would be replaced" if done.dry_run else "replaced"
    for record in done.replaced:
        say(f"{would}: {record.path} ({record.old_version} → {record.new_version})")
    for path in done.books:
        say(f"{'would be redacted' if done.dry_run else 'redacted'}: entries of {path}")
    for path, what in done.problems:
        say(f"damaged: {what if what.startswith(path) else f'{path}: {what}'}")
    if done.redactions:
        say("redacted: " + ", ".join(f"{rule} {count}" for rule, count in sorted(done.redactions.items())))
    say(f"{counted(len(done.replaced), 'file')} {would}, {done.unchanged} held nothing to redact ({done.version})")
    if done.replaced and not done.dry_run:
        say("outside lineage's reach: git history, versions in a bucket, other copies, the harness's own transcripts")
