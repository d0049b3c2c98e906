"""`scripts/load`: runs the load, prints what came of it, and fails unless it is clean."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from loads.judging import Verdict, judged
from loads.sessions import Load
from loads.working import Tally, worked


def main(arguments: Sequence[str] | None = None) -> int:
    load = _options(arguments)
    with TemporaryDirectory(prefix="lineage-load-") as folder:
        root = Path(folder, "workspace")
        tally, seconds = worked(root, load)
        verdict = judged(root, load, tally)
    _report(load, tally, seconds, verdict)
    return 0 if verdict.is_clean else 1


def _options(arguments: Sequence[str] | None) -> Load:
    parser = argparse.ArgumentParser(prog="scripts/load", description="Many processes, one workspace, no loss.")
    parser.add_argument("--processes", type=int, default=64, metavar="N", help="at once (default: 64)")
    parser.add_argument("--sessions", type=int, default=100, metavar="N", help="of each process (default: 100)")
    parser.add_argument("--retries", type=int, default=3, metavar="N", help="ends of each session (default: 3)")
    options = parser.parse_args(arguments)
    return Load(options.processes, options.sessions, min(options.retries, options.processes))


def _report(load: Load, tally: Tally, seconds: float, verdict: Verdict) -> None:
    ends = tally.outcomes.total() + tally.errors.total()
    print(f"{load.processes} processes × {load.sessions} sessions × {load.retries} ends, {os.cpu_count()} cores")
    rows = (
        ("sessions", len(load.ids)),
        ("ends", ends),
        *((f"  {status}", count) for status, count in sorted(tally.outcomes.items())),
        ("lost", verdict.lost),
        ("torn", verdict.torn),
        ("duplicates", verdict.doubled),
        ("errors", verdict.errors),
        ("findings of verify", verdict.findings),
        ("MEMORY.md equals a render from scratch", "no" if verdict.stale else "yes"),
        ("sessions/s", f"{len(load.ids) / seconds:.1f}"),
        ("ends/s", f"{ends / seconds:.1f}"),
        ("seconds", f"{seconds:.1f}"),
        ("longest wait, seconds", f"{tally.longest:.2f}"),
    )
    for name, value in rows:
        print(f"{name:<40}{value}")
    for error, count in tally.errors.most_common(5):
        print(f"{count} × {error}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
