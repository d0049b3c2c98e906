"""`lineage resanitize`."""

from dataclasses import asdict
from pathlib import Path

import click

from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.output import print_json, print_text
from lineage.core.base.plural import pluralize
from lineage.pipeline.maintenance.resanitize import ResanitizeResult, resanitize


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
    done = run_in_workspace(root, lambda ws: resanitize(ws, dry_run=dry_run), writes=not dry_run)
    if as_json:
        print_json(asdict(done))
    else:
        _print_result(done)
    return 0


def _print_result(done: ResanitizeResult) -> None:
    would = "would be replaced" if done.dry_run else "replaced"
    for record in done.replaced:
        print_text(f"{would}: {record.path} ({record.old_version} → {record.new_version})")
    for path in done.books:
        print_text(f"{'would be redacted' if done.dry_run else 'redacted'}: entries of {path}")
    for path, what in done.problems:
        print_text(f"damaged: {what if what.startswith(path) else f'{path}: {what}'}")
    if done.redactions:
        print_text("redacted: " + ", ".join(f"{rule} {count}" for rule, count in sorted(done.redactions.items())))
    print_text(
        f"{pluralize(len(done.replaced), 'file')} {would}, {done.unchanged} held nothing to redact ({done.version})"
    )
    if done.replaced and not done.dry_run:
        print_text(
            "outside lineage's reach: git history, versions in a bucket, other copies, the harness's own transcripts"
        )
