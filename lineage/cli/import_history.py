"""`lineage import`."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from lineage.app import history_import
from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.output import format_counts, print_result, print_text, show_stages
from lineage.core.base.plural import pluralize
from lineage.harness.unread import UnreadStore
from lineage.pipeline.ingest.history_import import HistoryImport
from lineage.workspace.lookup import describe_unshown

_NO_HISTORY = "no harness keeps a history on this machine: name one, and where its files are"


@options.command("import", writes=True)
@click.argument("harness", metavar="HARNESS")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--dry-run", is_flag=True, help="Count what would come; write nothing. Takes as long as the import.")
@click.option("--jobs", type=click.IntRange(1, 32), metavar="N", help="How many processes; by default up to four.")
@click.option("--newest", type=click.IntRange(min=1), metavar="N", help="Only the newest N sessions.")
@click.option(
    "--agent", "agent_id", metavar="ID", default="default", show_default=True, help="The agent that they belong to."
)
def command(
    root: Path,
    harness: str,
    paths: Sequence[str],
    dry_run: bool,
    jobs: int | None,
    newest: int | None,
    agent_id: str,
    as_json: bool,
) -> int:
    """Capture the earlier sessions of HARNESS, from PATHs or from its own folders.

    `all` means every harness on this machine. The newest sessions come first. Import again to add what is new,
    or to continue after an interruption. Files that can't be read are listed.

    \b
    Example:
      lineage import all --dry-run
      lineage import claude-code
      lineage import claude-code ~/.claude/projects/demo --jobs 1
    """
    request = history_import.build_import_request(harness, paths, agent_id=agent_id, jobs=jobs, newest=newest)
    unread = history_import.list_unread(request)
    with show_stages() as progress:
        imports = history_import.import_history(root, request, progress, dry_run=dry_run)
    value = {"dry_run": dry_run, "harnesses": list(map(_as_json, imports)), "unread": unread}
    print_result(value, lambda: _print_result(imports, unread, dry_run=dry_run), as_json=as_json)
    if not (dry_run or as_json) and (unshown := run_in_workspace(root, describe_unshown)):
        print_text(unshown)
    return 0


def _as_json(result: HistoryImport) -> dict[str, Any]:
    return {**asdict(result), "problems": [{"path": path, "problem": what} for path, what in result.problems]}


def _print_result(imports: Sequence[HistoryImport], unread: Sequence[UnreadStore], *, dry_run: bool) -> None:
    for result in imports:
        print_text(
            f"{result.harness:12} {pluralize(result.sources, 'source')}, {result.bytes / 1_000_000:.1f} MB:"
            f" {pluralize(result.captured, 'session')} {'to capture' if dry_run else 'captured'},"
            f" {result.unchanged} unchanged, {result.refused} refused, {result.empty} empty, {result.failed} failed;"
            f" {pluralize(result.turns, 'turn')}, {pluralize(result.compactions, 'compaction')}"
        )
        if result.sub_agents or result.private:
            print_text(f"    of them of sub-agents {result.sub_agents}, private {result.private}")
        if result.unread or result.copies:
            print_text(f"    not read again {result.unread}, copies {result.copies}")
        if result.unsummarized:
            print_text(f"    compactions without a summary {result.unsummarized}")
        if result.skipped:
            print_text("    skipped records: " + format_counts(result.skipped))
        for path, what in result.problems:
            print_text(f"    not read: {what}" if path in what else f"    not read: {path}: {what}")
    for store in unread:
        print_text(store.describe())
    if not imports:
        print_text(_NO_HISTORY)
    elif dry_run:
        print_text("nothing was written")
