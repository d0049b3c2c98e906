"""`lineage sessions`."""

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage.cli import options
from lineage.cli.output import say, say_json

if TYPE_CHECKING:
    from lineage.index import SessionRow
    from lineage.pipeline.people.lanes import LaneShown


@click.command("sessions")
@options.agent
@click.option("--project", metavar="NAME", help="Only sessions of this project: its path or the end of it.")
@click.option("--lane", metavar="LANE", help="Only sessions of this lane, and whether the next message begins another.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=20, show_default=True, help="How many at most.")
@options.as_json
@options.workspace
def command(root: Path, agent: str, project: str | None, lane: str | None, limit: int, as_json: bool) -> int:
    """List sessions, newest first, each with its sentence.

    \b
    Example:
      lineage sessions --project demo --limit 5
      lineage sessions --lane home:telegram:dm:123
    """
    from lineage.app import with_house

    agent_id = None if agent == "all" else agent
    if lane is not None:
        from lineage.pipeline.people.lanes import show_lane

        named = lane
        shown = with_house(root, lambda house: show_lane(house, named, agent_id, project=project, limit=limit))
        return _report_lane(shown, as_json=as_json)
    found = with_house(root, lambda house: house.index.sessions(agent_id, project=project, limit=limit))
    if as_json:
        say_json({"sessions": [asdict(row) for row in found]})
        return 0
    _say_rows(found)
    if not found:
        say("no sessions yet; `lineage session-end --help` says how they come in")
    return 0


def _report_lane(shown: "LaneShown", *, as_json: bool) -> int:
    if as_json:
        say_json(asdict(shown))
        return 0
    _say_rows(shown.sessions)
    if shown.current is None:
        say(f"no sessions in the lane {shown.lane} yet")
    elif shown.stale:
        say(f"session {shown.current} is over since {shown.over_at} ({shown.why}): the next message begins another")
    else:
        until = f" until {shown.over_at} ({shown.why})" if shown.over_at else ""
        say(f"session {shown.current} goes on{until}, last message {shown.last_message}")
    return 0


def _say_rows(rows: "Iterable[SessionRow]") -> None:
    for row in rows:
        captures = "" if row.captures == 1 else f" · {row.captures} captures"
        say(f"{row.membership_ts}  {row.session_id}  {row.harness}  {row.project or '-'}{captures}")
        say(f"    {row.memory_sentence}")
