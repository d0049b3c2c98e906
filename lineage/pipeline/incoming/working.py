"""The worker: what hooks have signalled is captured, in the order in which they rang. (harnesses.md 0.1, 0.2)

Turn ends say only that a session is there and how far it got; session ends capture it, compactions keep their summary.
What fails is tried again, later each time, and set aside in the end, with the reason and all that it holds.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lineage.canon import Rung
from lineage.core.identity import checked_agent, checked_id
from lineage.core.request import COMPACTION, SESSION_END, request
from lineage.core.times import shifted
from lineage.errors import DamagedIndex, EngineMissing, IndexAway, InvalidInput, LineageError, TranscriptError
from lineage.extract import digest
from lineage.harness import ADAPTERS, adapter_of, checked_name, signals
from lineage.harness.projects import project_of
from lineage.harness.signals import Signal
from lineage.pipeline.capture.recorded import keep_recorded
from lineage.pipeline.house import CAPTURED, House, Outcome
from lineage.pipeline.incoming.checkpointing import begun, checkpoint, offer
from lineage.pipeline.incoming.locating import Machine, belonging, located
from lineage.pipeline.incoming.settling import settled
from lineage.pipeline.upkeep.resuming import resume, run
from lineage.store import StoreAway
from lineage.telemetry import Seen

_MOST_ATTEMPTS = 5
_FIRST_DELAY = 15_000
_MADE = "The harness kept no summary of this compaction; lineage made this one from the records."


@dataclass(slots=True)
class Drained:
    """What the worker did: outcomes by status, payloads that say nothing by reason, and what went wrong. `started` says
    that a session began: the time to sweep. `left` are signals for which no time was left, `unkept` counts checkpoints
    that could not be made, by reason; `embedded` counts passages, `unembedded` says why not more."""

    outcomes: Counter[str] = field(default_factory=Counter)
    ignored: Counter[str] = field(default_factory=Counter)
    put_off: list[tuple[str, str]] = field(default_factory=list)
    given_up: list[tuple[str, str]] = field(default_factory=list)
    next_due: str | None = None
    started: bool = False
    left: int = 0
    unkept: Counter[str] = field(default_factory=Counter)
    embedded: int = 0
    unembedded: str = ""


def drain(house: House, machine: Machine, *, may_go_on: Callable[[], bool] = lambda: True) -> Drained:
    """Works off every signal that is due, keeps checkpoints of the sessions that go on, then prepares the blocks that
    new sessions begin with. `may_go_on` is asked before each; what is left over is the next worker's."""
    done = Drained()
    resume(house)
    for rung in house.canon.signals.pending():
        if rung.not_before > house.now:
            done.next_due = min(filter(None, (done.next_due, rung.not_before)))
        elif may_go_on():
            _work_off(house, machine, rung, done)
        else:
            done.left += 1
    try:
        done.unkept = checkpoint(house, machine, may_go_on=may_go_on)
        offer(house)
    except IndexAway as error:
        done.unkept[error.message] += 1
    return done


def _work_off(house: House, machine: Machine, rung: Rung, done: Drained) -> None:
    found = signals.signal(rung.harness, rung.payload)
    if found is None:
        done.ignored[signals.ignored(rung.harness, rung.payload) or ""] += 1
        house.canon.signals.clear(rung)
        return
    try:
        _check(rung, found)
        _EVENTS.get(found.event, _noted)(house, machine, rung, found, done)
    except DamagedIndex:
        raise
    except Exception as error:  # noqa: BLE001  (one that nobody expected must not keep the others waiting for ever)
        _failed(house, rung, error, done)
    else:
        house.telemetry.mark(f"event {rung.harness}", f"{rung.at} {found.event}")
        house.canon.signals.clear(rung)


def _check(rung: Rung, found: Signal) -> None:
    """Raises InvalidInput for what no other attempt will make right."""
    checked_name(rung.harness)
    checked_agent(rung.agent)
    checked_id("session_id", found.session_id)


def _failed(house: House, rung: Rung, error: Exception, done: Drained) -> None:
    why = reason(error)
    attempts = rung.attempts + (not isinstance(error, EngineMissing | IndexAway | StoreAway))
    if attempts >= _MOST_ATTEMPTS or isinstance(error, InvalidInput):
        house.canon.signals.give_up(rung, why)
        done.given_up.append((rung.key, why))
        return
    until = shifted(house.now, milliseconds=_FIRST_DELAY * 4 ** max(attempts - 1, 0))
    house.canon.signals.put_off(rung, until=until, why=why, attempts=attempts)
    done.put_off.append((rung.key, why))
    done.next_due = min(filter(None, (done.next_due, until)))


