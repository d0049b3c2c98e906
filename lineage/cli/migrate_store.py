"""`lineage migrate-store`."""

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from lineage.cli import options
from lineage.cli.output import say, say_json
from lineage.core.wording import counted
from lineage.errors import Problems

if TYPE_CHECKING:
    from lineage.app.migrating import Receipt


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
    receipt = _migrated(source, target)
    if as_json:
        say_json(asdict(receipt))
    else:
        _say(receipt)
    return Problems.exit_code if receipt.findings else 0


def _migrated(source: str, target: str) -> "Receipt":
    """Moves with a bar on a terminal."""
    from lineage.app.migrating import migrated

    if not sys.stderr.isatty():
        return migrated(source, target)
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("copy", total=None)
        return migrated(source, target, lambda done, total: bar.update(task, completed=done, total=total))


def _say(receipt: "Receipt") -> None:
    done = receipt.moved
    say(f"{counted(done.files, 'file')} of {receipt.source} are in {receipt.target}, each as it was")
    say(f"  {done.written} written and read back, {done.there} there already, {done.bytes} bytes")
    if done.dropped:
        say(f"  {done.dropped} copies of what has gone from the source since were deleted")
    for finding in receipt.findings:
        say(f"{finding.level:6} {finding.path}\n       {finding.what}\n       → {finding.mend}")
    if not receipt.findings:
        say("every promise holds")
    say(f"name the new place for every agent (`lineage hooks install`); {receipt.source} is untouched")
