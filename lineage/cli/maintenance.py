"""The commands of maintenance: `verify`, `recover`, `render`, `reindex`, `resanitize` and `archive`."""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click

from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.output import (
    format_counts,
    print_json,
    print_result,
    print_text,
    show_progress,
)
from lineage.cli.typed_names import project_filter
from lineage.core.base.naming import memory_md_path, validate_agent_id
from lineage.core.base.plural import pluralize
from lineage.errors import FindingsReported, InvalidInput
from lineage.pipeline.ingest.worker_pool import count_readers, open_worker_pool
from lineage.pipeline.maintenance.archive import archive
from lineage.pipeline.maintenance.finish_pending import finish_pending
from lineage.pipeline.maintenance.partial_reindex import reindex_recent
from lineage.pipeline.maintenance.recover import recover
from lineage.pipeline.maintenance.reindex import ReindexReport, reindex, sync_rows
from lineage.pipeline.maintenance.resanitize import ResanitizeResult, resanitize
from lineage.pipeline.maintenance.scoped_reindex import ReindexScope, reindex_scope
from lineage.pipeline.maintenance.upgrade import UpgradeReport, upgrade
from lineage.pipeline.maintenance.verify import verify
from lineage.store.modes import set_modes
from lineage.workspace.publish import PublishResult, publish_all
from lineage.workspace.workspace import Workspace


@options.command("verify")
def verify_command(root: Path, as_json: bool) -> int:
    """Check every promise of the format: checksums, frontmatter, identity, links, rows, MEMORY.md.

    MUST findings mean lost or leaked data, SHOULD findings a rebuild. Exit code 4 where there are any.

    \b
    Example:
      lineage verify --json
    """
    findings = run_in_workspace(root, verify)
    options.note_run().counts["findings"] = len(findings)
    if as_json:
        print_json({"findings": findings})
    else:
        for finding in findings:
            print_text(f"{finding.level:6} {finding.path}\n       {finding.what}\n       → {finding.mend}")
        print_text(pluralize(len(findings), "finding") if findings else "no problems found")
    return FindingsReported.exit_code if findings else 0


@options.command("recover", writes=True)
def recover_command(root: Path, as_json: bool) -> int:
    """Finish what a crash left unfinished. Running it again changes nothing.

    \b
    Example:
      lineage admin recover
    """
    result = run_in_workspace(root, recover, in_place=True)
    if as_json:
        print_json({key: value for key, value in vars(result).items() if key != "report"})
        return 0
    for path in result.finished:
        print_text(f"finished {path}")
    for token in result.removals:
        print_text(f"finished the removal of {token}")
    for token in result.resanitized:
        print_text(f"finished the redaction of {token}")
    for path in result.merged:
        print_text(f"merged {path} into the session's older manifest")
    for name, why in result.waiting:
        print_text(f"still waiting: {name}: {why}")
    if result.collected:
        print_text(f"collected {result.collected} files that dead writers left behind")
    for path, what in result.report.problems:
        print_text(f"damaged: {what if what.startswith(path) else f'{path}: {what}'}")
    problems = result.report.problems
    lists = (result.finished, result.removals, result.resanitized, result.merged, result.waiting, problems)
    if not (any(lists) or result.collected):
        print_text("nothing was unfinished")
    return 0


@options.command("render", writes=True)
def render_command(root: Path, as_json: bool) -> int:
    """Write MEMORY.md of every agent again; a file that would stay the same is not touched.

    \b
    Example:
      lineage admin render
    """
    published = run_in_workspace(root, _render_all, writes=True)
    if as_json:
        rows = [{"agent_id": p.agent_id, "path": memory_md_path(p.agent_id)} | _row_counts(p) for p in published]
        print_json({"memory_md": rows})
        return 0
    for p in published:
        done = "written" if p.written else "unchanged"
        future = f", {p.future} with a time in the future left out" if p.future else ""
        print_text(f"{memory_md_path(p.agent_id)}: {p.rows} of {p.total} rows, {done}{future}")
    return 0


def _row_counts(published: PublishResult) -> dict[str, Any]:
    return {"written": published.written, "rows": published.rows, "of": published.total, "future": published.future}


