"""`lineage migrate-store`."""

import click

from lineage.app.store_migration import MigrationReceipt, migrate_store
from lineage.cli import options
from lineage.cli.output import print_result, print_text
from lineage.cli.progress import show_progress
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
    with show_progress("copy") as progress:
        receipt = migrate_store(source, target, progress)
    print_result(receipt, lambda: _print_result(receipt), as_json=as_json)
    return FindingsReported.exit_code if receipt.findings else 0


def _print_result(receipt: MigrationReceipt) -> None:
    moved = receipt.moved
    print_text(f"{pluralize(moved.files, 'file')} of {receipt.source} are in {receipt.target}, each as it was")
    print_text(f"  {moved.written} written and read back, {moved.there} there already, {moved.bytes} bytes")
    if moved.dropped:
        print_text(f"  {moved.dropped} copies of what has gone from the source since were deleted")
    for finding in receipt.findings:
        print_text(f"{finding.level:6} {finding.path}\n       {finding.what}\n       → {finding.mend}")
    if not receipt.findings:
        print_text("every promise holds")
    print_text(f"name the new place for every agent (`lineage hooks install`); {receipt.source} is untouched")
