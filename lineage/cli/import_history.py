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
from lineage.pipeline.maintenance.findings import RESTORE
from lineage.workspace.lookup import describe_unshown

_LOGGED = ("sources", "captured", "unchanged", "refused", "empty", "failed", "turns", "compactions")
_NO_HISTORY = "no harness has sessions on this machine: `lineage import HARNESS PATH` reads them from a place of yours"


@options.command("import", writes=True)
@click.argument("harness", metavar="HARNESS")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--dry-run", is_flag=True, help="Count what to import; write nothing. Takes as long as the import.")
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
    or to continue after an interruption, or to have a transcript back that is gone from memory/. Files that can't be
    read are listed. Where no PATH holds a session of HARNESS, it ends with exit code 1.

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
    note_imports(imports)
    value = {"dry_run": dry_run, "harnesses": list(map(_as_json, imports)), "unread": unread}
    is_named = bool(paths)
    print_result(value, lambda: _print_result(imports, unread, is_named=is_named, dry_run=dry_run), as_json=as_json)
    if not (dry_run or as_json) and (unshown := run_in_workspace(root, describe_unshown)):
        print_text(unshown)
    history_import.require_sessions(request, imports)
    return 0


def note_imports(imports: Sequence[HistoryImport]) -> None:
    """Note harnesses and counts for the line of this run in the log."""
    run = options.note_run()
    for result in imports:
        run.harnesses.add(result.harness)
        run.counts.update({name: getattr(result, name) for name in _LOGGED})


def _as_json(result: HistoryImport) -> dict[str, Any]:
    return {**asdict(result), "problems": [{"path": path, "problem": what} for path, what in result.problems]}


def _print_result(
    imports: Sequence[HistoryImport], unread: Sequence[UnreadStore], *, is_named: bool, dry_run: bool
) -> None:
    for result in imports:
        if result.sources or not is_named:  # that named paths hold nothing is an error, which says it
            _print_harness(result, dry_run=dry_run)
        for path, what in result.problems:
            print_text(f"    not read: {what}" if path in what else f"    not read: {path}: {what}")
    for store in unread:
        print_text(store.describe())
    if not imports:
        print_text(_NO_HISTORY)
    elif dry_run:
        print_text("nothing was written")


def _print_harness(result: HistoryImport, *, dry_run: bool) -> None:
    """Print what became of a harness's sessions; what there was none of is left out."""
    sessions = f"{pluralize(result.captured, 'session')} {'to import' if dry_run else 'imported'}"
    counts = {
        "imported before": result.unchanged, "stay removed": result.refused,
        "without a message": result.empty, "not readable": result.failed,
    }  # fmt: skip
    parts = [sessions, *(f"{count} {what}" for what, count in counts.items() if count)]
    noun = "file or record" if result.sources == 1 else "files or records"
    files = f"{result.sources} {noun}, {_format_size(result.bytes)}"
    print_text(f"{result.harness:12} {', '.join(parts)} ({files})" if result.sources else f"{result.harness:12} none")
    captured = {"turn": result.turns, "compaction": result.compactions}
    parts = [pluralize(count, noun) for noun, count in captured.items() if count]
    parts += [f"{result.unsummarized} of these without a readable summary"] * bool(result.unsummarized)
    parts += [f"{result.sub_agents} of the sessions are of sub-agents"] * bool(result.sub_agents)
    parts += [f"{result.private} stay private"] * bool(result.private)
    if parts:
        print_text(f"    {', '.join(parts)}")
    files_left = {"unchanged since the last import": result.unread, "copies of others": result.copies}
    if any(files_left.values()):
        print_text("    files: " + ", ".join(f"{count} {what}" for what, count in files_left.items() if count))
    if result.restored:
        print_text(f"    {pluralize(len(result.restored), 'lost transcript')} written back")
    for path in result.lost:
        why = "it was changed before it was lost, or today's rules or settings make another file of it"
        print_text(f"    not written back: {path}: {why} → {RESTORE}")
    if result.skipped:
        print_text("    skipped records that are no messages: " + format_counts(result.skipped))


def _format_size(size: int) -> str:
    """Return a size in the unit that shows it.

    >>> _format_size(900), _format_size(48_300), _format_size(6_100_000)
    ('1 kB', '48 kB', '6.1 MB')
    """
    return f"{size / 1_000_000:.1f} MB" if size >= 1_000_000 else f"{max(1, round(size / 1000))} kB"
