"""`lineage session-end`."""

from pathlib import Path
from typing import Any

import click

from lineage.cli import options


@click.command("session-end")
@options.payload
@options.as_json
@options.workspace
def command(root: Path, as_json: bool, from_stdin: bool, **given: Any) -> int:
    """Capture a session that ended: transcript, summary, manifest, MEMORY.md, index.

    Running it again for the same end changes nothing. Secrets are redacted before anything is written.

    \b
    Example:
      lineage session-end --harness claude-code --session-id ID --transcript-path ~/.claude/projects/demo/ID.jsonl
      lineage session-end --harness generic --session-id s-1 --transcript "User: hello" --project ~/demo
    """
    from lineage.app import with_house
    from lineage.cli.outcome import report
    from lineage.core.request import SESSION_END, request
    from lineage.pipeline.upkeep.recovery import run

    payload = options.read_payload(given, from_stdin=from_stdin)
    outcome = with_house(
        root,
        lambda house: run(house, request(SESSION_END, payload, agent_id=None, now=house.now)),
        create=True,
    )
    return report(outcome, as_json=as_json)
