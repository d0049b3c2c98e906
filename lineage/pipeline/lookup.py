"""Looking things up: sessions, one session's text, the state of the workspace."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lineage.canon import Canon, Rung
from lineage.core import doorbell, naming, transcript
from lineage.core.documents import Artifact
from lineage.core.turns import Turn
from lineage.errors import NotFoundError
from lineage.index import SessionRow
from lineage.pipeline.behind import behind
from lineage.pipeline.house import House
from lineage.pipeline.reading import document_at
from lineage.store import read_or_none

_SHOWN_CANDIDATES = 5


@dataclass(frozen=True, slots=True)
class Shown:
    """A file of a session, or some of its turns."""

    session: SessionRow
    path: str
    text: str
    turns: Sequence[Turn] = ()


def resolve(house: House, reference: str) -> SessionRow:
    """The session that an id, key, token or a prefix of one names. Raises NotFoundError for none and for many."""
    found = house.index.sessions(None, reference=reference, limit=50) if reference else []
    exact = [row for row in found if reference in (row.session_id, row.session_key, row.session_token)]
    matches = [row for row in exact if row.session_token == reference] or exact or found
    if not matches:
        raise NotFoundError(f"no session {reference!r}")
    if len(matches) > 1:
        names = ", ".join(f"{row.session_id} ({row.agent_id})" for row in matches[:_SHOWN_CANDIDATES])
        more = " …" if len(matches) > _SHOWN_CANDIDATES else ""
        raise NotFoundError(f"{reference!r} is ambiguous: {names}{more}", hint="give more of the id, or the token")
    return matches[0]


def show(house: House, reference: str, kind: str) -> Shown:
    """The newest file of a kind of a session; its access is counted."""
    session = resolve(house, reference)
    paths = [path for path, of_kind in house.index.paths_of(session.session_token) if of_kind == kind]
    if kind == naming.MANIFEST:
        paths = [session.manifest_path]  # a retired one, if there is any, is younger
    document = document_at(house, paths[-1]) if paths else None
    if document is None:
        raise NotFoundError(f"session {session.session_id} has no {kind}", hint=f"run `lineage show {reference}`")
    house.telemetry.count_access(session.session_token, house.now)
    return Shown(session, document.path, str(document.body))


def show_turns(house: House, reference: str, first: int, last: int) -> Shown:
    """The turns `first` to `last` of a session, across its captures."""
    session = resolve(house, reference)
    turns: list[Turn] = []
    for path, kind in house.index.paths_of(session.session_token):
        document = document_at(house, path) if kind == naming.TRANSCRIPT else None
        if isinstance(document, Artifact):
            turns += [turn for turn in transcript.parsed(document.body) if first <= turn.number <= last]
    if not turns:
        raise NotFoundError(f"session {session.session_id} has no turns {first}-{last}")
    house.telemetry.count_access(session.session_token, house.now)
    text = transcript.rendered("", turns).lstrip("\n")
    return Shown(session, session.manifest_path, text, turns)


def hook_failures(canon: Canon) -> list[str]:
    """What the doorbell could not do, oldest first: a hook never tells its harness."""
    blob = read_or_none(canon.signals.store, doorbell.LOG)
    return blob.data.decode("utf-8", errors="replace").splitlines() if blob else []


def _rung(rung: Rung) -> dict[str, Any]:
    return {"harness": rung.harness, "agent_id": rung.agent, "at": rung.at, "attempts": rung.attempts, "why": rung.why}


def spooled(canon: Canon) -> dict[str, Any]:
    """What of `status` lies on this machine alone, and can be told while the workspace's store is away."""
    spool = canon.spool
    return {
        "behind": behind(canon),
        "unfinished": [
            {"flow": job.flow, "session_token": job.token, "captured_at": job.captured_at} for job in spool.pending()
        ],
        "damaged_jobs": [*spool.damaged(), *canon.signals.damaged(), *canon.checkpoints.damaged()],
        "signals": [_rung(rung) for rung in canon.signals.pending()],
        "given_up": [_rung(rung) for rung in canon.signals.dead()],
        "hook_failures": hook_failures(canon),
    }


def status(house: House) -> dict[str, Any]:
    """What `lineage status` shows: counts, unfinished flows, counters, the last render."""
    return {
        "sanitizer": house.rules.version,
        "rules": len(house.rules.rules),
        "artifacts": house.index.counts(),
        "agents": house.index.agents(),
        "tombstones": len(house.canon.tombstones.tokens()),
        **spooled(house.canon),
        "counters": house.telemetry.counters(),
        "not_learned": house.telemetry.drops(),
        "telemetry_was_damaged": house.telemetry.was_damaged,
        "marks": dict(house.telemetry.marks()),
    }
