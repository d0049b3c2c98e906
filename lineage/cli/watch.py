"""`lineage admin watch` and `lineage admin mirror`: loops that SIGTERM ends, and the output of their rounds."""

import json
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click

from lineage.app import clock, folder_mirror, workspace_watcher
from lineage.app.locations import format_location, suppress_hooks
from lineage.cli import options
from lineage.cli.output import is_terminal, print_error, print_json, print_result, print_text
from lineage.core.base.plural import pluralize
from lineage.errors import FindingsReported, LineageError
from lineage.pipeline.maintenance.reindex import ReindexReport
from lineage.pipeline.transfer.mirror.run import MirrorResult


@contextmanager
def _stop_on_sigterm(stop: Callable[[], object]) -> Iterator[None]:
    """Let SIGTERM call `stop`, so that the running round is finished first."""
    before = signal.signal(signal.SIGTERM, lambda *_: stop())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _print_round(line: str) -> None:
    """Print a line with the time before it."""
    print_text(f"{clock.now()} {line}")


def _print_json_round(values: Mapping[str, Any]) -> None:
    """Print an object on one line, its time under `at`."""
    print_text(json.dumps({"at": clock.now(), **values}, ensure_ascii=True))


def _print_round_error(error: LineageError) -> None:
    """Print the error of a round; the loop goes on."""
    print_error(error.message, error.hint)


@click.command("watch")
@click.option(
    "--every", type=click.FloatRange(0.1, 86400), metavar="SECONDS", default=60, show_default=True,
    help="How often to look at everything.",
)  # fmt: skip
@click.option("--once", is_flag=True, help="Look once, do what is due, and end.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, without --once one a line.")
@options.workspace
def command(root: Path, every: float, once: bool, as_json: bool) -> int:
    """Keep index and MEMORY.md up to date with the files, until you stop it.

    It sees changes within about a second, and looks at everything every --every seconds. If more than half of
    the files are gone, it says so and changes nothing.

    \b
    Example:
      lineage admin watch --once
    """
    suppress_hooks()
    if once:
        report = workspace_watcher.run_once(root)
        return print_result(_report_as_json(report), lambda: print_text(_format_report(report)), as_json=as_json)

    def on_report(report: ReindexReport) -> None:
        if as_json:
            _print_json_round(_report_as_json(report))
        else:
            _print_round(_format_report(report))

    with workspace_watcher.open_watcher(root) as watcher, _stop_on_sigterm(watcher.stop):
        if not as_json:
            print_text(f"watching {format_location(root)}")
        watcher.run(interval_seconds=every, on_report=on_report, on_error=_print_round_error)
    return 0


def _report_as_json(report: ReindexReport) -> dict[str, Any]:
    counts = ("added", "changed", "dropped", "unchanged", "claims_rebuilt", "books")
    return {
        **{name: getattr(report, name) for name in counts},
        "memory_md": sum(published.written for published in report.published),
        **{name: len(getattr(report, name)) for name in ("problems", "strays", "buried")},
    }


_LABELS = {
    "added": "added", "changed": "changed", "dropped": "dropped", "claims_rebuilt": "claims rebuilt",
    "books": "books brought up to date", "memory_md": "MEMORY.md written",
    "problems": "without a row: see `lineage verify`", "strays": "not ours, left alone",
    "buried": "of removed sessions, ignored",
}  # fmt: skip


def _format_report(report: ReindexReport) -> str:
    counts = _report_as_json(report)
    return ", ".join(f"{counts[name]} {word}" for name, word in _LABELS.items() if counts[name]) or "nothing changed"


@click.command("mirror")
@click.argument("folder", metavar="FOLDER", callback=options.require_name)
@click.option(
    "--every", type=click.FloatRange(1, 86400), metavar="SECONDS", default=60, show_default=True, help="How often."
)
@click.option("--once", is_flag=True, help="One round, then end. Exit 4 where it leaves findings.")
@click.option("--yes", is_flag=True, help="With --once: missing files were deleted on purpose.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, without --once one a line.")
@options.workspace
def mirror(root: Path, folder: str, every: float, once: bool, yes: bool, as_json: bool) -> int:
    """Keep a folder and the workspace the same, both ways, until you stop it.

    Sessions are copied, books brought together by entry, notes by line; a removal on either side removes on the other.
    Where both sides changed the same lines of a note, the folder's version is kept beside it as `NAME (conflict DATE)`.

    \b
    Example:
      lineage admin mirror ~/vault --once
    """
    suppress_hooks()
    with folder_mirror.open_mirror(root, folder) as run_round:
        if once:
            return _print_once(root, run_round(yes), as_json=as_json)
        rounds = folder_mirror.RoundTimer(every)
        with _stop_on_sigterm(rounds.stop):
            if not as_json:
                print_text(f"mirroring {format_location(root)} in {folder}")
            folder_mirror.run_rounds(
                run_round, rounds, partial(_print_mirror_round, as_json=as_json), _print_round_error
            )
    return 0


def _print_once(root: Path, result: MirrorResult, *, as_json: bool) -> int:
    if as_json:
        print_json(_mirror_as_json(result))
    else:
        print_text(_format_mirror(result) or "nothing changed")
        _print_details(result)
        if is_terminal():
            print_text(f"workspace: {format_location(root)}")
    return FindingsReported.exit_code if result.findings else 0


def _print_mirror_round(result: MirrorResult, *, as_json: bool) -> None:
    """Print a round that changed something or has findings; a silent one says nothing."""
    line = _format_mirror(result)
    if line and as_json:
        _print_json_round(_mirror_as_json(result))
    elif line:
        _print_round(line)
        _print_details(result)


def _mirror_as_json(result: MirrorResult) -> dict[str, Any]:
    findings = [{"path": path, "what": what} for path, what in result.findings]
    lists = {name: getattr(result, name) for name in ("removed", "conflicts", "deferred")}
    return {**asdict(result.counts), **lists, "findings": findings}


def _format_mirror(result: MirrorResult) -> str:
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
