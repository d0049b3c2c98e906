"""`lineage resume`, `lineage admin send` and `lineage admin spawn`: the commands that run a harness's program."""

import shlex
import sys
from functools import partial
from pathlib import Path

import click

from lineage.app import agent_runs
from lineage.app.agent_runs import AgentRunResult
from lineage.app.subprocesses import RunOptions
from lineage.cli import options
from lineage.cli.completion import complete_session
from lineage.cli.output import print_json, print_text, print_warning
from lineage.core.base.terminal import EscapeFilter
from lineage.errors import LineageError

_MAX_CHARACTERS = 1 << 20

_folder = click.Path(exists=True, file_okay=False, path_type=Path)
project_option = click.option("--project", type=_folder, metavar="DIR", help="The folder to run in.")
timeout_option = click.option(
    "--timeout", "seconds", type=click.FloatRange(0.1, 86_400), default=600, show_default=True,
    metavar="SECONDS", help="End the program after so long.",
)  # fmt: skip


class ProgramOutput:
    """Passes a program's output on; with `as_json`, keeps the last million characters of its stdout instead."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._text = ""

    def build_options(self, seconds: float) -> RunOptions:
        """Return the options of a run: its time limit and the sinks of its output."""
        # stderr passes through in both cases: it is no part of the answer
        if self._as_json:
            out = (self._append, EscapeFilter())
        else:
            out = (partial(click.echo, nl=False), EscapeFilter(colour=sys.stdout.isatty()))
        err = (partial(click.echo, nl=False, err=True), EscapeFilter(colour=sys.stderr.isatty()))
        return RunOptions(seconds, out, err)

    def report(self, result: AgentRunResult) -> int:
        """Print the captures and return the exit code, 1 if the program failed.

        Raises LineageError for a failed program, unless the output is JSON.
        """
        if self._as_json:
            values = {"harness": result.harness, "folder": result.folder, "exit_code": result.exit_code}
            captures = [capture.as_json() for capture in result.captures]
            print_json({**values, "output": self._text, "captures": captures})
            return 1 if result.exit_code else 0
        for capture in result.captures:
            print_warning(f"lineage: {capture.status}: session {capture.session_token}")
        if not result.captures:
            print_warning("lineage: not captured: no transcript of it was found")
        if result.exit_code:
            cause = f"exit code {result.exit_code}" if result.exit_code > 0 else f"signal {-result.exit_code}"
            raise LineageError(f"{result.harness} ended with {cause}", hint="what it said stands above")
        return 0

    def _append(self, text: str) -> None:
        self._text = (self._text + text)[-_MAX_CHARACTERS:]


@options.command("resume")
@click.argument("session", shell_complete=complete_session)
@project_option
@click.option("--run", "runs", is_flag=True, help="Run it, instead of printing it.")
def resume(root: Path, session: str, project: Path | None, runs: bool, as_json: bool) -> int:
    """Print the command line that resumes a session in its harness, or run it in the session's folder.

    SESSION is a session's id, key or short id, or the beginning of one.

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
    line = f"cd {shlex.quote(plan.target.folder)} && {line}" if plan.target.folder else line
    print_text(line, folds=False)
    return 0


@options.command("send")
@click.argument("session", shell_complete=complete_session)
@click.argument("text")
@project_option
@timeout_option
def send(root: Path, session: str, text: str, project: Path | None, seconds: float, as_json: bool) -> int:
    """Send a session a message by its harness's own program, print the answer as it comes, and capture both.

    SESSION is a session's id, key or short id, or the beginning of one. The harness's own settings say what its agent
    may do. Exit 1 where the program fails or takes too long.

    \b
    Example:
      lineage admin send 2489c83d "Is the reader mended?" --project ~/demo
    """
    output = ProgramOutput(as_json=as_json)
    return output.report(agent_runs.send(root, session, text, project=project, options=output.build_options(seconds)))


@options.command("spawn")
@click.argument("harness")
@click.argument("text")
@project_option
@click.option("--agent", metavar="ID", default="default", show_default=True, help="The agent that it is captured for.")
@timeout_option
def spawn(root: Path, harness: str, text: str, project: Path | None, agent: str, seconds: float, as_json: bool) -> int:
    """Begin a session in a harness with a message, print the answer as it comes, and capture the session.

    It runs in the project's folder, this one where none is named. An agent that was started so starts no other, unless
    `spawn_depth` in lineage.toml lets it. Exit 1 where the program fails or takes too long.

    \b
    Example:
      lineage admin spawn claude-code "Which tests are slow?" --project ~/demo
    """
    output = ProgramOutput(as_json=as_json)
    result = agent_runs.spawn(
        root, harness, text, agent=agent, project=project or Path.cwd(), options=output.build_options(seconds)
    )
    return output.report(result)
