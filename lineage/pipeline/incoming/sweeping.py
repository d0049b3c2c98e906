"""The sweep: sessions that ended without a signal, or grew since they were captured. (harnesses.md 0.2)"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lineage.core.times import from_epoch, shifted
from lineage.errors import DamagedIndex
from lineage.harness.projects import project_of
from lineage.pipeline.behind import away
from lineage.pipeline.house import CAPTURED, House
from lineage.pipeline.incoming.checkpointing import offer
from lineage.pipeline.incoming.locating import Machine, located
from lineage.pipeline.incoming.settling import size_of
from lineage.pipeline.incoming.working import capture_session, reason
from lineage.telemetry import Seen

IDLE_MINUTES = 10
_NOT_YET = "9999"


@dataclass(slots=True)
class Swept:
    """What the sweep looked at: `captured` are tokens, `waiting` sessions are still being written, `gone` have no
    transcript any more, `failed` are (session, reason)."""

    captured: list[str] = field(default_factory=list)
    unchanged: int = 0
    waiting: int = 0
    gone: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)


def sweep(house: House, machine: Machine, *, idle_minutes: int = IDLE_MINUTES) -> Swept:
    """Captures every session that a hook once told of and whose transcript grew since, unless it was written to in the
    last `idle_minutes`. Then prepares the blocks that new sessions begin with."""
    done = Swept()
    if unreachable := away(house):
        done.failed.append(("what hooks told of", unreachable.message))
        return done
    quiet_since = shifted(house.now, milliseconds=-60_000 * idle_minutes)
    for seen in house.telemetry.seen():
        path = located(machine, seen.harness, seen.session_id, seen.transcript_path)
        size = size_of(path) if path else None
        if path is None or size is None:
            done.gone += 1
        elif size == seen.captured_size:
            done.unchanged += 1
        elif _written_at(path) > quiet_since:
            done.waiting += 1
        else:
            _capture(house, seen, path, size, done)
    if done.captured:
        offer(house)
    return done


def _capture(house: House, seen: Seen, path: Path, size: int, done: Swept) -> None:
    payload: dict[str, Any] = {
        "harness": seen.harness,
        "agent_id": seen.agent_id,
        "session_id": seen.session_id,
        "session_key": seen.session_key,
        "lane": seen.lane,
        "transcript_path": str(path),
        "reason": "sweep",
        "project": project_of(seen.cwd),
    }
    try:
        outcome = capture_session(house, payload, house.now)
    except DamagedIndex:
        raise
    except Exception as error:  # noqa: BLE001  (one that nobody expected must not keep the others from capture)
        done.failed.append((seen.session_id, reason(error)))
        return
    house.telemetry.captured_up_to(seen, size)
    if outcome.status == CAPTURED:
        done.captured.append(outcome.session_token)
    else:
        done.unchanged += 1


def _written_at(path: Path) -> str:
    try:
        return from_epoch(path.stat().st_mtime)
    except FileNotFoundError:  # deleted since: the next sweep sees that it is gone
        return _NOT_YET
