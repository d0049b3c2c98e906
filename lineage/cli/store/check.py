"""`lineage store check`."""

import click

from lineage.app.locations import open_named_store
from lineage.cli import options
from lineage.cli.output import print_json, print_text
from lineage.core.base.plural import pluralize
from lineage.errors import FindingsReported
from lineage.store.conformance import check_conformance


@click.command("check")
@click.argument("where", metavar="URL")
@click.option("--processes", type=click.IntRange(2, 64), default=16, show_default=True, help="How many race.")
@options.as_json
def command(where: str, processes: int, as_json: bool) -> int:
    """Race a store, and say whether it keeps the promises that a memory rests on. URL is a bucket's, or a folder.

    Exit 4 where it breaks one: keep no memory there. Nothing but `.lineage/probe-…` of it is touched, and that goes.

    \b
    Example:
      lineage store check ~/memory
    """
    promises = []
    for promise in check_conformance(open_named_store(where), processes):
        promises.append(promise)
        if not as_json:
            print_text(
                f"{'broken' if promise.violation else 'kept  '}  {promise.name}"
                + f": {promise.violation}" * bool(promise.violation)
            )
    broken = [promise for promise in promises if promise.violation]
    if as_json:
        found = [{"promise": promise.name, "broken": promise.violation or None} for promise in promises]
        print_json({"store": where, "processes": processes, "promises": found, "usable": not broken})
    if broken:
        raise FindingsReported(
            f"{where} breaks {pluralize(len(broken), 'promise')}: {broken[0].name}",
            hint="keep no memory there: writes would be lost. A newer server, or another, may do",
        )
    return 0
