"""`lineage mirror`."""

import json
import os
import signal
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lineage.cli import options
from lineage.cli.output import plain, say, say_json
from lineage.core.wording import counted
from lineage.errors import LineageError, Problems

if TYPE_CHECKING:
    from lineage.pipeline.mirroring.mirror import Mirrored


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
    from lineage.app import mirroring
    from lineage.app.places import shown

    with mirroring.mirror_of(root, folder) as mirror:
        if once:
            return _report_once(mirror(yes), as_json=as_json)
        rounds = mirroring.Rounds(every)
        before = signal.signal(signal.SIGTERM, lambda *_: rounds.end())
        try:
            if not as_json:
                say(f"mirroring {shown(root)} in {folder}")
            mirroring.run(mirror, rounds, _say_json_line if as_json else _say_line, _complain)
        finally:
            signal.signal(signal.SIGTERM, before)
    return 0


def _report_once(done: "Mirrored", *, as_json: bool) -> int:
    if as_json:
        say_json(_as_json(done))
    else:
        say(_line(done) or "nothing changed")
        _say_details(done)
    return Problems.exit_code if done.findings else 0


def _say_line(done: "Mirrored") -> None:
    from lineage.app import now

    if _line(done):
        say(f"{now()} {_line(done)}")
        _say_details(done)


def _say_json_line(done: "Mirrored") -> None:
    from lineage.app import now

    if _line(done):
        say(json.dumps({"at": now(), **_as_json(done)}, ensure_ascii=True))


def _as_json(done: "Mirrored") -> dict[str, Any]:
    findings = [{"path": path, "what": what} for path, what in done.findings]
    lists = {"removed": done.removed, "conflicts": done.conflicts, "deferred": done.deferred, "findings": findings}
    return {**asdict(done.counts), **lists}


def _line(done: "Mirrored") -> str:
    said = [f"{number} {name}" for name, number in asdict(done.counts).items() if number]
    if done.removed:
        said.append(f"{counted(len(done.removed), 'session')} removed")
    if done.conflicts:
        said.append(counted(len(done.conflicts), "conflict"))
    if done.deferred:
        said.append(f"{len(done.deferred)} left for the next round")
    if done.findings:
        said.append(counted(len(done.findings), "finding"))
    return ", ".join(said)


def _say_details(done: "Mirrored") -> None:
    for name in done.conflicts:
        say(f"  kept beside the other version: {name}")
    for path, what in done.findings:
        say(f"  {path}: {what}")


def _complain(error: LineageError) -> None:
    click.echo(f"lineage: {plain(error.message)}\n  {plain(error.hint)}", err=True)
