"""`lineage work`."""

import os
from collections import Counter
from pathlib import Path
from typing import Any

import click

from lineage.app.worker import run_worker
from lineage.cli import options
from lineage.cli.output import print_json, print_text
from lineage.pipeline.ingest.worker import DrainResult


@click.command("work")
@options.as_json
@options.workspace
def command(root: Path, as_json: bool) -> int:
    """Capture what hooks have signalled, and end. A hook starts it by itself; one runs at a time.

    \b
    Example:
      lineage work
    """
    os.environ["LINEAGE_SUPPRESS"] = "1"  # whatever it starts rings no doorbell
    rounds = run_worker(root)
    if as_json:
        print_json({"rounds": [_as_json(done) for done in rounds]})
    else:
        _print_rounds(rounds)
    return 0


def _as_json(done: DrainResult) -> dict[str, Any]:
    """Its fields; `dataclasses.asdict` makes pairs of what a Counter counts."""
    values = {name: getattr(done, name) for name in done.__dataclass_fields__}
    return {name: dict(value) if isinstance(value, Counter) else value for name, value in values.items()}


def _print_rounds(rounds: list[DrainResult]) -> None:
    outcomes = sum((done.outcomes for done in rounds), Counter[str]())
    ignored = sum((done.ignored for done in rounds), Counter[str]())
    if not rounds:
        print_text("another worker is at it")
    for status, count in sorted(outcomes.items()):
        print_text(f"{status}: {count}")
    for why, count in sorted(ignored.items()):
        print_text(f"ignored, {why}: {count}")
    for done in rounds:
        for key, why in done.put_off:
            print_text(f"tried again later: {key}: {why}")
        if done.left:
            print_text(f"left for the next worker: {done.left}")
        if done.embedded or done.unembedded:
            print_text(f"embedded: {done.embedded}" + (f", then {done.unembedded}" if done.unembedded else ""))
        for key, why in done.given_up:
            print_text(f"given up: {key}: {why}")
    if rounds and not (outcomes or ignored or any(done.put_off or done.given_up or done.embedded for done in rounds)):
        print_text("nothing was waiting")
