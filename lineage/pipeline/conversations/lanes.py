"""Lanes in a workspace: whose a message is, which sessions a lane has had, and whether the last one is over."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import time
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from lineage.config import SETTINGS_FILE, Settings
from lineage.core.base import naming
from lineage.core.format import transcript
from lineage.core.format.documents import Artifact
from lineage.core.format.turns import ASSISTANT, USER
from lineage.errors import InvalidInput
from lineage.index import SessionRow
from lineage.pipeline.conversations import lane_name
from lineage.pipeline.conversations.session_expiry import ResetRules, find_expiry, is_expired
from lineage.workspace.load import load_readable_document
from lineage.workspace.workspace import Workspace

_MAX_SESSIONS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneState:
    """A lane's captured sessions, newest first. `current` is the id of the one that it is in, None before the first;
    `last_message` when somebody last said something in it, `find_expiry` when it is over for `why`, `stale` whether
    it is, so that the next message begins another. Canonical UTC times."""

    lane: str
    sessions: list[SessionRow]
    current: str | None
    last_message: str | None
    over_at: str | None
    why: str | None
    stale: bool


def resolve_lane(ws: Workspace, app: str, channel: str = "", account: str = "", user: str = "") -> str:
    """The lane of a message, in the scope and with the links that the settings name. Raises InvalidInput."""
    links = lane_name.IdentityLinks.from_table(ws.settings.identity_links)
    return lane_name.build_lane(ws.settings.sessions.dm_scope, app, channel, account, user, links=links)


def build_resets(settings: Settings) -> ResetRules:
    """When sessions are over, as the settings say. Raises InvalidInput for a time zone that there isn't."""
    chosen = settings.sessions
    try:
        zone = ZoneInfo(chosen.reset_time_zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InvalidInput(
            f"{SETTINGS_FILE}: sessions.reset_time_zone is {chosen.reset_time_zone!r}, not a time zone",
            hint='for example "Europe/Berlin", or "UTC"',
        ) from error
    daily = time.fromisoformat(chosen.daily_reset) if chosen.daily_reset else None
    return ResetRules(daily, zone, chosen.idle_minutes)


def load_lane(ws: Workspace, lane: str, agent_id: str | None, *, project: str | None = None, limit: int) -> LaneState:
    """The sessions of a lane, of one agent or, where it is None, of all; and how the last of them stands now."""
    resets = build_resets(ws.settings)
    found = ws.index.list_sessions(agent_id, project=project, reference=f"{lane}#", limit=_MAX_SESSIONS)
    sessions = [row for row in found if (row.session_key or "").startswith(f"{lane}#")]
    heard = max(_list_last_messages(ws, lane, agent_id, sessions), default=None)
    over = find_expiry(heard[0], resets) if heard else None
    return LaneState(
        lane=lane,
        sessions=sessions[:limit],
        current=heard[1] if heard else None,
        last_message=heard[0] if heard else None,
        over_at=over[0] if over else None,
        why=over[1] if over else None,
        stale=heard is not None and is_expired(heard[0], ws.now, resets),
    )


def _list_last_messages(
    ws: Workspace, lane: str, agent_id: str | None, sessions: list[SessionRow]
) -> Iterator[tuple[str, str]]:
    """(when, session id) of what was last heard: in the newest capture, and by hooks of sessions that go on."""
    for row in sessions[:1]:
        yield _find_last_message(ws, row) or row.membership_ts, row.session_id
    for seen in ws.telemetry.list_seen_sessions():
        if seen.lane == lane and agent_id in (None, seen.agent_id):
            yield seen.at, seen.session_id


def _find_last_message(ws: Workspace, row: SessionRow) -> str | None:
    """When a person or the agent last said something; what tools and the harness wrote is no message."""
    paths = [path for path, kind in ws.index.list_session_files(row.session_token) if kind == naming.TRANSCRIPT]
    newest = load_readable_document(ws, paths[-1]) if paths else None
    if not isinstance(newest, Artifact):
        return None
    said = (turn.at for turn in transcript.parse_turns(newest.body) if turn.role in (USER, ASSISTANT) and not turn.name)
    return max(filter(None, said), default=None)
