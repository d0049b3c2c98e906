"""`lineage store`: checks of the place of a workspace."""

import click

from lineage.app.locations import open_named_store
from lineage.cli import options
from lineage.cli.output import print_json, print_text
from lineage.core.base.plural import pluralize
from lineage.errors import FindingsReported
from lineage.store.conformance import check_conformance


@click.group("store")
def command() -> None:
    """What a workspace lies in: a folder, or a bucket.

    \b
    Example:
      lineage store check ~/memory
    """


@command.command("check")
@click.argument("where", metavar="URL")
@click.option("--processes", type=click.IntRange(2, 64), default=16, show_default=True, help="How many race.")
@options.as_json
def check(where: str, processes: int, as_json: bool) -> int:
    """Race a store, and say whether it keeps the promises that a memory rests on. URL is a bucket's, or a folder.

    Exit 4 where it breaks one: keep no memory there. Nothing but `.lineage/probe-…` of it is touched, and that goes.

    \b
    Example:
      lineage store check ~/memory
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
        raise FindingsReported(
            f"{where} breaks {pluralize(len(broken), 'promise')}: {broken[0].name}",
            hint="keep no memory there: writes would be lost. A newer server, or another, may do",
        )
    return 0
