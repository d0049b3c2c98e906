"""`lineage watch`."""

from pathlib import Path
from typing import Any

import click

from lineage.app import workspace_watcher
from lineage.app.locations import format_location
from lineage.app.machine_config import suppress_hooks
from lineage.cli import options
from lineage.cli.loop_output import print_json_round, print_round, print_round_error, stop_on_sigterm
from lineage.cli.output import print_result, print_text
from lineage.pipeline.maintenance.reindex import ReindexReport


@click.command("watch")
@click.option(
    "--every", type=click.FloatRange(0.1, 86400), metavar="SECONDS", default=60, show_default=True,
    help="How often to look without being told of a change.",
)  # fmt: skip
@click.option("--once", is_flag=True, help="Look once, do what is due, and end.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, without --once one a line.")
@options.workspace
def command(root: Path, every: float, once: bool, as_json: bool) -> int:
    """Keep index and MEMORY.md what the files say, whoever changes these, until it is ended.

    Changes are taken in within about a second; with --every also those that the system did not tell of, and what waits
    in the spool is finished. Where more than half of the files are gone it says so and changes nothing.

    \b
    Example:
      lineage watch --once
    """
    suppress_hooks()
    if once:
        report = workspace_watcher.run_once(root)
        return print_result(_as_json(report), lambda: print_text(_format_line(report)), as_json=as_json)

    def on_report(report: ReindexReport) -> None:
        if as_json:
            print_json_round(_as_json(report))
        else:
            print_round(_format_line(report))

    with workspace_watcher.open_watcher(root) as watcher, stop_on_sigterm(watcher.stop):
        if not as_json:
            print_text(f"watching {format_location(root)}")
        watcher.run(interval_seconds=every, on_report=on_report, on_error=print_round_error)
    return 0


_COUNTS = ("added", "changed", "dropped", "unchanged", "claims_rebuilt", "books")


def _as_json(report: ReindexReport) -> dict[str, Any]:
    return {
        **{name: getattr(report, name) for name in _COUNTS},
        "memory_md": sum(published.written for published in report.published),
        **{name: len(getattr(report, name)) for name in ("problems", "strays", "buried")},
    }


_LABELS = {
    "added": "added",
    "changed": "changed",
    "dropped": "dropped",
    "claims_rebuilt": "claims rebuilt",
    "books": "books brought up to date",
    "memory_md": "MEMORY.md written",
    "problems": "without a row: see `lineage verify`",
    "strays": "not ours, left alone",
    "buried": "of removed sessions, ignored",
}


def _format_line(report: ReindexReport) -> str:
    counts = _as_json(report)
    return ", ".join(f"{counts[name]} {word}" for name, word in _LABELS.items() if counts[name]) or "nothing changed"
