"""`lineage session-end`."""

from pathlib import Path
from typing import Any

import click

from lineage.cli import flows, options
from lineage.core.request import SESSION_END


@click.command("session-end")
@options.declared(flows.COMMANDS[SESSION_END])
def command(root: Path, **given: Any) -> int:
    """Capture a session that ended: transcript, summary, manifest, MEMORY.md, index.

    Running it again for the same end changes nothing. Secrets are redacted before anything is written.

    \b
    Example:
      lineage session-end --harness claude-code --session-id ID --transcript-path ~/.claude/projects/demo/ID.jsonl
      lineage session-end --harness generic --session-id s-1 --transcript "User: hello" --project ~/demo
    """
    return flows.COMMANDS[SESSION_END].run(root, given)
