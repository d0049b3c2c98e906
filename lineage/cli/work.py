"""`lineage work` and `lineage admin sweep`."""

from collections import Counter
from pathlib import Path
from typing import Any

import click

from lineage.app.locations import suppress_hooks
from lineage.app.worker import drain_and_sweep, run_worker
from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.hook_entry import start_worker
from lineage.cli.output import format_when, print_json, print_result, print_text
from lineage.core.base.plural import pluralize
from lineage.pipeline.ingest.worker import DrainResult
from lineage.workspace.lookup import describe_unshown


@options.command("work", writes=True)
def command(root: Path, as_json: bool) -> int:
    """Capture the sessions that hooks have signalled, and end. A hook starts it by itself; one runs at a time.

    \b
    Example:
      lineage work
    """
    suppress_hooks()
    rounds = run_worker(root)
    counts = options.note_run().counts
    for done in rounds:
        counts.update(done.outcomes)
        counts.update(ignored=done.ignored.total(), put_off=len(done.put_off), given_up=len(done.given_up))
    if rounds and rounds[-1].waiting:
        start_worker(str(root))
    value = {"rounds": [_as_json(result) for result in rounds]}
    return print_result(value, lambda: _print_rounds(rounds), as_json=as_json)


@options.command("sweep", writes=True)
@click.option(
    "--idle", "idle_minutes", type=click.IntRange(0), default=10, show_default=True, metavar="MINUTES",
    help="Leave sessions alone that were written to in the last MINUTES.",
)  # fmt: skip
def sweep(root: Path, idle_minutes: int, as_json: bool) -> int:
    """Capture sessions that ended without a signal, grew since, or that no hook reported.

    It looks into the folders of every harness whose hooks name no other workspace, and reads only files that changed.
    The worker and `lineage admin watch` look only at sessions that hooks reported.

    It lists sessions of other agents that lineage can't read.

    \b
    Example:
      lineage admin sweep
      lineage admin sweep --idle 0
    """
    result = drain_and_sweep(root, idle_minutes=idle_minutes)
    counts = options.note_run().counts
    counts.update(captured=len(result.captured), unchanged=result.unchanged, failed=len(result.failed))
    if as_json:
        print_json(result)
        return 0
    for token in result.captured:
        print_text(f"captured: session {token}")
    for session, why in result.failed:
        print_text(f"failed: {session}: {why}")
    for store in result.unread:
        print_text(store.describe())
    for waiting in result.waiting:
        print_text(f"waiting: {waiting.describe(format_when)}")
    captured = pluralize(len(result.captured), "session")
    print_text(
        f"{captured} captured, {result.unchanged} unchanged, {len(result.waiting)} still open,"
        f" {result.gone} without a transcript"
    )
    if unshown := run_in_workspace(root, describe_unshown):
        print_text(unshown)
    return 0


def _as_json(result: DrainResult) -> dict[str, Any]:
    # dataclasses.asdict would rebuild a Counter from its pairs, and so count those
    values = {name: getattr(result, name) for name in result.__dataclass_fields__}
    return {name: dict(value) if isinstance(value, Counter) else value for name, value in values.items()}


def _print_rounds(rounds: list[DrainResult]) -> None:
    outcomes = sum((result.outcomes for result in rounds), Counter[str]())
    ignored = sum((result.ignored for result in rounds), Counter[str]())
    if not rounds:
        print_text("another worker is at it")
    for status, count in sorted(outcomes.items()):
        print_text(f"{status}: {count}")
    for why, count in sorted(ignored.items()):
        print_text(f"ignored, {why}: {count}")
    for result in rounds:
        for key, why in result.put_off:
            print_text(f"tried again later: {key}: {why}")
        if result.left:
            print_text(f"left for the next worker: {result.left}")
        if result.embedded or result.unembedded:
            print_text(f"embedded: {result.embedded}" + (f", then {result.unembedded}" if result.unembedded else ""))
        for key, why in result.given_up:
            print_text(f"given up: {key}: {why}")
    has_more = any(result.put_off or result.given_up or result.embedded for result in rounds)
    if rounds and not (outcomes or ignored or has_more):
        print_text("nothing was waiting")
