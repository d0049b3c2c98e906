"""Printing what `session-end` and `compaction` did."""

from collections.abc import Mapping

from lineage.cli.output import say, say_json
from lineage.pipeline.house import CAPTURED, REFUSED, Outcome


def report(outcome: Outcome, *, as_json: bool) -> int:
    """Prints the outcome; the exit code: 1 where the session was refused, else 0."""
    if as_json:
        say_json(outcome.as_json())
    else:
        _say(outcome)
    return 1 if outcome.status == REFUSED else 0


def _say(outcome: Outcome) -> None:
    reason = f" ({outcome.reason})" if outcome.reason else ""
    say(f"{outcome.status}{reason}: session {outcome.session_token}")
    if outcome.status == CAPTURED:
        for path in (outcome.transcript_path, outcome.summary_path, outcome.compaction_path, outcome.manifest_path):
            if path:
                say(f"  {path}")
        say(f"  {outcome.memory_sentence}")
    if outcome.learned["kept"] or outcome.learned["pending"]:
        kept, pending = outcome.learned["kept"], outcome.learned["pending"]
        say(f"  learned: {kept} kept, {pending} waiting for `lineage book confirm`")
    if outcome.learned["dropped"]:
        say("  not learned: " + _counts(outcome.learned["dropped"]))
    if outcome.redactions:
        say("  redacted: " + _counts(outcome.redactions))
    if outcome.skipped:
        say("  not turns: " + _counts(outcome.skipped))


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
