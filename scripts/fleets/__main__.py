"""`scripts/fleet`: runs the fleet, prints what came of it, and fails unless it is clean."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from fleets.conducting import Run, conducted
from fleets.judging import Verdict, judged
from fleets.plan import AGENTS, Fleet
from fleets.servers import Servers, servers


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    with TemporaryDirectory(prefix="lineage-fleet-") as root, servers(Path(root), options.latency / 1000) as running:
        fleets = list(_growing(options) if options.growth else _hunted(options))
        results = [(fleet, *_run(Path(root, f"fleet-{fleet.machines}"), fleet, running)) for fleet in fleets]
    if options.growth:
        _table([(fleet, run) for fleet, run, _ in results])
    else:
        _report(*results[0])
    return 0 if all(verdict.is_clean for *_, verdict in results) else 1


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/fleet", description="Many machines, one memory, no loss.")
    parser.add_argument("--machines", type=int, default=8, metavar="N", help="at once (default: 8)")
    parser.add_argument("--sessions", type=int, default=2000, metavar="N", help="in all (default: 2000)")
    parser.add_argument("--removals", type=int, default=20, metavar="N", help="sessions removed midway (default: 20)")
    parser.add_argument("--kills", type=int, default=24, metavar="N", help="machines killed midway (default: 24)")
    parser.add_argument("--cut", type=float, default=20, metavar="SECONDS", help="one is cut off (default: 20)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="which are killed (default: 1)")
    parser.add_argument("--latency", type=float, default=0, metavar="MS", help="how far the servers are (default: 0)")
    parser.add_argument("--growth", action="store_true", help="1, 2, 4 … machines undisturbed, as a table")
    return parser.parse_args(arguments)


def _hunted(options: argparse.Namespace) -> Iterator[Fleet]:
    yield Fleet(options.machines, options.sessions, options.removals, options.kills, options.cut, options.seed)


def _growing(options: argparse.Namespace) -> Iterator[Fleet]:
    machines = 1
    while machines <= options.machines:
        yield Fleet(machines, options.sessions)
        machines *= 2


def _run(root: Path, fleet: Fleet, running: Servers) -> tuple[Run, Verdict]:
    home = root / "judge"
    configuration = home / ".config" / "lineage" / "config.toml"
    configuration.parent.mkdir(parents=True)
    configuration.write_text(running.near())
    os.environ["HOME"] = str(home)
    run = conducted(root, fleet, running)
    return run, judged(run.places[0].url, fleet, run)


def _report(fleet: Fleet, run: Run, verdict: Verdict) -> None:
    print(f"{fleet.machines} machines × {AGENTS} agents, {fleet.sessions} sessions, {os.cpu_count()} cores")
    rows = (
        ("sessions", fleet.sessions),
        ("tasks", run.outcomes.total()),
        *((f"  {outcome}", count) for outcome, count in sorted(run.outcomes.items())),
        ("machines killed", run.kills),
        ("machines cut off", run.cuts),
        ("attempts that failed", run.troubles.total()),
        ("lost", verdict.lost),
        ("torn", verdict.torn),
        ("twice", verdict.doubled),
        ("brought back", verdict.back),
        ("errors", verdict.errors),
        ("findings of verify", verdict.findings),
        ("machines that see something else", verdict.views),
        ("sessions/s", f"{fleet.sessions / run.seconds:.1f}"),
        ("seconds", f"{run.seconds:.1f}"),
    )
    for name, value in rows:
        print(f"{name:<40}{value}")
    for trouble, count in run.troubles.most_common(8):
        print(f"{count} × {trouble}", file=sys.stderr)


def _table(results: Sequence[tuple[Fleet, Run]]) -> None:
    """Throughput and how it grows, for scripts/benchmarks/README.md."""
    print("| machines | agents | sessions | seconds | sessions/s | × one machine |\n|---|---|---|---|---|---|")
    first = results[0][0].sessions / results[0][1].seconds
    for fleet, run in results:
        rate = fleet.sessions / run.seconds
        cells = (fleet.machines, fleet.machines * AGENTS, fleet.sessions, f"{run.seconds:.1f}", f"{rate:.1f}")
        print(f"| {' | '.join(map(str, cells))} | {rate / first:.2f} |")


if __name__ == "__main__":
    sys.exit(main())
