"""`lineage recover`."""

from pathlib import Path

import click

from lineage.cli import options
from lineage.cli.output import say, say_json


@click.command("recover")
@options.as_json
@options.workspace
def command(root: Path, as_json: bool) -> int:
    """Finish what a crash left unfinished, from the files alone; again changes nothing.

    \b
    Example:
      lineage recover
    """
    from lineage.app import with_house
    from lineage.pipeline.upkeep.recovery import recover

    done = with_house(root, recover)
    if as_json:
        say_json({key: value for key, value in vars(done).items() if key != "report"})
        return 0
    for path in done.finished:
        say(f"finished {path}")
    for token in done.removals:
        say(f"finished the removal of {token}")
    for token in done.resanitized:
        say(f"finished the redaction of {token}")
    for path in done.merged:
        say(f"merged {path} into the session's older manifest")
    for name, why in done.waiting:
        say(f"still waiting: {name}: {why}")
    if done.collected:
        say(f"collected {done.collected} files that dead writers left behind")
    for path, what in done.report.problems:
        say(f"damaged: {what if what.startswith(path) else f'{path}: {what}'}")
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
        say("nothing was unfinished")
    return 0
