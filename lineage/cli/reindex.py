"""`lineage reindex`."""

from functools import partial
from pathlib import Path
from typing import Any

import click

from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.output import print_json, print_text
from lineage.cli.progress import show_progress
from lineage.core.base.plural import pluralize
from lineage.pipeline.ingest.worker_pool import count_readers, open_worker_pool
from lineage.pipeline.maintenance.finish_pending import finish_pending
from lineage.pipeline.maintenance.partial_reindex import reindex_recent
from lineage.pipeline.maintenance.reindex import ReindexReport, reindex
from lineage.pipeline.search.embeddings import EmbedResult, embed_pending
from lineage.pipeline.search.search import require_semantic
from lineage.workspace.workspace import Workspace


@click.command("reindex")
@click.option("--yes", is_flag=True, help="Go on where more than half of the rows would be dropped.")
@click.option(
    "--jobs", type=click.IntRange(1, 32), metavar="N",
    help="How many processes read what is new, where that is much; by default up to four.",
)  # fmt: skip
@click.option("--recent", is_flag=True, help="List what came lately; compare everything once a day.")
@click.option("--embed", "embeds", is_flag=True, help="Then embed every passage that has no vector yet.")
@options.common
def command(root: Path, yes: bool, jobs: int | None, recent: bool, embeds: bool, as_json: bool) -> int:
    """Make index and MEMORY.md what the files say, hand-edited books too. Unchanged files are not read; it can be cut
    off at any time. An index that is lost is made aside, and takes its place when it is whole; one on a server is
    filled where it is.

    \b
    Example:
      lineage reindex
      lineage reindex --jobs 2
      lineage reindex --recent
    """
    if embeds:  # a missing model fails before the reindex, not after it
        run_in_workspace(root, require_semantic, needs_index=False)
    report = run_in_workspace(root, partial(_reindex, yes=yes, jobs=jobs, recent=recent), needs_index=False)
    embedded = run_in_workspace(root, _embed) if embeds else None
    if as_json:
        print_json({**_as_json(report), **({"vectors": embedded} if embedded else {})})
        return 1 if embedded and embedded.failed else 0
    _print_result(report)
    if embedded:
        _print_embedded(embedded)
    return 1 if embedded and embedded.failed else 0


def _reindex(ws: Workspace, *, yes: bool, jobs: int | None, recent: bool) -> ReindexReport:
    if recent:
        report = reindex_recent(ws, confirmed=yes)
    else:
        with open_worker_pool(jobs or count_readers()) as pool, show_progress("reindex") as progress:
            report = reindex(ws, confirmed=yes, progress=progress, executor=pool.pool)
    finish_pending(ws)  # after the reindex: unfinished jobs then find complete rows
    return report


def _embed(ws: Workspace) -> EmbedResult:
    with show_progress("embed") as progress:
        return embed_pending(ws, progress=progress)  # without a bound: the user waits for it


def _as_json(report: ReindexReport) -> dict[str, Any]:
    counts = ("added", "changed", "touched", "dropped", "unchanged", "books", "claims_rebuilt")
    return {
        **{name: getattr(report, name) for name in counts},
        "problems": [{"path": path, "problem": what} for path, what in report.problems],
        "broken_links": [{"manifest": manifest, "missing": path} for manifest, path in report.broken],
        "strays": report.strays,
        "buried": report.buried,
        "memory_md": [
            {"agent_id": p.agent_id, "written": p.written, "rows": p.rows, "of": p.total, "future": p.future}
            for p in report.published
        ],
    }


def _print_result(report: ReindexReport) -> None:
    print_text(
        f"{report.added} added, {report.changed} changed, {report.dropped} dropped, {report.unchanged} unchanged,"
        f" {report.touched} touched but the same"
    )
    if report.books:
        print_text(f"{pluralize(report.books, 'book')} brought up to date")
    if report.claims_rebuilt:
        print_text(f"{report.claims_rebuilt} lost claims rebuilt")
    for path, what in report.problems:
        print_text(f"no row for {path}: {what.removeprefix(path + ': ')}")
    for manifest, path in report.broken:
        print_text(f"{manifest} names {path}, which is not there")
    for path in report.strays:
        print_text(f"not ours, left alone: {path}")
    for path in report.buried:
        print_text(f"of a removed session, ignored: {path}")
    if report.problems or report.broken:
        print_text("`lineage verify` names the command that mends each")


def _print_embedded(result: EmbedResult) -> None:
    dropped = f", {pluralize(result.dropped, 'vector')} dropped" if result.dropped else ""
    print_text(f"{pluralize(result.embedded, 'passage')} embedded, {result.reused} had a vector{dropped}")
    if result.failed:
        print_text(f"ended early: {result.failed}; {pluralize(result.left, 'file')} left, run it again")
