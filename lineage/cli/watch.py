"""`lineage watch`."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lineage.cli import options
from lineage.cli.output import plain, say, say_json
from lineage.errors import LineageError

if TYPE_CHECKING:
    from lineage.app.watching import Watcher
    from lineage.pipeline.upkeep.reindexing import Report


@click.command("watch")
@click.option(
    "--every",
    type=click.FloatRange(0.1, 86400),
    metavar="SECONDS",
    default=60,
    show_default=True,
    help="How often to look without being told of a change.",
)
@click.option("--once", is_flag=True, help="Look once, do what is due, and end.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, without --once one a line.")
@options.workspace
def command(root: Path, every: float, once: bool, as_json: bool) -> int:
    """Keep index and MEMORY.md what the files say, whoever changes these, until it is ended.

    Changes are taken in within about a second; with --every also those that the system did not tell of, and what waits
    in the spool is finished. Where more than half of the files are gone it says so and changes nothing.

    \b
    Example:
      lineage watch --once
    """
    os.environ["LINEAGE_SUPPRESS"] = "1"  # whatever it starts rings no doorbell
    from lineage.app import watching
    from lineage.app.places import shown

    if once:
        report = watching.once(root)
        if as_json:
            say_json(_as_json(report))
        else:
            say(_line(report))
        return 0
    with watching.watcher(root) as watcher, _ended_by_sigterm(watcher):
        if not as_json:
            say(f"watching {shown(root)}")
        watcher.run(every=every, on_report=_say_json_line if as_json else _say_line, on_error=_complain)
    return 0


@contextmanager
def _ended_by_sigterm(watcher: "Watcher") -> Iterator[None]:
    """SIGTERM ends the watch after the round that runs."""
    before = signal.signal(signal.SIGTERM, lambda *_: watcher.end())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _say_line(report: "Report") -> None:
    from lineage.app import now

    say(f"{now()} {_line(report)}")


def _say_json_line(report: "Report") -> None:
    from lineage.app import now

    say(json.dumps({"at": now(), **_as_json(report)}, ensure_ascii=True))


def _as_json(report: "Report") -> dict[str, Any]:
    return {
        **{
            name: getattr(report, name)
            for name in ("added", "changed", "dropped", "unchanged", "claims_rebuilt", "books")
        },
        "memory_md": sum(published.written for published in report.published),
        **{name: len(getattr(report, name)) for name in ("problems", "strays", "buried")},
    }


_WORDS = {
    "added": "added",
    "changed": "changed",
    "dropped": "dropped",
    "claims_rebuilt": "claims rebuilt",
    "books": "books brought up to date",
    "memory_md": "MEMORY.md written",
    "problems": "without a row: see `lineage verify`",
    "strays": "not ours, left alone",
    "buried": "of removed sessions, ignored",
}


def _line(report: "Report") -> str:
    counts = _as_json(report)
    return ", ".join(f"{counts[name]} {word}" for name, word in _WORDS.items() if counts[name]) or "nothing changed"


def _complain(error: LineageError) -> None:
    click.echo(f"lineage: {plain(error.message)}\n  {plain(error.hint)}", err=True)
