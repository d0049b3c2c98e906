"""`lineage recover`."""

from pathlib import Path

import click

from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.output import print_json, print_text
from lineage.pipeline.maintenance.recover import recover


@click.command("recover")
@options.common
def command(root: Path, as_json: bool) -> int:
    """Finish what a crash left unfinished, from the files alone; again changes nothing.

    \b
    Example:
      lineage recover
    """
    result = run_in_workspace(root, recover)
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
