"""`lineage spawn`."""

from pathlib import Path

import click

from lineage.cli import options, programs


@click.command("spawn")
@click.argument("harness")
@click.argument("text")
@programs.folder
@click.option("--agent", metavar="ID", default="default", show_default=True, help="The agent that it is captured for.")
@programs.timeout
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
    from lineage.app import launching

    answer = programs.Answer(as_json=as_json)
    spawned = launching.spawn(
        root, harness, text, agent=agent, project=project or Path.cwd(), terms=answer.terms(seconds)
    )
    return answer.report(spawned)
