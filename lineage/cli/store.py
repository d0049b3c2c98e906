"""`lineage store` and `lineage admin move`: checks of the place of a workspace, and the move to another."""

import click

from lineage.app.locations import open_named_store
from lineage.app.store_migration import MigrationReceipt, end_migration, migrate_store
from lineage.cli import options
from lineage.cli.lazy import HelpfulGroup
from lineage.cli.output import print_json, print_result, print_text, show_progress
from lineage.core.base.plural import pluralize
from lineage.errors import FindingsReported
from lineage.store.conformance import check_conformance


@click.group("store", cls=HelpfulGroup)
def command() -> None:
    """What a workspace lies in: a folder, or a bucket.

    \b
    Example:
      lineage admin store-check ~/memory
    """


@command.command("check")
@click.argument("where", metavar="URL", callback=options.require_name)
@click.option("--processes", type=click.IntRange(2, 64), default=16, show_default=True, help="How many race.")
@options.as_json
def check(where: str, processes: int, as_json: bool) -> int:
    """Test whether a bucket or folder can hold a memory, with many processes that write at once.

    Exit 4 means: keep no memory there. It touches nothing but `.lineage/probe-…`, and deletes that.

    \b
    Example:
      lineage admin store-check ~/memory
    """
    results = []
    for result in check_conformance(open_named_store(where), processes):
        results.append(result)
        if not as_json:
            status, detail = ("broken", f": {result.violation}") if result.violation else ("kept  ", "")
            print_text(f"{status}  {result.name}{detail}")
    broken = [result for result in results if result.violation]
    if as_json:
        promises = [{"promise": result.name, "broken": result.violation or None} for result in results]
        print_json({"store": where, "processes": processes, "promises": promises, "usable": not broken})
    if broken:
        hint = "keep no memory there: writes would be lost. A newer server, or another, may do"
        raise FindingsReported(f"{where} breaks {pluralize(len(broken), 'promise')}: {broken[0].name}", hint=hint)
    return 0


@click.command("migrate-store")
@click.argument("source", metavar="FROM", callback=options.require_name)
@click.argument("target", metavar="TO", callback=options.require_name)
@options.as_json
def migrate(source: str, target: str, as_json: bool) -> int:
    """Copy a memory to another place, a folder or a bucket, and verify it there. FROM stays as it is.

    TO must be empty. Run the same command again to continue after an interruption. Every file is read back and
    compared;
    exit 4 where `verify` finds something in the new place.

    \b
    Example:
      lineage admin move ~/demo ~/memory
    """
    with show_progress("copy") as progress:
        receipt = migrate_store(source, target, progress)
    print_result(receipt, lambda: _print_result(receipt), as_json=as_json)
    end_migration(target)  # last: who is interrupted before can type the command again
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
        print_text("no problems found")
    print_text(f"name the new place for every agent (`lineage hooks install`); {receipt.source} is untouched")
