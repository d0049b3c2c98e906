"""`lineage reindex`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lineage.cli import options
from lineage.cli.output import say, say_json
from lineage.core.wording import counted
from lineage.errors import InvalidInput

if TYPE_CHECKING:
    from lineage.pipeline.house import House
    from lineage.pipeline.upkeep.reindexing import Report


@click.command("reindex")
@click.option("--yes", is_flag=True, help="Go on where more than half of the rows would be dropped.")
@click.option("--recent", is_flag=True, help="List what came lately; compare everything once a day.")
@click.option("--shard", metavar="I/N", help="Make the rows of one of N shares, on a server that all shares fill.")
@options.as_json
@options.workspace
def command(root: Path, yes: bool, recent: bool, shard: str | None, as_json: bool) -> int:
    """Make index and MEMORY.md what the files say, hand-edited books too. Unchanged files are not read; it can be cut
    off at any time. When all shares are done, `lineage reindex` without one finishes what they began.

    \b
    Example:
      lineage reindex
      lineage reindex --recent
      lineage reindex --shard 1/2
    """
    from lineage.app import with_house

    if recent and shard:
        raise InvalidInput("a share of what came lately is not made", hint="give --recent or --shard, not both")
    if shard:
        report = with_house(root, lambda house: _share(house, shard), needs_index=False)
    else:
        report = with_house(root, lambda house: _reindexed(house, yes=yes, recent=recent), needs_index=False)
    if as_json:
        say_json(_as_json(report))
    else:
        _say(report)
    return 0


def _share(house: "House", text: str) -> "Report":
    from lineage.core.sharding import share
    from lineage.pipeline.upkeep.synchronizing import take_in_share

    return take_in_share(house, share(text))


def _reindexed(house: "House", *, yes: bool, recent: bool) -> "Report":
    """Reindexes with a bar on a terminal; what the spool says is unfinished is finished on rows that are complete."""
    from lineage.pipeline.upkeep.recovery import resume
    from lineage.pipeline.upkeep.reindexing import reindex
    from lineage.pipeline.upkeep.synchronizing import synced

    if recent:
        report = synced(house, confirmed=yes)
    elif not sys.stderr.isatty():
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
