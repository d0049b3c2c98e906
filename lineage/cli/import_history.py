"""`lineage import`."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lineage.cli import options
from lineage.cli.output import say, say_json

if TYPE_CHECKING:
    from lineage.pipeline.incoming.history import Progress, Wanted
    from lineage.pipeline.incoming.importing import Imported

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
    from lineage.app import history

    asked = history.wanted(harness, paths, agent_id=agent_id, jobs=jobs)
    if dry_run:
        _count(asked, as_json=as_json)
        return 0
    with _bar() as progress:
        imported = history.import_history(root, asked, progress)
    if as_json:
        say_json({"dry_run": False, "harnesses": list(map(_one, imported))})
    else:
        _say(imported)
    return 0


@contextmanager
def _bar() -> "Iterator[Progress]":
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


def _one(found: "Imported") -> dict[str, Any]:
    return {**asdict(found), "problems": [{"path": path, "problem": what} for path, what in found.problems]}


def _count(asked: "Wanted", *, as_json: bool) -> None:
    """Print how much there is to import."""
    from lineage.pipeline.incoming.history import count_sources

    counted = count_sources(asked)
    if as_json:
        say_json({"dry_run": True, "harnesses": list(map(asdict, counted))})
        return
    for one in counted:
        say(f"{one.harness:12} {one.sources} sources, {_size(one.bytes)}")
    say("nothing was written" if counted else _NO_HISTORY)


def _say(imported: "Sequence[Imported]") -> None:
    for found in imported:
        say(
            f"{found.harness:12} {found.sources} sources: {found.captured} sessions captured,"
            f" {found.unchanged} unchanged, {found.refused} refused, {found.empty} empty, {found.failed} failed;"
            f" {found.turns} turns, {found.compactions} compactions"
        )
        if found.unread or found.copies:
            say(f"    not read again {found.unread}, copies {found.copies}")
        if found.unsummarized:
            say(f"    compactions without a summary {found.unsummarized}")
        if found.skipped:
            say("    not turns: " + _counts(found.skipped))
        _say_problems(found)
    if not imported:
        say(_NO_HISTORY)


def _say_problems(found: "Imported") -> None:
    for path, what in found.problems:
        say(f"    not read: {what}" if path in what else f"    not read: {path}: {what}")


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))


def _size(size: int) -> str:
    return f"{size / 1_000_000:.1f} MB" if size >= 100_000 else f"{size / 1000:.1f} kB"
