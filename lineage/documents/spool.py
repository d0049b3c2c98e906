"""The spool: unfinished flows and hook events of this machine, the only place for raw text (law 1; law 2)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from lineage.core.base import hook_protocol
from lineage.core.format.job import REMOVAL, Job, parse_job, serialize_job
from lineage.errors import FormatError
from lineage.store import Store, read_or_none, update

_PREFIX = "spool/"


@dataclass(frozen=True, slots=True)
class Spool:
    """Jobs in a private store: files 0600 in folders 0700."""

    store: Store

    def put(self, job: Job) -> None:
        """Write a job, over an older one of the same flow."""
        update(self.store, _PREFIX + job.name, lambda _: serialize_job(job))

    def clear(self, job: Job) -> None:
        """Delete the job of a finished flow."""
        self.store.delete(_PREFIX + job.name)

    def list_pending(self, token: str | None = None) -> list[Job]:
        """Return the unfinished jobs of a session, or all, oldest first. Damaged files stay, see `list_damaged`."""
        return self._read_jobs(token)[0]

    def discard(self, token: str) -> list[str]:
        """Delete every spool file of a session, readable or not, but the job of its removal. Return the files."""
        keys = [entry.key for entry in self.store.list(_PREFIX) if f"--{token}--" in entry.key]
        deleted = [key for key in keys if not key.endswith(f"--{REMOVAL}.json")]
        for key in deleted:
            self.store.delete(key)
        return deleted

    def list_damaged(self) -> list[str]:
        """Return the spool files without a job that this version can read."""
        return self._read_jobs(None)[1]

    def _read_jobs(self, token: str | None) -> tuple[list[Job], list[str]]:
        jobs, damaged = [], []
        for entry in self.store.list(_PREFIX):
            # Folders below the spool hold the events of hooks.
            if "/" in entry.key.removeprefix(_PREFIX) or (token and f"--{token}--" not in entry.key):
                continue
            blob = read_or_none(self.store, entry.key)
            try:
                if blob:
                    jobs.append(parse_job(blob.data))
            except FormatError:
                damaged.append(entry.key)
        return jobs, damaged


@dataclass(frozen=True, slots=True)
class HookEvent:
    """A queued payload. `at` is the time of the hook, `not_before` that of the next try, both canonical UTC.

    `process` is the harness's, as `lineage.processes` tells it.
    """

    key: str
    harness: str
    agent: str
    at: str
    payload: Mapping[str, Any]
    attempts: int = 0
    not_before: str = ""
    why: str = ""
    process: str | None = None


@dataclass(frozen=True, slots=True)
class HookQueue:
    """Hook events in a private store, raw payloads for the worker, then dead letters: files as those of `Spool`."""

    store: Store

    def list_pending(self) -> list[HookEvent]:
        """Return the waiting events, oldest first. Damaged files stay, see `list_damaged`."""
        return self._read_all(hook_protocol.EVENT_QUEUE)[0]

    def dead_letters(self) -> list[HookEvent]:
        """Return the dead letters, oldest first."""
        return self._read_all(hook_protocol.DEAD_LETTERS)[0]

    def list_damaged(self) -> list[str]:
        """Return the waiting files that hold no readable event."""
        return self._read_all(hook_protocol.EVENT_QUEUE)[1]

    def clear(self, event: HookEvent) -> None:
        """Delete an event after its work."""
        self.store.delete(event.key)

    def retry_later(self, event: HookEvent, *, until: str, reason: str, attempts: int) -> None:
        """Put an event off until a time. Do nothing if somebody else cleared it."""
        later = replace(event, attempts=attempts, not_before=until, why=reason)
        update(self.store, event.key, lambda data: _serialize(later) if data is not None else None)

    def dead_letter(self, event: HookEvent, reason: str) -> None:
        """Move an event to the dead letters, with its whole payload."""
        name = event.key.removeprefix(hook_protocol.EVENT_QUEUE)
        dead = replace(event, key=f"{hook_protocol.DEAD_LETTERS}{event.at.replace(':', '-')}--{name}", why=reason)
        update(self.store, dead.key, lambda _: _serialize(dead))
        self.store.delete(event.key)

    def discard(self, keys: list[str]) -> list[str]:
        """Delete events by key. Return the keys."""
        for key in keys:
            self.store.delete(key)
        return keys

    def _read_all(self, prefix: str) -> tuple[list[HookEvent], list[str]]:
        events, damaged = [], []
        for entry in self.store.list(prefix):
            blob = read_or_none(self.store, entry.key)
            try:
                if blob:
                    events.append(_parse(blob.data, entry.key))
            except FormatError:
                damaged.append(entry.key)
        # Of the same millisecond the end of a turn comes first: the session goes on after it.
        first = f"{hook_protocol.EVENT_QUEUE}{hook_protocol.TURN_PREFIX}"
        return sorted(events, key=lambda event: (event.at, not event.key.startswith(first), event.key)), damaged


def _serialize(event: HookEvent) -> bytes:
    names = ("harness", "agent", "at", "attempts", "not_before", "why", "process")
    fields = {name: getattr(event, name) for name in names}
    return json.dumps({"version": hook_protocol.VERSION, **fields, "payload": dict(event.payload)}).encode()


def _parse(data: bytes, key: str) -> HookEvent:
    try:
        value = json.loads(data)
        if value.pop("version") != hook_protocol.VERSION or not isinstance(value["payload"], dict):
            raise FormatError(f"{key}: a signal of another version", hint="upgrade lineage")
        if not all(isinstance(value.get(name), str) for name in ("harness", "agent", "at")):
            raise FormatError(f"{key}: a signal without its harness, agent or time")
        return HookEvent(key, **value)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise FormatError(f"{key}: not a signal", hint="run `lineage status`; the file stays in the spool") from error
