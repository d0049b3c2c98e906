"""The queue of hook events in the spool: raw payloads for the worker, then dead letters (harnesses.md 0.1)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from lineage.core.base import hook_protocol
from lineage.errors import FormatError
from lineage.store import Store, read_or_none, update


@dataclass(frozen=True, slots=True)
class HookEvent:
    """A queued payload. `at` is the time of the hook, `not_before` that of the next try, both canonical UTC."""

    key: str
    harness: str
    agent: str
    at: str
    payload: Mapping[str, Any]
    attempts: int = 0
    not_before: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class HookQueue:
    """The queue in a private store: files 0600 in folders 0700."""

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
        return sorted(events, key=_sort_key), damaged


def _sort_key(event: HookEvent) -> tuple[str, bool, str]:
    # Of the same millisecond the end of a turn comes first: the session goes on after it.
    return event.at, not event.key.startswith(f"{hook_protocol.EVENT_QUEUE}{hook_protocol.TURN_PREFIX}"), event.key


def _serialize(event: HookEvent) -> bytes:
    fields = {name: getattr(event, name) for name in ("harness", "agent", "at", "attempts", "not_before", "why")}
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
