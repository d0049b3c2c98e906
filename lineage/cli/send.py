"""`lineage send`."""

from pathlib import Path

import click

from lineage.app import agent_runs
from lineage.cli import agent_program, options


@click.command("send")
@click.argument("session")
@click.argument("text")
@agent_program.project_option
@agent_program.timeout_option
@options.as_json
@options.workspace
def command(root: Path, session: str, text: str, project: Path | None, seconds: float, as_json: bool) -> int:
    """Send a session a message by its harness's own program, print the answer as it comes, and capture both.

    SESSION is a session id, key, token, or an unambiguous prefix of one. The harness's own settings say what its agent
    may do. Exit 1 where the program fails or takes too long.

    \b
    Example:
      lineage send 2489c83d "Is the reader mended?" --project ~/demo
    """
    output = agent_program.ProgramOutput(as_json=as_json)
    return output.report(agent_runs.send(root, session, text, project=project, options=output.build_options(seconds)))