def _render_all(ws: Workspace) -> list[PublishResult]:
    sync_rows(ws)
    return publish_all(ws)


@options.command("reindex", writes=True)
@click.option("--yes", is_flag=True, help="Go on even if more than half of the rows would be dropped.")
@click.option(
    "--jobs", type=click.IntRange(1, 32), metavar="N",
    help="How many processes read many new files; by default up to four, on two processors one.",
)  # fmt: skip
@click.option("--recent", is_flag=True, help="List recent files only; compare everything once a day.")
@click.option("--agent", metavar="ID", help="Only this agent's sessions: their files are read again, changed or not.")
@project_filter("Only sessions of a project: a folder of it, its name, or owner/name.")
def reindex_command(
    root: Path, yes: bool, jobs: int | None, recent: bool, agent: str | None, project: str | None, as_json: bool
) -> int:
    """Bring index and MEMORY.md up to date with the files, edited books included. It reads changed files only,
    and you can interrupt it. A lost index is built beside the old place and takes it when it is whole. With
    --agent or --project it reads every file of that scope again.

    \b
    Example:
      lineage reindex
      lineage reindex --agent default
      lineage reindex --jobs 2
      lineage reindex --recent
    """
    scope = ReindexScope(validate_agent_id(agent) if agent else None, project)
    if recent and scope != ReindexScope():
        raise InvalidInput("--recent lists what came lately, of all agents", hint="leave it out, or the scope")
    reindex_all = partial(_reindex, yes=yes, jobs=jobs, recent=recent, scope=scope)
    report = run_in_workspace(root, reindex_all, needs_index=False, in_place=True)
    counts = {name: getattr(report, name) for name in ("added", "changed", "dropped", "unchanged")}
    options.note_run().counts.update(counts, problems=len(report.problems))
    return print_result(_reindex_as_json(report), lambda: _print_reindex(report), as_json=as_json)


def _reindex(ws: Workspace, *, yes: bool, jobs: int | None, recent: bool, scope: ReindexScope) -> ReindexReport:
    if recent:
        report = reindex_recent(ws, confirmed=yes)
    else:
        with open_worker_pool(jobs or count_readers()) as pool, show_progress("reindex") as progress:
            run = reindex if scope == ReindexScope() else partial(reindex_scope, scope=scope)
            report = run(ws, confirmed=yes, progress=progress, executor=pool.pool)
    finish_pending(ws)  # after the reindex: unfinished jobs then find complete rows
    return report


def _reindex_as_json(report: ReindexReport) -> dict[str, Any]:
    counts = ("added", "changed", "touched", "dropped", "unchanged", "books", "claims_rebuilt")
    return {
        **{name: getattr(report, name) for name in counts},
        "problems": [{"path": path, "problem": what} for path, what in report.problems],
        "broken_links": [{"manifest": manifest, "missing": path} for manifest, path in report.broken],
        "strays": report.strays,
        "buried": report.buried,
        "memory_md": [{"agent_id": p.agent_id} | _row_counts(p) for p in report.published],
    }


