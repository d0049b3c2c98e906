"""What `session-end` and `compaction` share: the options that make the payload, and how a capture runs."""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from lineage.app.spool_request import spool_request
from lineage.app.workspace import run_in_workspace
from lineage.cli.capture_output import report
from lineage.core.capture.request import parse_request
from lineage.errors import InvalidInput
from lineage.pipeline.maintenance.finish_pending import run_capture as run_flow
from lineage.store import StoreUnavailable

Function = TypeVar("Function", bound=Callable[..., Any])

_MAX_STDIN = 256 * 1024 * 1024
_WHILE_AWAY = "check the network, the endpoint and the credentials, then run `lineage recover`"

_OPTIONS = (
    click.option("--stdin", "from_stdin", is_flag=True, help="Read the payload as a JSON object from stdin."),
    click.option("--data", is_flag=True, default=None, help="It has data attached, and can have findings."),
    click.option("--private", is_flag=True, default=None, help="Nothing of it crosses the session."),
    click.option("--agent-id", "--agent", "agent_id", metavar="ID", help="The agent; `default` where none is given."),
    click.option("--harness", help="The harness the session ran in, for example claude-code."),
    click.option("--session-id", help="The harness's own id of the session."),
    click.option("--transcript-path", help="The transcript's file."),
    click.option("--transcript", help="The transcript itself, as text."),
    click.option("--session-key", help="The harness's key of the session, where it has one."),
    click.option("--project", help="The project's folder."),
    click.option("--cwd", help="The session's working directory; the project where none is given."),
    click.option("--started-at", help="When it began: ISO-8601 with a zone."),
    click.option("--ended-at", help="When it ended."),
    click.option("--captured-at", help="When the end was signalled; now where it is not given."),
    click.option("--reason", help="Why it ended."),
    click.option("--summary", help="The harness's own summary."),
)
"""All but `--stdin` are keys of the payload, by their names there."""


def payload_options(function: Function) -> Function:
    """Add the options of the payload to a command."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def run_capture(flow: str, root: Path, options: Mapping[str, Any], *, from_stdin: bool, as_json: bool) -> int:
    """Run `session-end` or `compaction` with the payload of stdin and options, options winning, and print the outcome.

    Return 1 where the session was refused, else 0. Raise InvalidInput where stdin holds no JSON object, StoreAway while
    the workspace's store is: what was asked waits in the spool then.
    """
    given = {name: value for name, value in options.items() if value is not None}
    payload = {**(_stdin_object() if from_stdin else {}), **given}
    try:
        outcome = run_in_workspace(
            root, lambda ws: run_flow(ws, parse_request(flow, payload, agent_id=None, now=ws.now)), create=True
        )
    except StoreUnavailable as error:
        spool_request(root, flow, payload)
        raise StoreUnavailable(f"{error.message}; the session waits in the spool", hint=_WHILE_AWAY) from error
    return report(outcome, as_json=as_json)


def _stdin_object() -> dict[str, Any]:
    data = sys.stdin.buffer.read(_MAX_STDIN + 1)
    if len(data) > _MAX_STDIN:
        raise InvalidInput("stdin holds more than 256 MB", hint="give the transcript as a file with --transcript-path")
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput("stdin holds no JSON", hint='give one object: {"harness": …, "session_id": …}') from error
    if not isinstance(value, dict):
        raise InvalidInput("stdin holds no JSON object", hint='give one object: {"harness": …, "session_id": …}')
    return value
