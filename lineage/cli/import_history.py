"""`lineage import`."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from lineage.app import history_import
from lineage.cli import options
from lineage.cli.output import print_json, print_text
from lineage.pipeline.ingest.history_import import HistoryImport
from lineage.pipeline.ingest.import_sources import ImportRequest, StageProgress, count_sources

_NO_HISTORY = "no harness keeps a history on this machine: name one, and where its files are"


@click.command("import")
@click.argument("harness", metavar="HARNESS")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--dry-run", is_flag=True, help="Count sources and their bytes; read and write nothing.")
@click.option("--jobs", type=click.IntRange(1, 32), metavar="N", help="How many processes; by default up to four.")
@click.option(
    "--agent", "agent_id", metavar="ID", default="default", show_default=True, help="The agent that they belong to."
)
@options.as_json
@options.workspace
def command(
    root: Path, harness: str, paths: Sequence[str], dry_run: bool, jobs: int | None, agent_id: str, as_json: bool
) -> int:
    """Capture the sessions that HARNESS kept before lineage was there: from PATHs, else from where it keeps them.

    `all` means every harness that is found. Each session is captured as of its last record. Importing again adds what
    is new; an import that was cut off goes on where it was. What cannot be read is listed and keeps nothing back.

    \b
    Example:
      lineage import all --dry-run
      lineage import claude-code
      lineage import claude-code ~/.claude/projects/demo --jobs 1
    """
    asked = history_import.build_import_request(harness, paths, agent_id=agent_id, jobs=jobs)
    if dry_run:
        _count(asked, as_json=as_json)
        return 0
    with _progress_bar() as progress:
        imported = history_import.import_history(root, asked, progress)
    if as_json:
        print_json({"dry_run": False, "harnesses": list(map(_as_json, imported))})
    else:
        _print_result(imported)
    return 0


@contextmanager
def _progress_bar() -> Iterator[StageProgress]:
    """A bar for each stage on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda stage, done, total: None
        return
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TaskID

    with Progress(
        *Progress.get_default_columns(), MofNCompleteColumn(), console=Console(stderr=True), transient=True
    ) as bar:
        tasks: dict[str, TaskID] = {}

        def progress(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage)
            bar.update(tasks[stage], completed=done, total=total)

        yield progress


def _as_json(found: HistoryImport) -> dict[str, Any]:
    return {**asdict(found), "problems": [{"path": path, "problem": what} for path, what in found.problems]}


def _count(asked: ImportRequest, *, as_json: bool) -> None:
    """Print how much there is to import."""
    counted = count_sources(asked)
    if as_json:
        print_json({"dry_run": True, "harnesses": list(map(asdict, counted))})
        return
    for one in counted:
        print_text(f"{one.harness:12} {one.sources} sources, {_format_size(one.bytes)}")
    print_text("nothing was written" if counted else _NO_HISTORY)


def _print_result(imported: Sequence[HistoryImport]) -> None:
    for found in imported:
        print_text(
            f"{found.harness:12} {found.sources} sources: {found.captured} sessions captured,"
            f" {found.unchanged} unchanged, {found.refused} refused, {found.empty} empty, {found.failed} failed;"
            f" {found.turns} turns, {found.compactions} compactions"
        )
        if found.unread or found.copies:
            print_text(f"    not read again {found.unread}, copies {found.copies}")
        if found.unsummarized:
            print_text(f"    compactions without a summary {found.unsummarized}")
        if found.skipped:
            print_text("    not turns: " + _format_counts(found.skipped))
        _print_problems(found)
    if not imported:
        print_text(_NO_HISTORY)


def _print_problems(found: HistoryImport) -> None:
    for path, what in found.problems:
        print_text(f"    not read: {what}" if path in what else f"    not read: {path}: {what}")


def _format_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))


def _format_size(size: int) -> str:
    return f"{size / 1_000_000:.1f} MB" if size >= 100_000 else f"{size / 1000:.1f} kB"
