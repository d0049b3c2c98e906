"""`lineage doctor`."""

from dataclasses import asdict
from pathlib import Path

import click

from lineage.cli import options
from lineage.cli.output import say, say_json
from lineage.core.wording import counted
from lineage.errors import Problems


@click.command("doctor")
@options.as_json
@options.workspace
def command(root: Path, as_json: bool) -> int:
    """Look for what keeps sessions from becoming memory: hooks, the program, what waits and what was given up.

    Exit 4 where something is found; each finding comes with what mends it.

    \b
    Example:
      lineage doctor
      lineage doctor --json
    """
    from lineage.app.doctor import examine

    found = examine(root)
    if as_json:
        say_json(asdict(found))
        return Problems.exit_code if found.findings else 0
    for one in found.harnesses:
        last = found.events.get(one.harness)
        say(f"{one.harness:12} {one.state}, " + (f"last event {last}" if last else "no event yet"))
    if not found.on_path:
        say("`lineage` is not on PATH: installed hooks name it with its whole path, plug-ins do not find it")
    for finding in found.findings:
        say(f"{finding.where}: {finding.what}\n  → {finding.mend}")
    say(counted(len(found.findings), "finding") if found.findings else "nothing stands in the way")
    return Problems.exit_code if found.findings else 0
