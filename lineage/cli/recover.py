"""`lineage recover`."""

from pathlib import Path

import click

from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.output import print_json, print_text
from lineage.pipeline.maintenance.recover import recover


@click.command("recover")
@options.as_json
@options.workspace
def command(root: Path, as_json: bool) -> int:
    """Finish what a crash left unfinished, from the files alone; again changes nothing.

    \b
    Example:
      lineage recover
    """
    done = run_in_workspace(root, recover)
    if as_json:
        print_json({key: value for key, value in vars(done).items() if key != "report"})
        return 0
    for path in done.finished:
        print_text(f"finished {path}")
    for token in done.removals:
        print_text(f"finished the removal of {token}")
    for token in done.resanitized:
        print_text(f"finished the redaction of {token}")
    for path in done.merged:
        print_text(f"merged {path} into the session's older manifest")
    for name, why in done.waiting:
        print_text(f"still waiting: {name}: {why}")
    if done.collected:
        print_text(f"collected {done.collected} files that dead writers left behind")
    for path, what in done.report.problems:
        print_text(f"damaged: {what if what.startswith(path) else f'{path}: {what}'}")
    if not any(
        (
            done.finished,
            done.removals,
            done.resanitized,
            done.merged,
            done.waiting,
            done.collected,
            done.report.problems,
        )
    ):
        print_text("nothing was unfinished")
    return 0
