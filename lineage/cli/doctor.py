"""`lineage doctor`."""

from pathlib import Path

import click

from lineage.app.doctor import examine
from lineage.cli import options
from lineage.cli.output import print_json, print_text
from lineage.core.base.plural import pluralize
from lineage.errors import FindingsReported


@click.command("doctor")
@options.common
def command(root: Path, as_json: bool) -> int:
    """Look for what keeps sessions from becoming memory: hooks, the program, what waits and what was given up.

    Exit 4 where something is found; each finding comes with what mends it.

    \b
    Example:
      lineage doctor
      lineage doctor --json
    """
    report = examine(root)
    if as_json:
        print_json(report)
        return FindingsReported.exit_code if report.findings else 0
    for status in report.harnesses:
        last = report.events.get(status.harness)
        print_text(f"{status.harness:12} {status.state}, " + (f"last event {last}" if last else "no event yet"))
    if not report.on_path:
        print_text("`lineage` is not on PATH: installed hooks name it with its whole path, plug-ins do not find it")
    for finding in report.findings:
        print_text(f"{finding.where}: {finding.what}\n  → {finding.mend}")
    print_text(pluralize(len(report.findings), "finding") if report.findings else "nothing stands in the way")
    return FindingsReported.exit_code if report.findings else 0
