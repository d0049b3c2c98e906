"""What the commands share that start a harness's program: where, for how long, and passing on what it says."""

import sys
from pathlib import Path

import click

from lineage.app.agent_runs import AgentRunResult, RunOptions
from lineage.cli.output import print_json, strip_controls
from lineage.core.base.terminal import EscapeFilter
from lineage.errors import LineageError

_MAX_CHARACTERS = 1 << 20

project_option = click.option(
    "--project",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="The folder to run in.",
)
timeout_option = click.option(
    "--timeout",
    "seconds",
    type=click.FloatRange(0.1, 86_400),
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="End the program after so long.",
)


class ProgramOutput:
    """What the program says, on its way: to this command's stdout and stderr or, with `as_json`, kept for the object,
    of which the last million characters."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._text = ""

    def build_options(self, seconds: float) -> RunOptions:
        out = (
            (self._append, EscapeFilter())
            if self._as_json
            else (_print_output, EscapeFilter(colour=sys.stdout.isatty()))
        )
        return RunOptions(seconds, out, (_print_error_output, EscapeFilter(colour=sys.stderr.isatty())))

    def report(self, answered: AgentRunResult) -> int:
        """Says what was captured. Exit 0, or 1 where the program failed; raises LineageError for that without JSON."""
        if self._as_json:
            captures = [outcome.as_json() for outcome in answered.captures]
            named = {"harness": answered.harness, "folder": answered.folder, "exit_code": answered.exit_code}
            print_json({**named, "output": self._text, "captures": captures})
            return 1 if answered.exit_code else 0
        for outcome in answered.captures:
            click.echo(strip_controls(f"lineage: {outcome.status}: session {outcome.session_token}"), err=True)
        if not answered.captures:
            click.echo("lineage: not captured: no transcript of it was found", err=True)
        if answered.exit_code:
            how = f"exit code {answered.exit_code}" if answered.exit_code > 0 else f"signal {-answered.exit_code}"
            raise LineageError(f"{answered.harness} ended with {how}", hint="what it said stands above")
        return 0

    def _append(self, text: str) -> None:
        self._text = (self._text + text)[-_MAX_CHARACTERS:]


def _print_output(text: str) -> None:
    click.echo(text, nl=False)


def _print_error_output(text: str) -> None:
    click.echo(text, nl=False, err=True)
