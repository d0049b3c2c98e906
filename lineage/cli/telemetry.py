"""`lineage admin telemetry`."""

from pathlib import Path

import click

from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.lazy import HelpfulGroup
from lineage.cli.output import format_counts, print_result, print_text


@click.group("telemetry", cls=HelpfulGroup)
def command() -> None:
    """Counters of this workspace: captures, turns, redactions, sessions shown. `lineage status` prints them.

    \b
    Example:
      lineage admin telemetry reset --yes
    """


@options.command("reset", command, writes=True)
@click.option("--yes", is_flag=True, help="Do not ask.")
def reset(root: Path, yes: bool, as_json: bool) -> int:
    """Set the counters to zero. No session, file or row of the index changes, and what was counted is not counted
    again.

    State stays: sessions known from hooks, imported files, the last render, and today's calls of language models,
    which count towards the day's limit.

    \b
    Example:
      lineage admin telemetry reset --yes
    """
    question = "Set all counters of this workspace to zero? No file knows them."
    options.confirm(question, yes=yes, what="a reset")
    counters = run_in_workspace(root, lambda ws: ws.telemetry.reset(ws.now[:10]), writes=True)
    lines = f"set to zero: {format_counts(counters) or 'nothing was counted'}"
    return print_result({"counters": counters}, lambda: print_text(lines), as_json=as_json)
