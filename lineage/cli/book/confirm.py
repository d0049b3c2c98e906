"""`lineage book confirm`."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage.cli import options
from lineage.cli.output import say, say_json
from lineage.errors import InvalidInput

if TYPE_CHECKING:
    from lineage.pipeline.knowledge.confirming import Evidence


@click.command("confirm")
@click.argument("entry_ids", metavar="ID...", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.as_json
@options.workspace
def command(root: Path, entry_ids: Sequence[str], yes: bool, as_json: bool) -> int:
    """Put in force what waits: each entry is shown with the words it came from and a link to them, then asked about.

    Only you can confirm, no agent. `lineage book list --pending` names what waits.

    \b
    Example:
      lineage book confirm 77ab 0c3e
    """
    from lineage.app import caller, with_house
    from lineage.pipeline.knowledge.bookkeeping import refuse_agents
    from lineage.pipeline.knowledge.confirming import confirm, evidence

    refuse_agents(caller(), "confirm what waits for the user")
    shown = with_house(root, lambda house: evidence(house, entry_ids))
    if not yes and (as_json or not sys.stdin.isatty()):
        raise InvalidInput("this has to be confirmed", hint=f"`lineage book confirm {' '.join(entry_ids)} --yes`")
    agreed = [one for one in shown if as_json or _is_agreed(one, yes=yes)]
    places = with_house(root, lambda house: confirm(house, agreed, caller()), writes=True)
    if as_json:
        keys = [{"quote": one.quote, "role": one.role, "said_at": one.said_at} for one in agreed]
        say_json({"confirmed": [place.as_json() | more for place, more in zip(places, keys, strict=True)]})
    else:
        for place in places:
            say(f"confirmed: {place.entry.id}, {place.ref.kind} of {place.ref.scope} ({place.ref.path})")
    return 0


def _is_agreed(one: "Evidence", *, yes: bool) -> bool:
    _say(one)
    return yes or click.confirm(f"Put {one.place.entry.id} in force?")


def _say(one: "Evidence") -> None:
    entry, ref = one.place.entry, one.place.ref
    say(f"{entry.id}  {ref.kind} of {ref.scope}, {entry.at[:10]}")
    _indented("says", entry.body)
    _indented("came from", one.quote)
    said = " ".join(filter(None, (one.role, one.said_at)))
    say(f"  in: {one.link or 'no file: an agent asked for it by `lineage remember`'}{f' ({said})' if said else ''}")
    for text in one.replaces:
        _indented("takes the place of", text)


def _indented(label: str, text: str) -> None:
    say(f"  {label}:")
    for line in text.split("\n"):
        say(f"    | {line}".rstrip())
