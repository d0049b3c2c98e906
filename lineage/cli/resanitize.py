"""`lineage resanitize`."""

from pathlib import Path

import click

from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.output import format_counts, print_result, print_text
from lineage.core.base.plural import pluralize
from lineage.pipeline.maintenance.resanitize import ResanitizeResult, resanitize


@click.command("resanitize")
@click.option("--dry-run", is_flag=True, help="Show what would be replaced, and replace nothing.")
@options.common
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
    result = run_in_workspace(root, lambda ws: resanitize(ws, dry_run=dry_run), writes=not dry_run)
    return print_result(result, lambda: _print_result(result), as_json=as_json)


def _print_result(result: ResanitizeResult) -> None:
    replaced = "would be replaced" if result.dry_run else "replaced"
    for record in result.replaced:
        print_text(f"{replaced}: {record.path} ({record.old_version} → {record.new_version})")
    for path in result.books:
        print_text(f"{'would be redacted' if result.dry_run else 'redacted'}: entries of {path}")
    for path, what in result.problems:
        print_text(f"damaged: {what if what.startswith(path) else f'{path}: {what}'}")
    if result.redactions:
        print_text(f"redacted: {format_counts(result.redactions)}")
    files = pluralize(len(result.replaced), "file")
    print_text(f"{files} {replaced}, {result.unchanged} held nothing to redact ({result.version})")
    if result.replaced and not result.dry_run:
        print_text(
            "outside lineage's reach: git history, versions in a bucket, other copies, the harness's own transcripts"
        )
