"""`lineage compaction`."""

from pathlib import Path
from typing import Any

import click

from lineage.cli import options


@click.command("compaction")
@options.payload
@click.option("--trigger", help="What started it: auto or manual.")
@options.as_json
@options.workspace
def command(root: Path, as_json: bool, from_stdin: bool, **given: Any) -> int:
    """Keep the summary of a compaction; a session may have any number of them.

    \b
    Example:
      lineage compaction --harness claude-code --session-id ID --transcript-path FILE --summary "Goal: fix the reader."
    """
    from lineage.app import with_house
    from lineage.cli.outcome import report
    from lineage.core.request import COMPACTION, request
    from lineage.pipeline.upkeep.recovery import run

    payload = options.read_payload(given, from_stdin=from_stdin)
    outcome = with_house(
        root,
        lambda house: run(house, request(COMPACTION, payload, agent_id=None, now=house.now)),
        create=True,
    )
    return report(outcome, as_json=as_json)
