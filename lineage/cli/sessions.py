"""`lineage sessions`."""

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage.cli import options
from lineage.cli.output import print_json, print_text

if TYPE_CHECKING:
    from lineage.index import SessionRow
    from lineage.pipeline.conversations.lanes import LaneState


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
    from lineage.app.workspace import run_in_workspace

    agent_id = None if agent == "all" else agent
    if lane is not None:
        from lineage.pipeline.conversations.lanes import load_lane

        named = lane
        shown = run_in_workspace(root, lambda ws: load_lane(ws, named, agent_id, project=project, limit=limit))
        return _print_lane(shown, as_json=as_json)
    found = run_in_workspace(root, lambda ws: ws.index.list_sessions(agent_id, project=project, limit=limit))
    if as_json:
        print_json({"sessions": [asdict(row) for row in found]})
        return 0
    _print_rows(found)
    if not found:
        print_text("no sessions yet; `lineage session-end --help` says how they come in")
    return 0


def _print_lane(shown: "LaneState", *, as_json: bool) -> int:
    if as_json:
        print_json(asdict(shown))
        return 0
    _print_rows(shown.sessions)
    if shown.current is None:
        print_text(f"no sessions in the lane {shown.lane} yet")
    elif shown.stale:
        print_text(
            f"session {shown.current} is over since {shown.over_at} ({shown.why}): the next message begins another"
        )
    else:
        until = f" until {shown.over_at} ({shown.why})" if shown.over_at else ""
        print_text(f"session {shown.current} goes on{until}, last message {shown.last_message}")
    return 0


def _print_rows(rows: "Iterable[SessionRow]") -> None:
    for row in rows:
        captures = "" if row.captures == 1 else f" · {row.captures} captures"
        print_text(f"{row.membership_ts}  {row.session_id}  {row.harness}  {row.project or '-'}{captures}")
        print_text(f"    {row.memory_sentence}")
