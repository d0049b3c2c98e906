"""`lineage show`."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage.cli import options
from lineage.cli.output import say, say_json

if TYPE_CHECKING:
    from lineage.core.turns import Turn
    from lineage.pipeline.house import House
    from lineage.pipeline.knowledge.bookkeeping import Place
    from lineage.pipeline.lookup import Shown


@click.command("show")
@click.argument("session")
@click.option(
    "--kind",
    type=click.Choice(["summary", "transcript", "compaction", "manifest"]),
    default="summary",
    show_default=True,
)
@click.option("--turns", metavar="A-B", help="Only these turns of the transcript, by number.")
@options.as_json
@options.workspace
def command(root: Path, session: str, kind: str, turns: str | None, as_json: bool) -> int:
    """Print a session: its newest summary, another of its files, or some of its turns.

    SESSION is a session id, key, token, or an unambiguous prefix of one, or the id of an entry, as search gives it.

    \b
    Example:
      lineage show 2489c83d --turns 12-18
    """
    from lineage.app import with_house
    from lineage.pipeline.lookup import Shown

    shown = with_house(root, lambda house: _shown(house, session, kind, turns))
    if not isinstance(shown, Shown):
        return _say_entry(shown, as_json=as_json)
    if as_json:
        value = {"session": asdict(shown.session), "path": shown.path, "text": shown.text}
        say_json({**value, "turns": [_turn(turn) for turn in shown.turns]} if shown.turns else value)
    else:
        say(shown.text.rstrip("\n"))
    return 0


def _shown(house: "House", reference: str, kind: str, turns: str | None) -> "Shown | Place":
    from lineage.cli.turns import turns_of
    from lineage.pipeline.knowledge.bookkeeping import Place
    from lineage.pipeline.lookup import show, show_turns
    from lineage.pipeline.opening import referred

    asked = turns_of(turns) if turns is not None else None
    meant = referred(house, reference)
    if isinstance(meant, Place):
        return meant
    return show_turns(house, meant.session_token, *asked) if asked else show(house, meant.session_token, kind)


def _say_entry(place: "Place", *, as_json: bool) -> int:
    from lineage.cli.book.printing import say_entry

    if as_json:
        say_json({"entry": place.as_json()})
    else:
        say_entry(place)
    return 0


def _turn(turn: "Turn") -> dict[str, object]:
    return {key: getattr(turn, key) for key in ("number", "id", "role", "at", "name", "input", "error", "text")}
