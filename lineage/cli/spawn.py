"""`lineage spawn`."""

from pathlib import Path

import click

from lineage.app import agent_runs
from lineage.cli import agent_program, options


@click.command("spawn")
@click.argument("harness")
@click.argument("text")
@agent_program.project_option
@click.option("--agent", metavar="ID", default="default", show_default=True, help="The agent that it is captured for.")
@agent_program.timeout_option
@options.as_json
@options.workspace
def command(
    root: Path, harness: str, text: str, project: Path | None, agent: str, seconds: float, as_json: bool
) -> int:
    """Begin a session in a harness with a message, print the answer as it comes, and capture the session.

    It runs in the project's folder, this one where none is named. An agent that was started so starts no other, unless
    `spawn_depth` in lineage.toml lets it. Exit 1 where the program fails or takes too long.

    \b
    Example:
      lineage spawn claude-code "Which tests are slow?" --project ~/demo
    """
    output = agent_program.ProgramOutput(as_json=as_json)
    result = agent_runs.spawn(
        root, harness, text, agent=agent, project=project or Path.cwd(), options=output.build_options(seconds)
    )
    return output.report(result)
