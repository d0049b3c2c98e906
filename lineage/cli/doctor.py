"""What keeps sessions from becoming memory, printed; `lineage doctor`, whose findings `lineage status` shows too."""

from pathlib import Path

from lineage.app import hooks
from lineage.app.doctor import DoctorReport, examine
from lineage.cli import options
from lineage.cli.hooks import print_parts
from lineage.cli.output import format_when, print_json, print_text
from lineage.core.base.plural import pluralize
from lineage.errors import FindingsReported


@options.command("doctor")
def command(root: Path, as_json: bool) -> int:
    """Look for what keeps sessions from becoming memory: hooks, the program, what waits and what was given up.

    It looks into the harnesses' own folders for sessions of the last 14 days that no capture holds, and for those that
    Claude Code deletes within four. Exit 4 where something is found; each line ends with the command that helps. What
    keeps no session from memory is said too, with exit 0: what sessions get of installed hooks and how each part is
    turned off, open sessions, a harness without hooks that has no session, and what other agents keep.

    \b
    Example:
      lineage status
      lineage status --json
    """
    report = examine(root)
    if as_json:
        print_json(report)
        return FindingsReported.exit_code if report.findings else 0
    _print_report(report)
    return FindingsReported.exit_code if report.findings else 0


def print_findings(report: DoctorReport) -> None:
    """Print how many problems there are, then each, with the command that helps."""
    if not report.findings:
        print_text("no problems found")
        return
    print_text(
        f"{pluralize(len(report.findings), 'problem')} found; `lineage status --fix` runs what helps, after asking"
    )
    _print_each_finding(report)


def print_notes(report: DoctorReport) -> None:
    """Print what is worth knowing and keeps no session from memory, each with the command that helps."""
    if not report.on_path:
        print_text(hooks.describe_off_path())
    for waiting in report.waiting:
        print_text(f"waiting: {waiting.describe(format_when)} → lineage admin sweep --idle 0")
    for note in report.notes:
        print_text(f"note: {note.where}: {note.what} → {note.mend}")
    for store in report.unread:
        print_text(store.describe())


def _print_report(report: DoctorReport) -> None:
    for status in report.harnesses:
        last = report.events.get(status.harness)
        print_text(
            f"{status.harness:12} {status.state}, " + (f"last event {format_when(last)}" if last else "no event yet")
        )
    if report.told:
        print_parts(report.told)
    _print_each_finding(report)
    print_notes(report)
    if report.unshown:
        print_text(report.unshown)
    print_text(f"{pluralize(len(report.findings), 'problem')} found" if report.findings else "no problems found")


def _print_each_finding(report: DoctorReport) -> None:
    for finding in report.findings:
        print_text(f"{finding.where}: {finding.what} → {finding.mend}")
