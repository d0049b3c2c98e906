"""`lineage mirror`."""

import json
import os
import signal
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from lineage.app import clock, folder_mirror
from lineage.app.locations import format_location
from lineage.cli import options
from lineage.cli.output import print_json, print_text, strip_controls
from lineage.core.base.plural import pluralize
from lineage.errors import FindingsReported, LineageError
from lineage.pipeline.transfer.mirror.run import MirrorResult


@click.command("mirror")
@click.argument("folder", metavar="FOLDER")
@click.option(
    "--every", type=click.FloatRange(1, 86400), metavar="SECONDS", default=60, show_default=True, help="How often."
)
@click.option("--once", is_flag=True, help="One round, then end. Exit 4 where it leaves findings.")
@click.option("--yes", is_flag=True, help="With --once: what looks lost is meant to be gone.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, without --once one a line.")
@options.workspace
def command(root: Path, folder: str, every: float, once: bool, yes: bool, as_json: bool) -> int:
    """Keep a folder, for Obsidian say, in step with the workspace, both ways, until it is ended.

    Sessions are copied, books brought together by entry, notes by line; a removal on either side removes on the other.
    Where both sides changed the same lines of a note, the folder's version is kept beside it as `NAME (conflict DATE)`.

    \b
    Example:
      lineage mirror ~/vault --once
    """
    os.environ["LINEAGE_SUPPRESS"] = "1"  # whatever it starts rings no doorbell
    with folder_mirror.open_mirror(root, folder) as mirror:
        if once:
            return _print_once(mirror(yes), as_json=as_json)
        rounds = folder_mirror.RoundTimer(every)
        before = signal.signal(signal.SIGTERM, lambda *_: rounds.stop())
        try:
            if not as_json:
                print_text(f"mirroring {format_location(root)} in {folder}")
            folder_mirror.run_rounds(mirror, rounds, _print_json_line if as_json else _print_line, _print_error)
        finally:
            signal.signal(signal.SIGTERM, before)
    return 0


def _print_once(done: MirrorResult, *, as_json: bool) -> int:
    if as_json:
        print_json(_as_json(done))
    else:
        print_text(_format_line(done) or "nothing changed")
        _print_details(done)
    return FindingsReported.exit_code if done.findings else 0


def _print_line(done: MirrorResult) -> None:
    if _format_line(done):
        print_text(f"{clock.now()} {_format_line(done)}")
        _print_details(done)


def _print_json_line(done: MirrorResult) -> None:
    if _format_line(done):
        print_text(json.dumps({"at": clock.now(), **_as_json(done)}, ensure_ascii=True))


def _as_json(done: MirrorResult) -> dict[str, Any]:
    findings = [{"path": path, "what": what} for path, what in done.findings]
    lists = {"removed": done.removed, "conflicts": done.conflicts, "deferred": done.deferred, "findings": findings}
    return {**asdict(done.counts), **lists}


def _format_line(done: MirrorResult) -> str:
    said = [f"{number} {name}" for name, number in asdict(done.counts).items() if number]
    if done.removed:
        said.append(f"{pluralize(len(done.removed), 'session')} removed")
    if done.conflicts:
        said.append(pluralize(len(done.conflicts), "conflict"))
    if done.deferred:
        said.append(f"{len(done.deferred)} left for the next round")
    if done.findings:
        said.append(pluralize(len(done.findings), "finding"))
    return ", ".join(said)


def _print_details(done: MirrorResult) -> None:
    for name in done.conflicts:
        print_text(f"  kept beside the other version: {name}")
    for path, what in done.findings:
        print_text(f"  {path}: {what}")


def _print_error(error: LineageError) -> None:
    click.echo(f"lineage: {strip_controls(error.message)}\n  {strip_controls(error.hint)}", err=True)
