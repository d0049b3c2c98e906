"""Shared by `send`, `spawn` and `resume`: options of the program's run, and its output."""

import sys
from functools import partial
from pathlib import Path

import click

from lineage.app.agent_runs import AgentRunResult, RunOptions
from lineage.cli.output import print_json, print_warning
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
