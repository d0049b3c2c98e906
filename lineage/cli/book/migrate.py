"""`lineage book migrate`."""

from collections.abc import Sequence
from pathlib import Path

import click

from lineage.app.machine_config import detect_caller
from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.output import format_counts, print_result, print_text
from lineage.pipeline.memory.migrate_notes import STATES, MigratedFile, MigrationRequest, migrate_notes
from lineage.workspace.paths import expand_home


@click.command("migrate")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--agent", "agent_id", metavar="ID", help="Whose notes they are; else the agent that their place names.")
@click.option("--dry-run", is_flag=True, help="Say what would become of each file; write nothing.")
@options.common
def command(root: Path, paths: Sequence[str], agent_id: str | None, dry_run: bool, as_json: bool) -> int:
    """Bring notes that agents kept in files of their own into books; the files stay as they are.

    PATH is a file, or a folder with notes: a project's, `.memory`, `~/.claude`, an OpenClaw workspace. What was taken
    counts as derived; AGENT_MEMORY.md waits, and so does what grants a permission or speaks of the agent itself. Every
    line is in a book afterwards, or is named as left out, which makes the exit code 1. Again, it adds what is new.
    Only you can migrate, no agent.

    \b
    Example:
      lineage book migrate ~/.claude --dry-run
      lineage book migrate ~/demo/.memory --agent ann
    """
    request = MigrationRequest(
        paths=tuple(expand_home(path).absolute() for path in paths), root=root, agent_id=agent_id, is_dry_run=dry_run
    )
    files = run_in_workspace(root, lambda ws: migrate_notes(ws, request, detect_caller()), writes=not dry_run)
    value = {"dry_run": dry_run, "files": [file.as_json() for file in files]}
    print_result(value, lambda: _print_result(files, dry_run=dry_run), as_json=as_json)
    return 0 if all(file.is_complete for file in files) else 1


def _print_result(files: Sequence[MigratedFile], *, dry_run: bool) -> None:
    for file in files:
        counts = ", ".join(f"{file.counts[state]} {state}" for state in STATES if file.counts[state])
        problem = file.skipped or file.problem
        print_text(f"{file.path}: " + (f"not taken: {problem}" if problem else counts or "empty"))
        for entry in file.entries:
            if entry.state not in ("kept", "known"):
                reason = f" ({entry.reason})" if entry.reason else ""
                print_text(f"    line {entry.line}: {entry.state}{reason}, {entry.kind} of {entry.scope}")
        if file.redactions:
            print_text(f"    redacted: {format_counts(file.redactions)}")
    if not files:
        print_text("no notes there")
    elif any(file.counts["waiting"] for file in files) and not dry_run:
        print_text("`lineage book list --pending` shows what waits, `lineage book confirm ID` puts it in force")
    if dry_run:
        print_text("nothing was written")
