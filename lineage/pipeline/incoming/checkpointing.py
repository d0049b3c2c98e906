"""Checkpoints: what the last turns of sessions that go on said, kept for the next one should they be interrupted.

A hook only tells that a turn ended. What was said is read when the worker runs, so a checkpoint is as new as its last
run; what came since is in the harness's own transcript, which the sweep captures. A checkpoint goes when its session
ends; one that the sweep captured ended without a word, and keeps it. (harnesses.md 0.2)
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from zlib import crc32

from lineage.canon import Rung
from lineage.core import doorbell
from lineage.core.checkpoint import DAYS, MOST_PER_AGENT, Checkpoint, Message, last_said, message
from lineage.core.injection import injection
from lineage.core.privacy import GLOBAL, may_reach
from lineage.core.times import from_epoch, shifted
from lineage.core.turns import Turn, turn_id
from lineage.errors import DamagedIndex, FormatError, TranscriptError
from lineage.harness import adapter_of, signals
from lineage.harness.projects import project_of
from lineage.harness.signals import Signal
from lineage.pipeline.capture import session as sessions
from lineage.pipeline.house import House
from lineage.pipeline.incoming.locating import Machine, located
from lineage.pipeline.incoming.preparing import prepare
from lineage.pipeline.incoming.settling import size_of
from lineage.store import read_or_none
from lineage.telemetry import Seen

GONE = "no transcript"
PRIVATE = "private"
TOO_LARGE = "too large"
UNREADABLE = "unreadable"

_MOST_BYTES = 256 << 20
_LONGEST = 20_000
_NOT_GOING_ON = (signals.SESSION_END, signals.SESSION_START)


def checkpoint(house: House, machine: Machine, *, may_go_on: Callable[[], bool] = lambda: True) -> Counter[str]:
    """Keeps a checkpoint of each agent's newest sessions that have not ended, of which a hook has told since their last
    one; drops those that are more than 7 days old, and of sessions that were removed, perhaps on another machine, or
    have turned out to be private. How many could not be kept, by reason."""
    house.canon.checkpoints.expire(house.now)
    for one in house.canon.checkpoints.of(None):
        if house.canon.tombstones.has(one.session_token) or _is_private(house, one.session_token):
            house.canon.checkpoints.discard(one.session_token)
    kept = {one.session_token: one.saved_at for one in house.canon.checkpoints.of(None)}
    unkept: Counter[str] = Counter()
    for seen in _going_on(house):
        if seen.at > kept.get(seen.session_token, "") and may_go_on():
            why = _keep(house, machine, seen)
            unkept.update([why] if why else [])
    return unkept


def _going_on(house: House) -> Iterator[Seen]:
    """The sessions whose checkpoints are kept, newest first."""
    since, of_agent = shifted(house.now, days=-DAYS), Counter[str]()
    for seen in reversed(house.telemetry.seen()):
        if seen.event not in _NOT_GOING_ON and seen.at >= since:
            of_agent[seen.agent_id] += 1
            if of_agent[seen.agent_id] <= MOST_PER_AGENT:
                yield seen


def offer(house: House) -> None:
    """Prepares the blocks that new sessions begin with, and notes which checkpoints they hold from now on."""
    prepare(house)
    waiting = [one for one in house.canon.checkpoints.of(None) if one.is_valid(house.now) and not one.offered_at]
    if waiting:
        text = "\n".join(_text(house, entry.key) for entry in house.canon.blocks.store.list(doorbell.CONTEXT))
        at = from_epoch(time.time())  # not the run's time: a session that began meanwhile got the block before
        for one in waiting:
            if one.title in text:
                house.canon.checkpoints.mark_offered(one.agent_id, one.session_token, at)


def begun(house: House, rung: Rung, found: Signal) -> None:
    """Marks those checkpoints as used that a session began with: its block holds them, as its harness was given it, and
    held them before the hook rang. One that came into the block just then may be recovered a second time; none is lost.
    A session that goes on itself has no use for its own."""
    checkpoints = house.canon.checkpoints
    checkpoints.discard(found.identity(rung.agent).token)
    answer = injection(rung.harness, _block(house, rung.agent, found.cwd)) if found.cwd else ""
    for one in checkpoints.of(rung.agent):
        if one.offered_at and one.offered_at < rung.at and one.title in answer:
            checkpoints.mark_used(rung.agent, one.session_token, rung.at)


def _keep(house: House, machine: Machine, seen: Seen) -> str | None:
    """Keeps a session's checkpoint; why not, where it could not be."""
    path = located(machine, seen.harness, seen.session_id, seen.transcript_path)
    size = size_of(path) if path else None
    if path is None or size is None:
        return GONE
    if size > _MOST_BYTES:
        return TOO_LARGE
    try:
        return _put(house, seen, path)
    except DamagedIndex:
        raise
    except TranscriptError:
        return UNREADABLE
    except Exception as error:  # noqa: BLE001  (one that nobody expected must not keep the worker from its work)
        return type(error).__name__


def _put(house: House, seen: Seen, path: Path) -> str | None:
    """Of a removed session nothing is kept, nor counted."""
    with sessions.exclusively(house, seen.session_token):
        if house.canon.tombstones.has(seen.session_token):
            return None
        if _is_private(house, seen.session_token):
            return PRIVATE
        house.canon.checkpoints.put(_checkpoint(house, seen, path))
    return None


def _checkpoint(house: House, seen: Seen, path: Path) -> Checkpoint:
    capture = adapter_of(seen.harness).read(path, seen.session_id)
    return Checkpoint(
        agent_id=seen.agent_id,
        session_id=seen.session_id,
        session_token=seen.session_token,
        harness=seen.harness,
        project=house.sanitizer().optional(project_of(seen.cwd or capture.project)),
        saved_at=seen.at,
        messages=_messages(house, capture.turns),
    )


def _messages(house: House, turns: Sequence[Turn]) -> tuple[Message, ...]:
    """The last ones, sanitized before they are cut; without what a fork brought from a session that was removed."""
    removed = house.canon.tombstones.removed_turns()
    said = last_said(turn for turn in turns if not turn.source_id or turn_id(turn.source_id) not in removed)
    texts = house.sanitizer().texts([turn.text[:_LONGEST] for turn in said])
    return tuple(message(turn, text) for turn, text in zip(said, texts, strict=True))


def _is_private(house: House, token: str) -> bool:
    """Whether nothing of a session may leave it; what cannot be read is in doubt, and private."""
    try:
        session = sessions.observed(house, token)
    except FormatError:
        return True
    jobs = any(job.payload.get("private") is True for job in session.jobs)
    return not may_reach(GLOBAL, private=session.manifest.private if session.manifest else jobs, token=token)


def _block(house: House, agent: str, folder: str) -> str:
    """The block that the doorbell answers a session's start in a folder with: the folder's own, or the next one above
    it in its repository. (`lineage.cli.doorbell`)"""
    around = [Path(folder), *Path(folder).parents]
    top = next((number for number, place in enumerate(around) if os.path.lexists(place / ".git")), 0)
    for place in [folder, *map(str, around[1 : top + 1])]:
        checksum = crc32(f"{agent}\n{place}".encode("utf-8", "replace"))
        head, _, text = _text(house, doorbell.block_key(agent, place, checksum)).partition("\n")
        if text and f"{head}\n" == doorbell.block_head(agent, place):
            return text
    return ""


def _text(house: House, key: str) -> str:
    blob = read_or_none(house.canon.blocks.store, key)
    return blob.data.decode("utf-8", errors="replace") if blob else ""
