"""`lineage init`."""

from pathlib import Path

import click

from lineage.cli import options
from lineage.cli.output import say, say_json


@click.command("init")
@click.argument("directory", required=False, metavar="[DIR]")
@options.as_json
@options.workspace
def command(root: Path, directory: str | None, as_json: bool) -> int:
    """Make a workspace: settings, curated memory, the handbook. What is there already stays as it is.

    \b
    Example:
      lineage init ~/memory
    """
    from lineage.app import initialize, workspace_root

    target = workspace_root(directory) if directory else root
    made, kept = initialize(target)
    if as_json:
        say_json({"workspace": str(target), "made": made, "kept": kept})
        return 0
    say(f"workspace {target}")
    for path in made:
        say(f"  made {path}")
    if kept:
        say(f"  left as they are: {', '.join(kept)}")
    say(f"Next: lineage -w {target} session-end --help")
    return 0
