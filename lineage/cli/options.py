"""Options that several commands share."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from lineage.app import workspace_root
from lineage.errors import InvalidInput

Function = TypeVar("Function", bound=Callable[..., Any])

_MAX_STDIN = 256 * 1024 * 1024

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
agent = click.option(
    "--agent", metavar="ID", default="default", show_default=True, help="The agent; `all` for every one."
)


def workspace(function: Function) -> Function:
    """`--workspace` after the command too; the command gets it as `root`, an absolute path."""

    def chosen(ctx: click.Context, _: click.Parameter, value: str | None) -> Path:
        return workspace_root(value or (ctx.find_root().obj or {}).get("workspace"))

    return click.option(
        "--workspace",
        "-w",
        "root",
        metavar="DIR",
        callback=chosen,
        help="A folder, or a bucket; else LINEAGE_WORKSPACE, else ~/.agents.",
    )(function)


def payload(function: Function) -> Function:
    """The payload of the two flows: options named after its keys, or one JSON object on stdin; options win."""
    described = (
        ("harness", "The harness the session ran in, for example claude-code."),
        ("session_id", "The harness's own id of the session."),
        ("transcript_path", "The transcript's file."),
        ("transcript", "The transcript itself, as text."),
        ("session_key", "The harness's key of the session, where it has one."),
        ("project", "The project's folder."),
        ("cwd", "The session's working directory; the project where none is given."),
        ("started_at", "When it began: ISO-8601 with a zone."),
        ("ended_at", "When it ended."),
        ("captured_at", "When the end was signalled; now where it is not given."),
        ("reason", "Why it ended."),
        ("summary", "The harness's own summary."),
    )
    for name, text in reversed(described):
        function = click.option(f"--{name.replace('_', '-')}", name, help=text)(function)
    function = click.option(
        "--agent-id", "--agent", "agent_id", metavar="ID", help="The agent; `default` where none is given."
    )(function)
    function = click.option("--private", is_flag=True, default=None, help="Nothing of it crosses the session.")(
        function
    )
    function = click.option("--data", is_flag=True, default=None, help="It has data attached, and can have findings.")(
        function
    )
    return click.option("--stdin", "from_stdin", is_flag=True, help="Read the payload as a JSON object from stdin.")(
        function
    )


def read_payload(options: dict[str, Any], *, from_stdin: bool) -> dict[str, Any]:
    """The payload that options and stdin make together. Raises InvalidInput where stdin holds no JSON object."""
    given = {key: value for key, value in options.items() if value is not None}
    return {**(_stdin_object() if from_stdin else {}), **given}


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
