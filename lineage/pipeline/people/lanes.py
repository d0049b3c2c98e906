"""Lanes in a workspace: whose a message is, which sessions a lane has had, and whether the last one is over."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import time
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from lineage.config import FILE, Settings
from lineage.core import lanes, naming, transcript
from lineage.core.documents import Artifact
from lineage.core.staleness import Resets, is_stale, over_at
from lineage.core.turns import ASSISTANT, USER
from lineage.errors import InvalidInput
from lineage.index import SessionRow
from lineage.pipeline.house import House
from lineage.pipeline.reading import readable_at

_ALL = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneShown:
    """A lane's captured sessions, newest first. `current` is the id of the one that it is in, None before the first;
    `last_message` when somebody last said something in it, `over_at` when it is over for `why`, `stale` whether it is,
    so that the next message begins another. Canonical UTC times."""

    lane: str
    sessions: list[SessionRow]
    current: str | None
    last_message: str | None
    over_at: str | None
    why: str | None
    stale: bool


def lane_of(house: House, app: str, channel: str = "", account: str = "", user: str = "") -> str:
    """The lane of a message, in the scope and with the links that the settings name. Raises InvalidInput."""
    links = lanes.Links.of(house.settings.identity_links)
    return lanes.lane(house.settings.sessions.dm_scope, app, channel, account, user, links=links)


def resets_of(settings: Settings) -> Resets:
    """When sessions are over, as the settings say. Raises InvalidInput for a time zone that there isn't."""
    chosen = settings.sessions
    try:
        zone = ZoneInfo(chosen.reset_time_zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InvalidInput(
            f"{FILE}: sessions.reset_time_zone is {chosen.reset_time_zone!r}, not a time zone",
            hint='for example "Europe/Berlin", or "UTC"',
        ) from error
    daily = time.fromisoformat(chosen.daily_reset) if chosen.daily_reset else None
    return Resets(daily, zone, chosen.idle_minutes)


def show_lane(house: House, lane: str, agent_id: str | None, *, project: str | None = None, limit: int) -> LaneShown:
    """The sessions of a lane, of one agent or, where it is None, of all; and how the last of them stands now."""
    resets = resets_of(house.settings)
    found = house.index.sessions(agent_id, project=project, reference=f"{lane}#", limit=_ALL)
    sessions = [row for row in found if (row.session_key or "").startswith(f"{lane}#")]
    heard = max(_heard(house, lane, agent_id, sessions), default=None)
    over = over_at(heard[0], resets) if heard else None
    return LaneShown(
        lane=lane,
        sessions=sessions[:limit],
        current=heard[1] if heard else None,
        last_message=heard[0] if heard else None,
        over_at=over[0] if over else None,
        why=over[1] if over else None,
        stale=heard is not None and is_stale(heard[0], house.now, resets),
    )


def _heard(house: House, lane: str, agent_id: str | None, sessions: list[SessionRow]) -> Iterator[tuple[str, str]]:
    """(when, session id) of what was last heard: in the newest capture, and by hooks of sessions that go on."""
    for row in sessions[:1]:
        yield _last_message(house, row) or row.membership_ts, row.session_id
    for seen in house.telemetry.seen():
        if seen.lane == lane and agent_id in (None, seen.agent_id):
            yield seen.at, seen.session_id


def _last_message(house: House, row: SessionRow) -> str | None:
    """When a person or the agent last said something; what tools and the harness wrote is no message."""
    paths = [path for path, kind in house.index.paths_of(row.session_token) if kind == naming.TRANSCRIPT]
    newest = readable_at(house, paths[-1]) if paths else None
    if not isinstance(newest, Artifact):
        return None
    said = (turn.at for turn in transcript.parsed(newest.body) if turn.role in (USER, ASSISTANT) and not turn.name)
    return max(filter(None, said), default=None)
