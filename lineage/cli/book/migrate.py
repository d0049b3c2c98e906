"""`lineage book migrate`."""

from collections.abc import Sequence
from pathlib import Path

import click

from lineage.app.machine_config import detect_caller
from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.output import print_json, print_text
from lineage.pipeline.memory.migrate_notes import STATES, MigratedFile, MigrationRequest, migrate_notes
from lineage.store.platform import expand_home


@click.command("migrate")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--agent", "agent_id", metavar="ID", help="Whose notes they are; else the agent that their place names.")
@click.option("--dry-run", is_flag=True, help="Say what would become of each file; write nothing.")
@options.as_json
@options.workspace
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
    named = tuple(expand_home(path).absolute() for path in paths)
    asked = MigrationRequest(paths=named, root=root, agent_id=agent_id, is_dry_run=dry_run)
    found = run_in_workspace(root, lambda ws: migrate_notes(ws, asked, detect_caller()), writes=not dry_run)
    if as_json:
        print_json({"dry_run": dry_run, "files": [source.as_json() for source in found]})
    else:
        _print_result(found, dry_run=dry_run)
    return 0 if all(source.is_complete for source in found) else 1


def _print_result(found: Sequence[MigratedFile], *, dry_run: bool) -> None:
    for source in found:
        counts = ", ".join(f"{source.counts[state]} {state}" for state in STATES if source.counts[state])
        left = source.skipped or source.problem
        print_text(f"{source.path}: " + (f"not taken: {left}" if left else counts or "empty"))
        _print_skipped_lines(source)
    if not found:
        print_text("no notes there")
    elif any(source.counts["waiting"] for source in found) and not dry_run:
        print_text("`lineage book list --pending` shows what waits, `lineage book confirm ID` puts it in force")
    if dry_run:
        print_text("nothing was written")


def _print_skipped_lines(source: MigratedFile) -> None:
    """What isn't simply in a book now, by line."""
    for one in source.entries:
        if one.state not in ("kept", "known"):
            print_text(
                f"    line {one.line}: {one.state}{f' ({one.reason})' if one.reason else ''}, {one.kind} of {one.scope}"
            )
    if source.redactions:
        print_text("    redacted: " + ", ".join(f"{name} {count}" for name, count in sorted(source.redactions.items())))
