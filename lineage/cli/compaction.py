"""`lineage compaction`."""

from pathlib import Path
from typing import Any

import click

from lineage.cli import flows, options
from lineage.core.request import COMPACTION


@click.command("compaction")
@options.declared(flows.COMMANDS[COMPACTION])
def command(root: Path, **given: Any) -> int:
    """Keep the summary of a compaction; a session may have any number of them.

    \b
    Example:
      lineage compaction --harness claude-code --session-id ID --transcript-path FILE --summary "Goal: fix the reader."
    """
    return flows.COMMANDS[COMPACTION].run(root, given)
