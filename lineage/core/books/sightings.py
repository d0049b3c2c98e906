"""Other sightings of an entry: near-duplicates of one statement merge into the first and count (usefulness).

The entry's comment lists them under `seen`, each with the id that it would have, its time and its link; `text` are its
words where they differ. At most the first and the last ten are listed.
"""

import json
from typing import Any, NamedTuple, Protocol

from lineage.core.base import naming
from lineage.core.base.times import shift_time, to_date, to_utc_or_none
from lineage.core.books.entry import (
    ASSISTANT_TURN,
    ENTRY_ID,
    USER_TURN,
    Entry,
    replace_body,
    set_done,
    set_heading_time,
)

SEEN, CLOSED, MENTIONED = "seen", "closed", "mentioned"
TASK_DAYS = 14
_OF_SESSIONS = frozenset((USER_TURN, ASSISTANT_TURN))
_MAX_LISTED = 10  # from each end: what is left then is the same in whatever order they come


class TaskState(Protocol):
    """An entry, or its row: `done` is None for one that is no task."""

    @property
    def done(self) -> int | None:
        """Whether it is ticked."""

    @property
    def pinned(self) -> int:
        """Whether it is pinned."""

    @property
    def source(self) -> str:
        """Who it comes from."""


class Sighting(NamedTuple):
    """One of the times at which a statement was made, sorted by time. `text` is "" for the entry's own words."""

    at: str
    id: str
    origin: str = ""
    text: str = ""


def read_sightings(entry: Entry) -> tuple[Sighting, ...]:
    """Return an entry's other sightings, oldest first, without those that a hand has damaged."""
    value = json.loads(dict(entry.more).get(SEEN, "[]"))
    listed = [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
    texts = ({name: one.get(name, "") for name in ("at", "id", "from", "text")} for one in listed)
    return tuple(
        Sighting(one["at"], one["id"], one["from"], one["text"])
        for one in texts
        if all(isinstance(value, str) for value in one.values()) and ENTRY_ID.fullmatch(one["id"])
    )


def write_sightings(entry: Entry, sightings: tuple[Sighting, ...]) -> Entry:
    """Return the entry with these sightings and no others."""
    known = sorted({one.id: one for one in sightings if one.id != entry.id}.values())
    listed = known if len(known) <= 2 * _MAX_LISTED else [*known[:_MAX_LISTED], *known[-_MAX_LISTED:]]
    values = [
        {
            "id": one.id,
            "at": one.at,
            **({"from": one.origin} if one.origin else {}),
            **({"text": one.text} if one.text else {}),
        }
        for one in listed
    ]
    return _set_key(entry, SEEN, json.dumps(values) if values else "")


def add_sighting(entry: Entry, other: Entry) -> Entry:
    """Return the entry with another of the same statement, and that one's sightings, merged into it."""
    text = "" if other.body == entry.body else other.body  # as they were said: the entry may become that session's
    found = Sighting(other.at, other.id, other.origin or "", text)
    return write_sightings(entry, (*read_sightings(entry), *read_sightings(other), found))


def merge_sightings(entry: Entry, old: Entry, mine: Entry, yours: Entry) -> Entry:
    """Return the entry with the sightings of both sides, without those of `old` that one of them dropped."""
    sides = [{one.id: one for one in read_sightings(side)} for side in (mine, yours)]
    dropped = {one.id for one in read_sightings(old) if any(one.id not in side for side in sides)}
    return write_sightings(entry, tuple(one for one in {**sides[0], **sides[1]}.values() if one.id not in dropped))


def choose_mention(entry: Entry, mine: Entry, yours: Entry) -> Entry:
    """Return the entry with the later mention of two sides, if both have one."""
    mentions = [(_read_mention(side), value) for side in (mine, yours) if (value := dict(side.more).get(MENTIONED))]
    return _set_key(entry, MENTIONED, max(mentions)[1]) if len(mentions) > 1 else entry


def take_over(entry: Entry, token: str) -> Entry | None:
    """Return the entry without a session's part, under the next sighting's id; None if nobody else said it."""
    entry = reopen_task(entry, token)
    left = tuple(one for one in read_sightings(entry) if token not in naming.find_tokens(one.origin))
    if token not in naming.find_tokens(entry.origin or ""):
        return write_sightings(entry, left)
    if not left:
        return None
    first, *rest = left
    words = set_heading_time(replace_body(entry, first.text) if first.text else entry, first.at)
    return write_sightings(words._replace(id=first.id, at=first.at, origin=first.origin or None), tuple(rest))


def close_task(entry: Entry, at: str, origin: str) -> Entry:
    """Return a task as done by a session. Its comment links the session under `closed`."""
    return _set_key(set_done(entry, True), CLOSED, json.dumps({"at": at, "from": origin}))


def mention_task(entry: Entry, at: str, origin: str) -> Entry:
    """Return a task as one that a session spoke of. Its comment links the last such session under `mentioned`."""
    if at <= find_last_mention(entry):
        return entry
    return _set_key(entry, MENTIONED, json.dumps({"at": at, "from": origin}))


def _set_key(entry: Entry, key: str, value: str) -> Entry:
    """Return the entry with a further key, the last one, as JSON; without it for ""."""
    rest = tuple(item for item in entry.more if item[0] != key)
    return entry._replace(more=(*rest, (key, value)) if value else rest)


def reopen_task(entry: Entry, token: str) -> Entry:
    """Return a task as open again if this session closed it, and without its mention; else as it is."""
    gone = [key for key in (CLOSED, MENTIONED) if token in naming.find_tokens(dict(entry.more).get(key, ""))]
    left = entry._replace(more=tuple(item for item in entry.more if item[0] not in gone)) if gone else entry
    return set_done(left, False) if CLOSED in gone else left


def find_last_mention(entry: Entry) -> str:
    """Return when an entry was said or changed last, "" for text without a marker."""
    return max(entry.at, entry.updated or "", _read_mention(entry), *(one.at for one in read_sightings(entry)))


def _read_mention(entry: Entry) -> str:
    value = json.loads(dict(entry.more).get(MENTIONED, "{}"))
    at = value.get("at") if isinstance(value, dict) else ""
    return (isinstance(at, str) and to_utc_or_none(at)) or ""


def is_stale(entry: Entry, now: str) -> bool:
    """Return whether an open task of a session has not been mentioned for `TASK_DAYS` days before a time or a date."""
    return is_stale_task(entry, now, find_last_mention(entry))


def is_stale_task(task: TaskState, now: str, mentioned_at: str) -> bool:
    """Return what `is_stale` does, for a task that was mentioned last at `mentioned_at`."""
    return task.source in _OF_SESSIONS and is_aged_task(task, now, mentioned_at)


def is_aged_task(task: TaskState, now: str, mentioned_at: str) -> bool:
    """Return whether an open task was mentioned last more than `TASK_DAYS` days ago: no session's start tells it."""
    is_open = task.done is not None and not task.done and not task.pinned
    return is_open and bool(now) and to_date(mentioned_at) < to_date(shift_time(now, days=-TASK_DAYS))


def count_sightings(entry: Entry) -> dict[str, Any]:
    """Return in how many sessions an entry was said, and when first and last; null for text without a marker."""
    sightings = read_sightings(entry)
    links = (entry.origin or "", *(one.origin for one in sightings))
    places = {next(iter(naming.find_tokens(link)), link) for link in links}
    times = [entry.at, *(one.at for one in sightings)]
    return {SEEN: len(places), "first": min(times) or None, "last": max(times) or None}
