"""`lineage mirror`."""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click

from lineage.app import folder_mirror
from lineage.app.locations import format_location
from lineage.app.machine_config import suppress_hooks
from lineage.cli import options
from lineage.cli.loop_output import print_json_round, print_round, print_round_error, stop_on_sigterm
from lineage.cli.output import print_json, print_text
from lineage.core.base.plural import pluralize
from lineage.errors import FindingsReported
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
    suppress_hooks()
    with folder_mirror.open_mirror(root, folder) as mirror:
        if once:
            return _print_once(mirror(yes), as_json=as_json)
        rounds = folder_mirror.RoundTimer(every)
        with stop_on_sigterm(rounds.stop):
            if not as_json:
                print_text(f"mirroring {format_location(root)} in {folder}")
            folder_mirror.run_rounds(mirror, rounds, partial(_print_round, as_json=as_json), print_round_error)
    return 0


def _print_once(result: MirrorResult, *, as_json: bool) -> int:
    if as_json:
        print_json(_as_json(result))
    else:
        print_text(_format_line(result) or "nothing changed")
        _print_details(result)
    return FindingsReported.exit_code if result.findings else 0


def _print_round(result: MirrorResult, *, as_json: bool) -> None:
    """Print a round that changed something or has findings; a silent one says nothing."""
    line = _format_line(result)
    if line and as_json:
        print_json_round(_as_json(result))
    elif line:
        print_round(line)
        _print_details(result)


def _as_json(result: MirrorResult) -> dict[str, Any]:
    findings = [{"path": path, "what": what} for path, what in result.findings]
    lists = {name: getattr(result, name) for name in ("removed", "conflicts", "deferred")}
    return {**asdict(result.counts), **lists, "findings": findings}


def _format_line(result: MirrorResult) -> str:
    parts = [f"{number} {name}" for name, number in asdict(result.counts).items() if number]
    if result.removed:
        parts.append(f"{pluralize(len(result.removed), 'session')} removed")
    if result.conflicts:
        parts.append(pluralize(len(result.conflicts), "conflict"))
    if result.deferred:
        parts.append(f"{len(result.deferred)} left for the next round")
    if result.findings:
        parts.append(pluralize(len(result.findings), "finding"))
    return ", ".join(parts)


def _print_details(result: MirrorResult) -> None:
    for name in result.conflicts:
        print_text(f"  kept beside the other version: {name}")
    for path, what in result.findings:
        print_text(f"  {path}: {what}")
