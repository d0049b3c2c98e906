"""The two flows as commands: what `session-end` and `compaction` take, and how they run."""

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from lineage.cli.plain import JSON, Command, Option
from lineage.core.request import COMPACTION, SESSION_END
from lineage.errors import InvalidInput

_MAX_STDIN = 256 * 1024 * 1024
_STDIN = Option(
    "from_stdin", "Read the payload as a JSON object from stdin.", ("--stdin",), default=False, is_flag=True
)
_WHILE_AWAY = "check the network, the endpoint and the credentials, then run `lineage recover`"

_PAYLOAD = (
    Option("data", "It has data attached, and can have findings.", is_flag=True),
    Option("private", "Nothing of it crosses the session.", is_flag=True),
    Option("agent_id", "The agent; `default` where none is given.", ("--agent-id", "--agent"), metavar="ID"),
    Option("harness", "The harness the session ran in, for example claude-code."),
    Option("session_id", "The harness's own id of the session."),
    Option("transcript_path", "The transcript's file."),
    Option("transcript", "The transcript itself, as text."),
    Option("session_key", "The harness's key of the session, where it has one."),
    Option("project", "The project's folder."),
    Option("cwd", "The session's working directory; the project where none is given."),
    Option("started_at", "When it began: ISO-8601 with a zone."),
    Option("ended_at", "When it ended."),
    Option("captured_at", "When the end was signalled; now where it is not given."),
    Option("reason", "Why it ended."),
    Option("summary", "The harness's own summary."),
)
"""The options that are keys of the payload, by their names there."""
_TRIGGER = Option("trigger", "What started it: auto or manual.")


def run(flow: str, root: Path, given: Mapping[str, Any]) -> int:
    """Runs `session-end` or `compaction` with the payload that options and stdin make together, options winning, and
    prints the outcome. The exit code: 1 where the session was refused, else 0. Raises InvalidInput where stdin holds no
    JSON object, StoreAway where the workspace's store is: what was asked waits in the spool then."""
    from lineage.app import with_house
    from lineage.cli.outcome import report
    from lineage.core.request import request
    from lineage.pipeline.upkeep.resuming import run as run_flow
    from lineage.store import StoreAway

    switches = (_STDIN.name, JSON.name)
    options = {name: value for name, value in given.items() if value is not None and name not in switches}
    payload = {**(_stdin_object() if given[_STDIN.name] else {}), **options}
    try:
        outcome = with_house(
            root, lambda house: run_flow(house, request(flow, payload, agent_id=None, now=house.now)), create=True
        )
    except StoreAway as error:
        from lineage.app.spooling import keep

        keep(root, flow, payload)
        raise StoreAway(f"{error.message}; the session waits in the spool", hint=_WHILE_AWAY) from error
    return report(outcome, as_json=given[JSON.name])


COMMANDS: dict[str, Command] = {
    SESSION_END: Command((_STDIN, *_PAYLOAD, JSON), partial(run, SESSION_END)),
    COMPACTION: Command((_STDIN, *_PAYLOAD, _TRIGGER, JSON), partial(run, COMPACTION)),
}


def _stdin_object() -> dict[str, Any]:
    import json

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
