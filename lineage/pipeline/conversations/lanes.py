"""Lanes in a workspace: the lane of a message, a lane's sessions, and the expiry of the last one (lesson 33)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from lineage.config import SETTINGS_FILE, Settings
from lineage.core.base import naming
from lineage.core.base.times import format_time
from lineage.core.format import transcript
from lineage.core.format.documents import Artifact
from lineage.core.format.turns import ASSISTANT, USER
from lineage.errors import SettingsError
from lineage.index import SessionFilter, SessionRow
from lineage.pipeline.conversations import lane_name
from lineage.workspace.lookup import load_readable_document
from lineage.workspace.projects import list_sessions
from lineage.workspace.workspace import Workspace

DAILY = "daily reset"
IDLE = "idle"

_MAX_SESSIONS = 100_000
_RESET_COMMAND = re.compile(r"\s*/(?:new|reset)(?:\s+(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ResetRules:
    """`daily` is the time of day in `zone` that ends sessions, `idle_minutes` the longest pause; None and 0: never."""

    daily: time | None = None
    zone: tzinfo = UTC
    idle_minutes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneState:
    """A lane's captured sessions, newest first, and its current one.

    `current` is a session id, None before the first. `last_message` is the time of its last message, `over_at` its end
    for the reason `why`; if it is `stale`, the next message begins another session. Times are canonical UTC.
    """

    lane: str
    sessions: list[SessionRow]
    current: str | None
    last_message: str | None
    over_at: str | None
    why: str | None
    stale: bool


def resolve_lane(ws: Workspace, app: str, channel: str = "", account: str = "", user: str = "") -> str:
    """Return the lane of a message, in the scope and with the links of the settings. Raise InvalidInput."""
    links = lane_name.IdentityLinks.from_table(ws.settings.identity_links)
    return lane_name.build_lane(ws.settings.sessions.dm_scope, app, channel, account, user, links=links)


def build_resets(settings: Settings) -> ResetRules:
    """Return the settings' rules of expiry. Raise InvalidInput for an unknown time zone."""
    sessions = settings.sessions
    try:
        zone = ZoneInfo(sessions.reset_time_zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        problem = f"{SETTINGS_FILE}: sessions.reset_time_zone is {sessions.reset_time_zone!r}, not a time zone"
        raise SettingsError(problem, hint='for example "Europe/Berlin", or "UTC"') from error
    daily = time.fromisoformat(sessions.daily_reset) if sessions.daily_reset else None
    return ResetRules(daily, zone, sessions.idle_minutes)


def load_lane(
    ws: Workspace, lane: str, agent_id: str | None, *, project: str | None = None, path: str | None = None, limit: int
) -> LaneState:
    """Return the sessions of a lane, of one agent or of all (None), and the state of the last one."""
    resets = build_resets(ws.settings)
    # A reference may also match an id or a token: keep the rows with a key in this lane.
    rows = list_sessions(
        ws, agent_id, wanted=SessionFilter(project=project, path=path), reference=f"{lane}#", limit=_MAX_SESSIONS
    )
    sessions = [row for row in rows if (row.session_key or "").startswith(f"{lane}#")]
    last = max(_list_last_messages(ws, lane, agent_id, sessions), default=None)
    at, current = last or (None, None)
    expiry = find_expiry(at, resets) if at else None
    return LaneState(
        lane=lane,
        sessions=sessions[:limit],
        current=current,
        last_message=at,
        over_at=expiry[0] if expiry else None,
        why=expiry[1] if expiry else None,
        stale=at is not None and is_expired(at, ws.now, resets),
    )


def _list_last_messages(
    ws: Workspace, lane: str, agent_id: str | None, sessions: list[SessionRow]
) -> Iterator[tuple[str, str]]:
    """Yield (time, session id) of the last messages: in the newest capture, and in running sessions' hook events."""
    for row in sessions[:1]:
        yield _find_last_message(ws, row) or row.membership_ts, row.session_id
    for seen in ws.telemetry.list_seen_sessions():
        if seen.lane == lane and agent_id in (None, seen.agent_id):
            yield seen.at, seen.session_id


def _find_last_message(ws: Workspace, row: SessionRow) -> str | None:
    """Return the time of the last message of a person or the agent; tool results and notices are no messages."""
    paths = [path for path, kind in ws.index.list_session_files(row.session_token) if kind == naming.TRANSCRIPT]
    newest = load_readable_document(ws, paths[-1]) if paths else None
    if not isinstance(newest, Artifact):
        return None
    turns = transcript.parse_turns(newest.body)
    times = (turn.at for turn in turns if turn.role in (USER, ASSISTANT) and not turn.name)
    return max(filter(None, times), default=None)


def find_expiry(last_message: str, rules: ResetRules) -> tuple[str, str] | None:
    """Return the time of a session's end and its reason, DAILY or IDLE: the earlier one.

    Return None if neither rule ends it, or the calendar ends before. Times are canonical UTC.
    """
    last, moments = datetime.fromisoformat(last_message), []
    try:
        if rules.daily is not None:
            # The first reset after it: a skipped time counts unshifted, one that comes twice the first time.
            days = (last.date() + timedelta(days=number) for number in (-1, 0, 1, 2))
            resets = (datetime.combine(day, rules.daily, tzinfo=rules.zone).astimezone(UTC) for day in days)
            moments.append((min(reset for reset in resets if reset > last), DAILY))
        if rules.idle_minutes:
            moments.append((last + timedelta(minutes=rules.idle_minutes), IDLE))
    except OverflowError:
        return None
    moment, reason = min(moments, default=(None, ""))
    return (format_time(moment), reason) if moment else None


def is_expired(last_message: str, now: str, rules: ResetRules) -> bool:
    """Return whether a message at `now` begins a new session."""
    expiry = find_expiry(last_message, rules)
    return expiry is not None and expiry[0] <= now


def parse_reset_command(message: str) -> tuple[bool, str]:
    """Return whether a message begins with `/new` or `/reset`, and its text for the session.

    >>> parse_reset_command("/new What is left to do?"), parse_reset_command("/newest"), parse_reset_command("/reset")
    ((True, 'What is left to do?'), (False, '/newest'), (True, ''))
    """
    match = _RESET_COMMAND.fullmatch(message)
    return (True, (match[1] or "").strip()) if match else (False, message)
