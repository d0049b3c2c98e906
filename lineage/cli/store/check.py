"""`lineage store check`."""

import click

from lineage.cli import options
from lineage.cli.output import say, say_json
from lineage.core.wording import counted
from lineage.errors import Problems


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
    from lineage.app.places import store_named
    from lineage.store.probing import probed

    promises = []
    for promise in probed(store_named(where), processes):
        promises.append(promise)
        if not as_json:
            say(
                f"{'broken' if promise.broken else 'kept  '}  {promise.name}"
                + f": {promise.broken}" * bool(promise.broken)
            )
    broken = [promise for promise in promises if promise.broken]
    if as_json:
        found = [{"promise": promise.name, "broken": promise.broken or None} for promise in promises]
        say_json({"store": where, "processes": processes, "promises": found, "usable": not broken})
    if broken:
        raise Problems(
            f"{where} breaks {counted(len(broken), 'promise')}: {broken[0].name}",
            hint="keep no memory there: writes would be lost. A newer server, or another, may do",
        )
    return 0
