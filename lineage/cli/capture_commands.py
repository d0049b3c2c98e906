"""`lineage session-end` and `lineage compaction`."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click

from lineage.app import clock
from lineage.app.documents import open_documents
from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.output import format_counts, print_result, print_text
from lineage.core.capture.request import COMPACTION, SESSION_END, parse_request
from lineage.pipeline.capture.session import CAPTURED, REFUSED, CaptureResult, build_job
from lineage.pipeline.maintenance.finish_pending import NO_SENTENCE, run_capture
from lineage.store import StoreUnavailable
from lineage.workspace.lookup import describe_hidden
from lineage.workspace.workspace import Workspace

Function = TypeVar("Function", bound=Callable[..., Any])

_UNAVAILABLE_HINT = "check the network, the endpoint and the credentials, then run `lineage admin recover`"

_OPTIONS = (
    click.option("--stdin", "from_stdin", is_flag=True, help="Read the payload as a JSON object from stdin."),
    click.option("--data", is_flag=True, default=None, help="It has data attached, and can have findings."),
    click.option("--private", is_flag=True, default=None, help="Show it to no other session."),
    click.option("--agent-id", "--agent", "agent_id", metavar="ID", help="The agent; `default` where none is given."),
    click.option("--harness", help="The harness the session ran in, for example claude-code."),
    click.option("--session-id", help="The harness's own id of the session."),
    click.option("--transcript-path", help="The transcript's file."),
    click.option("--transcript", help="The transcript itself, as text."),
    click.option("--session-key", help="The harness's key of the session, where it has one."),
    options.project("The project's folder.", metavar="TEXT"),
    click.option("--cwd", help="The session's working directory; the project where none is given."),
    click.option("--started-at", help="When it began: ISO-8601 with a zone."),
    click.option("--ended-at", help="When it ended."),
    click.option("--captured-at", help="When the end was signalled; now where it is not given."),
    click.option("--reason", help="Why it ended."),
    click.option("--summary", help="The harness's own summary."),
)
"""All but `--stdin` are keys of the payload, under the same names."""


def _payload_options(function: Function) -> Function:
    """Add the options of the payload to a command."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


@options.command("session-end", writes=True)
@_payload_options
def session_end(root: Path, from_stdin: bool, as_json: bool, **payload: Any) -> int:
    """Capture a session that ended: transcript, summary, manifest, MEMORY.md, index.

    Running it again for the same end changes nothing. Secrets are redacted before anything is written.

    \b
    Example:
      lineage session-end --harness claude-code --session-id ID --transcript-path ~/.claude/projects/demo/ID.jsonl
      lineage session-end --harness generic --session-id s-1 --transcript "User: hello" --project ~/demo
    """
    return _run_capture_command(SESSION_END, root, payload, from_stdin=from_stdin, as_json=as_json)


@options.command("compaction", writes=True)
@_payload_options
@click.option("--trigger", help="What started it: auto or manual.")
def compaction(root: Path, from_stdin: bool, as_json: bool, **payload: Any) -> int:
    """Keep the summary of a compaction; a session may have any number of them.

    \b
    Example:
      lineage compaction --harness claude-code --session-id ID --transcript-path FILE --summary "Goal: fix the reader."
    """
    return _run_capture_command(COMPACTION, root, payload, from_stdin=from_stdin, as_json=as_json)


def _run_capture_command(flow: str, root: Path, given: Mapping[str, Any], *, from_stdin: bool, as_json: bool) -> int:
    """Run `session-end` or `compaction`, print the result and return the exit code: 1 for a refused session.

    The payload is the object on stdin, overridden by the options. Raises InvalidInput for a payload that is malformed,
    StoreUnavailable while the workspace's store is: the request then waits in this machine's spool.
    """
    overrides = {name: value for name, value in given.items() if value is not None}
    payload = {**(options.read_payload() if from_stdin else {}), **overrides}
    try:
        result, hidden = run_in_workspace(root, partial(_capture, flow=flow, payload=payload), in_place=True)
    except StoreUnavailable as error:
        _spool_request(root, flow, payload)
        raise StoreUnavailable(f"{error.message}; the session waits in the spool", hint=_UNAVAILABLE_HINT) from error
    run = options.note_run()
    run.harnesses.add(str(payload.get("harness")))
    run.counts[result.status] += 1
    print_result(result.as_json(), lambda: _print_result(result, hidden), as_json=as_json)
    return 1 if result.status == REFUSED else 0


def _capture(ws: Workspace, *, flow: str, payload: Mapping[str, Any]) -> tuple[CaptureResult, str]:
    result = run_capture(ws, parse_request(flow, payload, agent_id=None, now=ws.now))
    return result, describe_hidden(ws, result.session_token)


def _spool_request(root: Path, flow: str, payload: Mapping[str, Any]) -> None:
    """Put the job of a request into this machine's spool, unless the same one waits there. Raises InvalidInput."""
    spool = open_documents(root).spool
    job = build_job(parse_request(flow, payload, agent_id=None, now=clock.now()), NO_SENTENCE)
    # the flow itself may have written the job before the store failed
    if all((pending.flow, pending.payload) != (flow, job.payload) for pending in spool.list_pending(job.token)):
        spool.put(job)


def _print_result(result: CaptureResult, hidden: str) -> None:
    reason = f" ({result.reason})" if result.reason else ""
    print_text(f"{result.status}{reason}: session {result.session_token}")
    if result.status == CAPTURED:
        for path in (result.transcript_path, result.summary_path, result.compaction_path, result.manifest_path):
            if path:
                print_text(f"  {path}")
        print_text(f"  {result.memory_sentence}")
    if hidden:
        print_text(f"  {hidden}")
    kept, pending = result.learned["kept"], result.learned["pending"]
    if kept or pending:
        print_text(f"  learned: {kept} kept, {pending} waiting for `lineage memory review`")
    for title, counts in (
        ("not learned", result.learned["dropped"]), ("redacted", result.redactions), ("skipped records", result.skipped)
    ):  # fmt: skip
        if counts:
            print_text(f"  {title}: {format_counts(counts)}")
