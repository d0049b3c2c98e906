"""Sessions that lineage has a harness go on with, or begin: where they are, and their capture when they end.

Hooks do nothing in a process that lineage starts (`LINEAGE_SUPPRESS`), so lineage captures what comes of it itself.
(format: Commands)
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lineage.errors import LineageError
from lineage.harness import ADAPTERS, Found
from lineage.harness.programs import program_of
from lineage.harness.projects import project_of
from lineage.harness.signals import SESSION_END
from lineage.pipeline.house import House, Outcome
from lineage.pipeline.incoming.locating import Machine, located
from lineage.pipeline.incoming.settling import settled
from lineage.pipeline.incoming.working import capture_session
from lineage.pipeline.lookup import resolve
from lineage.telemetry import Seen


@dataclass(frozen=True, slots=True)
class Target:
    """A session that a harness is asked to go on with. `folder`: where it ran, None where nobody said so."""

    harness: str
    agent_id: str
    session_id: str
    session_token: str
    folder: str | None = None
    session_key: str | None = None
    lane: str | None = None
    private: bool = False
    transcript_path: str | None = None


def target(house: House, reference: str) -> Target:
    """The session that an id, key, token or a prefix of one names. Raises NotFoundError for none and for many."""
    row = resolve(house, reference)
    seen = next((seen for seen in house.telemetry.seen() if seen.session_token == row.session_token), None)
    stem = house.canon.claims.stem_of(row.session_token)
    manifest = house.canon.manifests.get(stem) if stem else None
    return Target(
        harness=row.harness,
        agent_id=row.agent_id,
        session_id=row.session_id,
        session_token=row.session_token,
        folder=(seen.cwd if seen else None) or row.project,
        session_key=row.session_key,
        lane=manifest.lane if manifest else None,
        private=row.private,
        transcript_path=seen.transcript_path if seen else None,
    )


def sessions_of(machine: Machine, harness: str, folder: Path) -> frozenset[Found]:
    """The sessions that a harness keeps, or of the folder where it keeps them there."""
    history = program_of(harness).history
    if history:
        return frozenset(ADAPTERS[harness].found(folder / history))
    return frozenset(machine.history(harness))


def capture_target(house: House, machine: Machine, target: Target) -> list[Outcome]:
    """Captures what a session has become; nothing where its transcript is not found."""
    path = located(machine, target.harness, target.session_id, target.transcript_path)
    return [_captured(house, target, path)] if path else []


def capture_new(
    house: House, machine: Machine, harness: str, agent_id: str, folder: Path, before: frozenset[Found]
) -> list[Outcome]:
    """Captures the sessions of a folder that a harness did not keep before."""
    outcomes = []
    for found in sorted(sessions_of(machine, harness, folder) - before):
        try:
            capture = ADAPTERS[harness].read(found.path, found.session)
        except LineageError:  # not a transcript, whatever its name: the sweep's business, if anybody's
            continue
        if capture.project and Path(capture.project).resolve() != folder.resolve():
            continue
        session = found.session or capture.session_id or found.path.stem
        begun = Target(harness, agent_id, session, "", str(folder))
        outcomes.append(_captured(house, begun, found.path))
    return outcomes


def _captured(house: House, target: Target, path: Path) -> Outcome:
    size = settled(path, house.now)
    outcome = capture_session(house, _payload(target, path), house.now)
    if not house.canon.tombstones.has(outcome.session_token):
        house.telemetry.saw(_seen(house, target, path, outcome.session_token, size))
        house.canon.checkpoints.discard(outcome.session_token)
    return outcome


def _payload(target: Target, path: Path) -> dict[str, Any]:
    key = {"lane": target.lane} if target.lane else {"session_key": target.session_key}
    return {
        "harness": target.harness,
        "agent_id": target.agent_id,
        "session_id": target.session_id,
        "transcript_path": str(path),
        "project": project_of(target.folder),
        "private": target.private,
        "reason": "lineage",
        **key,
    }


def _seen(house: House, target: Target, path: Path, token: str, size: int | None) -> Seen:
    return Seen(
        harness=target.harness,
        agent_id=target.agent_id,
        session_id=target.session_id,
        session_token=token,
        transcript_path=str(path),
        cwd=target.folder,
        event=SESSION_END,
        at=house.now,
        captured_size=size,
        session_key=target.session_key,
        lane=target.lane,
    )
