"""`lineage context`."""

from pathlib import Path
from typing import Any

import click

from lineage.cli import options, telling


@click.command("context")
@options.declared(telling.COMMANDS["context"])
def command(root: Path, **given: Any) -> int:
    """Print what a new session is told of earlier ones, within a budget for all of it.

    A token is four characters, rounded up; other scripts than English cost more of them.

    \b
    Example:
      lineage context --project demo --query "the reader" --budget 1500
      lineage context --explain
    """
    return telling.COMMANDS["context"].run(root, given)
