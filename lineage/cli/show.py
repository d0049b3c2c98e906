"""`lineage show`."""

import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage.cli import options
from lineage.cli.output import say, say_json
from lineage.errors import InvalidInput

if TYPE_CHECKING:
    from lineage.pipeline.house import House
    from lineage.pipeline.lookup import Shown

_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


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

    SESSION is a session id, key, token, or an unambiguous prefix of one.

    \b
    Example:
      lineage show 2489c83d --turns 12-18
    """
    from lineage.app import with_house

    shown = with_house(root, lambda house: _shown(house, session, kind, turns))
    if as_json:
        value = {"session": asdict(shown.session), "path": shown.path, "text": shown.text}
        say_json({**value, "turns": [_turn(turn) for turn in shown.turns]} if shown.turns else value)
    else:
        say(shown.text.rstrip("\n"))
    return 0


def _shown(house: "House", session: str, kind: str, turns: str | None) -> "Shown":
    from lineage.pipeline.lookup import show, show_turns

    if turns is None:
        return show(house, session, kind)
    match = _RANGE.fullmatch(turns)
    if match is None:
        raise InvalidInput(f"not a range of turns: {turns[:40]!r}", hint="for example --turns 12-18")
    return show_turns(house, session, int(match[1]), int(match[2] or match[1]))


def _turn(turn: object) -> dict[str, object]:
    values = asdict(turn)  # type: ignore[call-overload]
    return {key: values[key] for key in ("number", "id", "role", "at", "name", "input", "error", "text")}