def _print_reindex(report: ReindexReport) -> None:
    print_text(
        f"{report.added} added, {report.changed} changed, {report.dropped} dropped, {report.unchanged} unchanged,"
        f" {report.touched} with a new time only"
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


@options.command("upgrade", writes=True)
@click.option("--dry-run", is_flag=True, help="Show what would change; write nothing.")
def upgrade_command(root: Path, dry_run: bool, as_json: bool) -> int:
    """Bring manifests, books and MEMORY.md to today's format, and files to their modes.

    Transcripts, summaries and compactions never change, and stay readable whatever their format. Running it
    again changes nothing.

    \b
    Example:
      lineage admin upgrade --dry-run
    """
    modes = set_modes(root, dry_run=dry_run)  # before a file is read: what others can read waits for nothing
    report = run_in_workspace(root, partial(upgrade, dry_run=dry_run), writes=not dry_run)
    value = {"dry_run": dry_run, "modes": modes, **asdict(report)}
    return print_result(value, lambda: _print_upgrade(report, modes, dry_run=dry_run), as_json=as_json)


def _print_upgrade(report: UpgradeReport, modes: list[str], *, dry_run: bool) -> None:
    done = "to upgrade" if dry_run else "upgraded"
    for noun, paths in (("manifest", report.manifests), ("book", report.books), ("projection", report.projections)):
        if paths:
            print_text(f"{pluralize(len(paths), noun)} {done}")
    if modes:
        print_text(f"{pluralize(len(modes), 'mode')} {'to mend' if dry_run else 'mended'}: who may read")
    for number, count in sorted(report.immutable.items()):
        print_text(f"{pluralize(count, 'file')} of format {number}: immutable, and read for ever")
    for path, what in report.problems:
        print_text(f"left alone: {what if what.startswith(path) else f'{path}: {what}'}")
    print_text(f"format {report.format}: {pluralize(report.unchanged, 'other file')} had it already")


@options.command("resanitize", writes=True)
@click.option("--dry-run", is_flag=True, help="Show by file and rule what would be redacted; write nothing.")
def resanitize_command(root: Path, dry_run: bool, as_json: bool) -> int:
    """Redact saved files by today's rules.

    Artifacts in which today's rules find something are replaced in place; the manifest records the old and the new
    hash, the old text goes from the databases. Entries of books are redacted too; your text between them stays.
    Copies outside of the workspace and git history stay as they are.

    \b
    Example:
      lineage admin resanitize --dry-run
      lineage admin resanitize
    """
    result = run_in_workspace(
        root, lambda ws: resanitize(ws, dry_run=dry_run), writes=not dry_run, needs_index=not dry_run
    )
    return print_result(result, lambda: _print_resanitize(result), as_json=as_json)


def _print_resanitize(result: ResanitizeResult) -> None:
    replaced = "would be replaced" if result.dry_run else "replaced"
    for record in result.replaced:
        print_text(f"{replaced}: {record.path} ({record.old_version} → {record.new_version})")
        print_text(f"  {format_counts(result.by_file[record.path])}")
    for path in result.books:
        print_text(f"{'would be redacted' if result.dry_run else 'redacted'}: entries of {path}")
        print_text(f"  {format_counts(result.by_file[path])}")
    for path, what in result.problems:
        print_text(f"damaged: {what if what.startswith(path) else f'{path}: {what}'}")
    if result.redactions:
        print_text(f"redacted: {format_counts(result.redactions)}")
    files = pluralize(len(result.replaced), "file")
    print_text(f"{files} {replaced}, {result.unchanged} held nothing to redact ({result.version})")
    if result.replaced and not result.dry_run:
        print_text(
            "lineage can't redact copies elsewhere: git history, versions in a bucket, the harness's own transcripts"
        )


@options.command("archive", writes=True)
@click.option("--before", metavar="DATE", required=True, help="A UTC day; sessions that ended before it are archived.")
@click.option("--dry-run", is_flag=True, help="Show what would be archived, and change nothing.")
def archive_command(root: Path, before: str, dry_run: bool, as_json: bool) -> int:
    """Pack sessions that ended before DATE into one folder a month.

    Transcripts, summaries and compactions go into bundles, byte for byte; notes stay, so that links work. All
    commands still find them. DATE is at least 30 days ago.

    \b
    Example:
      lineage archive --before 2026-01-01 --dry-run
      lineage archive --before 2026-01-01
    """
    result = run_in_workspace(root, lambda ws: archive(ws, before, dry_run=dry_run), writes=not dry_run)
    if as_json:
        print_json(result)
        return 0
    archived = "would be archived" if result.dry_run else "archived"
    for month, count in sorted(result.months.items()):
        print_text(f"{archived}: {pluralize(count, 'file')} of {month}")
    for path, what in result.problems:
        print_text(f"stays: {what if what.startswith(path) else f'{path}: {what}'}")
    for reason, count in sorted(result.left.items()):
        print_text(f"left in memory/: {pluralize(count, 'file')}, {reason}")
    size = f"{result.bytes / 1_000_000:.1f} MB"
    print_text(f"{pluralize(result.artifacts, 'file')} of {pluralize(result.sessions, 'session')} {archived} ({size})")
    return 0
