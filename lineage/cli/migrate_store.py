"""`lineage migrate-store`."""

import sys
from dataclasses import asdict

import click

from lineage.app.store_migration import MigrationReceipt, migrate_store
from lineage.cli import options
from lineage.cli.output import print_json, print_text
from lineage.core.base.plural import pluralize
from lineage.errors import FindingsReported


@click.command("migrate-store")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@options.as_json
def command(source: str, target: str, as_json: bool) -> int:
    """Copy a memory to another place, a folder or a bucket, and verify it there. FROM stays as it is.

    TO must be empty. A run that was cut off is gone on with by the same command. Every file is read back and compared;
    exit 4 where `verify` finds something in the new place.

    \b
    Example:
      lineage migrate-store ~/demo ~/memory
    """
    receipt = _migrate_with_progress(source, target)
    if as_json:
        print_json(asdict(receipt))
    else:
        _print_result(receipt)
    return FindingsReported.exit_code if receipt.findings else 0


def _migrate_with_progress(source: str, target: str) -> MigrationReceipt:
    """Moves with a bar on a terminal."""
    if not sys.stderr.isatty():
        return migrate_store(source, target)
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("copy", total=None)
        return migrate_store(source, target, lambda done, total: bar.update(task, completed=done, total=total))


def _print_result(receipt: MigrationReceipt) -> None:
    done = receipt.moved
    print_text(f"{pluralize(done.files, 'file')} of {receipt.source} are in {receipt.target}, each as it was")
    print_text(f"  {done.written} written and read back, {done.there} there already, {done.bytes} bytes")
    if done.dropped:
        print_text(f"  {done.dropped} copies of what has gone from the source since were deleted")
    for finding in receipt.findings:
        print_text(f"{finding.level:6} {finding.path}\n       {finding.what}\n       → {finding.mend}")
    if not receipt.findings:
        print_text("every promise holds")
    print_text(f"name the new place for every agent (`lineage hooks install`); {receipt.source} is untouched")
