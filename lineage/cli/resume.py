"""`lineage resume`."""

import shlex
from pathlib import Path

import click

from lineage.app import agent_runs
from lineage.cli import agent_program, options
from lineage.cli.output import print_json, print_text


@click.command("resume")
@click.argument("session")
@agent_program.project_option
@click.option("--run", "runs", is_flag=True, help="Run it, instead of printing it.")
@options.as_json
@options.workspace
def command(root: Path, session: str, project: Path | None, runs: bool, as_json: bool) -> int:
    """Print the command line that resumes a session in its harness, or run it in the session's folder.

    SESSION is a session id, key, token, or an unambiguous prefix of one.

    \b
    Example:
      lineage resume 2489c83d
    """
    plan = agent_runs.plan_resume(root, session, project)
    if runs:
        return agent_runs.resume(plan)
    if as_json:
        target = plan.target
        values = {"session_id": target.session_id, "session_token": target.session_token, "harness": target.harness}
        print_json({**values, "folder": target.folder, "command": list(plan.call.argv)})
        return 0
    line = shlex.join(plan.call.argv)
    print_text(f"cd {shlex.quote(plan.target.folder)} && {line}" if plan.target.folder else line)
    return 0
