"""Signals: what the doorbell left of hooks' payloads, until the worker has looked into them. (harnesses.md 0.1)

They may hold raw text, so they lie in the spool. One that cannot be worked off is kept aside, with the reason.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from lineage.core import doorbell
from lineage.errors import FormatError
from lineage.store import Store, read_or_none, update


@dataclass(frozen=True, slots=True)
class Rung:
    """One payload. `at` is when the hook rang, `not_before` when it is tried again, both canonical UTC."""

    key: str
    harness: str
    agent: str
    at: str
    payload: Mapping[str, Any]
    attempts: int = 0
    not_before: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Signals:
    """The payloads in a private store: files 0600 in folders 0700."""

    store: Store

    def pending(self) -> list[Rung]:
        """All that wait, oldest first. Damaged files are left alone, see `damaged`."""
        return self._read(doorbell.SIGNALS)[0]

    def dead(self) -> list[Rung]:
        """Those that were given up, oldest first."""
        return self._read(doorbell.DEAD)[0]

    def damaged(self) -> list[str]:
        return self._read(doorbell.SIGNALS)[1]

    def clear(self, rung: Rung) -> None:
        self.store.delete(rung.key)

    def put_off(self, rung: Rung, *, until: str, why: str, attempts: int) -> None:
        """Keeps a payload for later."""
        later = replace(rung, attempts=attempts, not_before=until, why=why)
        update(self.store, rung.key, lambda data: _serialized(later) if data is not None else None)

    def give_up(self, rung: Rung, why: str) -> None:
        """Sets a payload aside, with all that it holds."""
        name = rung.key.removeprefix(doorbell.SIGNALS)
        aside = replace(rung, key=f"{doorbell.DEAD}{rung.at.replace(':', '-')}--{name}", why=why)
        update(self.store, aside.key, lambda _: _serialized(aside))
        self.store.delete(rung.key)

    def discard(self, keys: list[str]) -> list[str]:
        """Deletes payloads; which ones."""
        for key in keys:
            self.store.delete(key)
        return keys

    def _read(self, prefix: str) -> tuple[list[Rung], list[str]]:
        found, damaged = [], []
        for entry in self.store.list(prefix):
            blob = read_or_none(self.store, entry.key)
            try:
                if blob:
                    found.append(_parsed(blob.data, entry.key))
            except FormatError:
                damaged.append(entry.key)
        return sorted(found, key=_order), damaged


def _order(rung: Rung) -> tuple[str, bool, str]:
    """By time; of the same millisecond the end of a turn, whose file is replaced by each that follows, comes first."""
    return rung.at, not rung.key.startswith(f"{doorbell.SIGNALS}{doorbell.TURN}"), rung.key


def _serialized(rung: Rung) -> bytes:
    fields = {name: getattr(rung, name) for name in ("harness", "agent", "at", "attempts", "not_before", "why")}
    return json.dumps({"version": doorbell.VERSION, **fields, "payload": dict(rung.payload)}).encode()


def _parsed(data: bytes, key: str) -> Rung:
    try:
        value = json.loads(data)
        if value.pop("version") != doorbell.VERSION or not isinstance(value["payload"], dict):
            raise FormatError(f"{key}: a signal of another version", hint="upgrade lineage")
        if not all(isinstance(value.get(name), str) for name in ("harness", "agent", "at")):
            raise FormatError(f"{key}: a signal without its harness, agent or time")
        return Rung(key, **value)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise FormatError(f"{key}: not a signal", hint="run `lineage status`; the file stays in the spool") from error
