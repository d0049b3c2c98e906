"""`lineage reindex`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lineage.cli import options
from lineage.cli.output import say, say_json
from lineage.core.wording import counted

if TYPE_CHECKING:
    from lineage.pipeline.house import House
    from lineage.pipeline.upkeep.reindexing import Report


@click.command("reindex")
@click.option("--yes", is_flag=True, help="Go on where more than half of the rows would be dropped.")
@options.as_json
@options.workspace
def command(root: Path, yes: bool, as_json: bool) -> int:
    """Make index and MEMORY.md what the files say, hand-edited books too. Unchanged files are not read; it can be cut
    off at any time.

    \b
    Example:
      lineage reindex
    """
    from lineage.app import with_house

    report = with_house(root, lambda house: _reindexed(house, yes=yes), needs_index=False)
    if as_json:
        say_json(_as_json(report))
    else:
        _say(report)
    return 0


def _reindexed(house: "House", *, yes: bool) -> "Report":
    """Reindexes with a bar on a terminal; what the spool says is unfinished is finished on rows that are complete."""
    from lineage.pipeline.upkeep.recovery import resume
    from lineage.pipeline.upkeep.reindexing import reindex

    if not sys.stderr.isatty():
        report = reindex(house, confirmed=yes)
    else:
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("reindex", total=None)
            report = reindex(
                house, confirmed=yes, progress=lambda done, total: bar.update(task, completed=done, total=total)
            )
    resume(house)
    return report


def _as_json(report: "Report") -> dict[str, Any]:
    counts = ("added", "changed", "touched", "dropped", "unchanged", "books", "claims_rebuilt")
    return {
        **{name: getattr(report, name) for name in counts},
        "problems": [{"path": path, "problem": what} for path, what in report.problems],
        "broken_links": [{"manifest": manifest, "missing": path} for manifest, path in report.broken],
        "strays": report.strays,
        "buried": report.buried,
        "memory_md": [
            {"agent_id": p.agent_id, "written": p.written, "rows": p.kept, "of": p.total, "future": p.future}
            for p in report.published
        ],
    }


def _say(report: "Report") -> None:
    say(
        f"{report.added} added, {report.changed} changed, {report.dropped} dropped, {report.unchanged} unchanged,"
        f" {report.touched} touched but the same"
    )
    if report.books:
        say(f"{counted(report.books, 'book')} brought up to date")
    if report.claims_rebuilt:
        say(f"{report.claims_rebuilt} lost claims rebuilt")
    for path, what in report.problems:
        say(f"no row for {path}: {what.removeprefix(path + ': ')}")
    for manifest, path in report.broken:
        say(f"{manifest} names {path}, which is not there")
    for path in report.strays:
        say(f"not ours, left alone: {path}")
    for path in report.buried:
        say(f"of a removed session, ignored: {path}")
    if report.problems or report.broken:
        say("`lineage verify` names the command that mends each")
