"""`lineage sessions`."""

from dataclasses import asdict
from pathlib import Path

import click

from lineage.cli import options
from lineage.cli.output import say, say_json


@click.command("sessions")
@options.agent
@click.option("--project", metavar="NAME", help="Only sessions of this project: its path or the end of it.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=20, show_default=True, help="How many at most.")
@options.as_json
@options.workspace
def command(root: Path, agent: str, project: str | None, limit: int, as_json: bool) -> int:
    """List sessions, newest first, each with its sentence.

    \b
    Example:
      lineage sessions --project demo --limit 5
    """
    from lineage.app import with_house

    agent_id = None if agent == "all" else agent
    found = with_house(root, lambda house: house.index.sessions(agent_id, project=project, limit=limit))
    if as_json:
        say_json({"sessions": [asdict(row) for row in found]})
        return 0
    for row in found:
        captures = "" if row.captures == 1 else f" · {row.captures} captures"
        say(f"{row.membership_ts}  {row.session_id}  {row.harness}  {row.project or '-'}{captures}")
        say(f"    {row.memory_sentence}")
    if not found:
        say("no sessions yet; `lineage session-end --help` says how they come in")
    return 0
