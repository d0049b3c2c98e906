"""`lineage session-end`."""

from pathlib import Path
from typing import Any

import click

from lineage.cli import options
from lineage.cli.capture_commands import payload_options, run_capture_command
from lineage.core.capture.request import SESSION_END


@click.command("session-end")
@payload_options
@options.as_json
@options.workspace
def command(root: Path, from_stdin: bool, as_json: bool, **payload: Any) -> int:
    """Capture a session that ended: transcript, summary, manifest, MEMORY.md, index.

    Running it again for the same end changes nothing. Secrets are redacted before anything is written.

    \b
    Example:
      lineage session-end --harness claude-code --session-id ID --transcript-path ~/.claude/projects/demo/ID.jsonl
      lineage session-end --harness generic --session-id s-1 --transcript "User: hello" --project ~/demo
    """
    return run_capture_command(SESSION_END, root, payload, from_stdin=from_stdin, as_json=as_json)
