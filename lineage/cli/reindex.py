"""`lineage reindex`."""

import os
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lineage.cli import options
from lineage.cli.output import say, say_json
from lineage.core.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from lineage.pipeline.embedding import Embedded
    from lineage.pipeline.house import House
    from lineage.pipeline.upkeep.reindexing import Report

_MOST_JOBS = 4


@click.command("reindex")
@click.option("--yes", is_flag=True, help="Go on where more than half of the rows would be dropped.")
@click.option(
    "--jobs",
    type=click.IntRange(1, 32),
    metavar="N",
    help="How many processes read what is new, where that is much; by default up to four.",
)
@click.option("--recent", is_flag=True, help="List what came lately; compare everything once a day.")
@click.option("--embed", "embeds", is_flag=True, help="Then embed every passage that has no vector yet.")
@options.as_json
@options.workspace
def command(
    root: Path,
    yes: bool,
    jobs: int | None,
    recent: bool,
    embeds: bool,
    as_json: bool,
) -> int:
    """Make index and MEMORY.md what the files say, hand-edited books too. Unchanged files are not read; it can be cut
    off at any time. An index that is lost is made aside, and takes its place when it is whole; one on a server is
    filled where it is.

    \b
    Example:
      lineage reindex
      lineage reindex --jobs 2
      lineage reindex --recent
    """
    from lineage.app import with_house

    if embeds:
        _check_embedding(root)
    report = with_house(root, partial(_reindexed, yes=yes, jobs=jobs, recent=recent), needs_index=False)
    made = with_house(root, _embedded) if embeds else None
    if as_json:
        say_json({**_as_json(report), **({"vectors": asdict(made)} if made else {})})
    else:
        _say(report)
        _say_embedded(made)
    return 1 if made and made.failed else 0


def _check_embedding(root: Path) -> None:
    """Raises InvalidInput where no model is configured, ExtraMissing where what it needs is not installed."""
    from lineage.app import with_house
    from lineage.pipeline.finding import check

    with_house(root, check, needs_index=False)


def _embedded(house: "House") -> "Embedded":
    """Embeds with a bar on a terminal, and without a bound: somebody waits for it."""
    from lineage.pipeline.embedding import embed

    if not sys.stderr.isatty():
        return embed(house)
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("embed", total=None)
        return embed(house, progress=lambda done, total: bar.update(task, completed=done, total=total))


def _say_embedded(made: "Embedded | None") -> None:
    if made is None:
        return
    dropped = f", {counted(made.dropped, 'vector')} dropped" if made.dropped else ""
    say(f"{counted(made.embedded, 'passage')} embedded, {made.reused} had a vector{dropped}")
    if made.failed:
        say(f"ended early: {made.failed}; {counted(made.left, 'file')} left, run it again")


def _reindexed(house: "House", *, yes: bool, jobs: int | None, recent: bool) -> "Report":
    """Reindexes with a bar on a terminal; what the spool says is unfinished is finished on rows that are complete."""
    from lineage.pipeline.upkeep.resuming import resume
    from lineage.pipeline.upkeep.synchronizing import synced

    processes = jobs or min(os.cpu_count() or 1, _MOST_JOBS)
    by = partial(_reindexed_by, house, yes, processes)
    if recent:
        report = synced(house, confirmed=yes)
    elif not sys.stderr.isatty():
        report = by(None)
    else:
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("reindex", total=None)
            report = by(lambda done, total: bar.update(task, completed=done, total=total))
    resume(house)
    return report


def _reindexed_by(house: "House", yes: bool, processes: int, progress: "Callable[[int, int], None] | None") -> "Report":
    from lineage.pipeline.incoming.parallel import workers
    from lineage.pipeline.upkeep.reindexing import reindex

    with workers(processes) as pool:
        return reindex(house, confirmed=yes, progress=progress, executor=pool.pool)


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