def reason(error: Exception) -> str:
    """What went wrong, in a sentence; of an error that nobody expected its kind alone."""
    return error.message if isinstance(error, LineageError) else f"an unexpected {type(error).__name__}"


def _noted(house: House, _: Machine, rung: Rung, found: Signal, done: Drained) -> None:
    if found.event == signals.SESSION_START:
        done.started = True
        begun(house, rung, found)
    _note(house, rung, found, found.transcript_path, None)


def _ended(house: House, machine: Machine, rung: Rung, found: Signal, done: Drained) -> None:
    path = _transcript(machine, rung, found)
    size = settled(path, rung.at)
    outcome = capture_session(house, {**_payload(rung, found), "transcript_path": str(path)}, rung.at)
    done.outcomes[outcome.status] += 1
    _note(house, rung, found, str(path), size)
    house.canon.checkpoints.discard(outcome.session_token)


def capture_session(house: House, payload: Mapping[str, Any], at: str) -> Outcome:
    """Captures a session as it ends, the compactions that its transcript records, and what its sub-agents said."""
    outcome = run(house, request(SESSION_END, {**payload, "captured_at": at}, agent_id=None, now=house.now))
    harness, path = payload["harness"], Path(payload["transcript_path"])
    if outcome.status == CAPTURED and outcome.compactions:
        capture = adapter_of(harness).read(path, payload["session_id"])
        keep_recorded(house, payload, outcome.session_token, capture, at)
    for part in belonging(harness, path):
        session = ADAPTERS[harness].read(part.path, part.session).session_id or part.path.stem
        own = {"session_id": session, "transcript_path": str(part.path), "captured_at": at}
        shared = {key: payload[key] for key in ("harness", "agent_id", "cwd", "private") if key in payload}
        run(house, request(SESSION_END, {**shared, **own}, agent_id=None, now=house.now))
    return outcome


def _compacted(house: House, machine: Machine, rung: Rung, found: Signal, done: Drained) -> None:
    path = _transcript(machine, rung, found)
    settled(path, rung.at)
    summary = found.summary or _summary(rung.harness, path, found.session_id)
    payload = {**_payload(rung, found), "transcript_path": str(path), "summary": summary, "trigger": found.trigger}
    outcome = run(house, request(COMPACTION, {**payload, "captured_at": rung.at}, agent_id=None, now=house.now))
    done.outcomes[outcome.status] += 1
    _note(house, rung, found, str(path), None)


def _summary(harness: str, path: Path, session: str) -> str:
    """The summary that the transcript holds of its newest compaction; where it holds none, one made by us."""
    capture = adapter_of(harness).read(path, session)
    newest = capture.compactions[-1] if capture.compactions else None
    if newest and newest.summary:
        return newest.summary
    before = digest(capture.turns[: newest.turns_before] if newest else capture.turns)
    parts = (("Asked", before.requests), ("Files touched", before.edited), ("Commands run", before.commands))
    lines = [f"## {heading}\n\n" + "\n".join(f"- {item}" for item in items) for heading, items in parts if items]
    return "\n\n".join([_MADE, *lines])


def _transcript(machine: Machine, rung: Rung, found: Signal) -> Path:
    path = located(machine, rung.harness, found.session_id, found.transcript_path)
    if path is None:
        named = found.transcript_path or f"of session {found.session_id}"
        raise TranscriptError(f"the transcript {named} is not there (any more)")
    return path


def _payload(rung: Rung, found: Signal) -> dict[str, Any]:
    named = {
        "harness": rung.harness,
        "agent_id": rung.agent,
        "session_id": found.session_id,
        "session_key": found.session_key,
        "lane": found.lane,
        "project": project_of(found.cwd),
        "reason": found.reason,
    }
    return {key: value for key, value in named.items() if value is not None}


def _note(house: House, rung: Rung, found: Signal, path: str | None, size: int | None) -> None:
    """That the session is there, and how much of its transcript is captured; of a removed one nothing is noted."""
    token = found.identity(rung.agent).token
    if house.canon.tombstones.has(token):
        return
    house.telemetry.saw(
        Seen(
            harness=rung.harness,
            agent_id=rung.agent,
            session_id=found.session_id,
            session_token=token,
            transcript_path=path,
            cwd=found.cwd,
            event=found.event,
            at=rung.at,
            captured_size=size,
            session_key=found.session_key,
            lane=found.lane,
        )
    )


_EVENTS: Mapping[str, Callable[[House, Machine, Rung, Signal, Drained], None]] = {
    signals.SESSION_END: _ended,
    signals.COMPACTION: _compacted,
}
