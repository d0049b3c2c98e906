"""Printing what `session-end` and `compaction` did."""

from collections.abc import Mapping

from lineage.cli.output import print_json, print_text
from lineage.pipeline.capture.result import CAPTURED, REFUSED, CaptureResult


def report(outcome: CaptureResult, *, as_json: bool) -> int:
    """Prints the outcome; the exit code: 1 where the session was refused, else 0."""
    if as_json:
        print_json(outcome.as_json())
    else:
        _print_result(outcome)
    return 1 if outcome.status == REFUSED else 0


def _print_result(outcome: CaptureResult) -> None:
    reason = f" ({outcome.reason})" if outcome.reason else ""
    print_text(f"{outcome.status}{reason}: session {outcome.session_token}")
    if outcome.status == CAPTURED:
        for path in (outcome.transcript_path, outcome.summary_path, outcome.compaction_path, outcome.manifest_path):
            if path:
                print_text(f"  {path}")
        print_text(f"  {outcome.memory_sentence}")
    if outcome.learned["kept"] or outcome.learned["pending"]:
        kept, pending = outcome.learned["kept"], outcome.learned["pending"]
        print_text(f"  learned: {kept} kept, {pending} waiting for `lineage book confirm`")
    if outcome.learned["dropped"]:
        print_text("  not learned: " + _format_counts(outcome.learned["dropped"]))
    if outcome.redactions:
        print_text("  redacted: " + _format_counts(outcome.redactions))
    if outcome.skipped:
        print_text("  not turns: " + _format_counts(outcome.skipped))


def _format_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
