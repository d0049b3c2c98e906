"""`lineage compaction`."""

from pathlib import Path
from typing import Any

import click

from lineage.cli import options
from lineage.cli.capture_commands import payload_options, run_capture_command
from lineage.core.capture.request import COMPACTION


@click.command("compaction")
@payload_options
@click.option("--trigger", help="What started it: auto or manual.")
@options.as_json
@options.workspace
def command(root: Path, from_stdin: bool, as_json: bool, **payload: Any) -> int:
    """Keep the summary of a compaction; a session may have any number of them.

    \b
    Example:
      lineage compaction --harness claude-code --session-id ID --transcript-path FILE --summary "Goal: fix the reader."
    """
    return run_capture_command(COMPACTION, root, payload, from_stdin=from_stdin, as_json=as_json)
