"""The turns of a Codex rollout: said once where two records say them, and with ids that a fork's copies share."""

import hashlib
from collections import Counter

from lineage.core.turns import Turn
from lineage.harness.codex_thread import Thread
from lineage.harness.jsonl import Gathered

_DIGEST = 24


class Turns:
    """Turns in file order, each decided by what stands at or before its record: a longer file only ever adds turns."""

    def __init__(self, thread: Thread, most: float) -> None:
        self.all = Gathered(most)
        self._thread = thread
        self._used: Counter[str] = Counter()
        self._said: Counter[tuple[bool, str]] = Counter()
        self._held: list[tuple[Turn, str]] = []

    @property
    def held(self) -> int:
        """How many user messages wait."""
        return len(self._held)

    def append(self, turn: Turn, own_id: str = "") -> None:
        """Adds a turn, after those that waited; `own_id` is the harness's id of its record, "" where it has none."""
        self.release()
        self._put(turn, own_id)

    def hold(self, turn: Turn, own_id: str) -> None:
        """Keeps a user message until an event says what the user typed."""
        self._held.append((turn, own_id))

    def drop(self) -> int:
        """An event said what the user typed: lets the waiting messages fall and says how many."""
        count = len(self._held)
        self._held.clear()
        return count

    def release(self) -> None:
        """The session went on without such an event, for the file has none: what waited are turns."""
        for turn, own_id in self._held:
            self._put(turn, own_id)
        self._held.clear()

    def repeats(self, event: bool, own_id: str, text: str) -> bool:
        """Whether the other kind of record, event or item, has said this already: by id, else by text."""
        said = _short(text.strip())
        keys = {own_id or said, said}
        twins = [(not event, key) for key in keys if self._said[not event, key]]
        if twins:
            self._said.subtract(twins)
        else:
            self._said.update((event, key) for key in keys)
        return bool(twins)

    def _put(self, turn: Turn, own_id: str) -> None:
        self.all.append(turn._replace(source_id=self._source_id(turn, own_id)))

    def _source_id(self, turn: Turn, own_id: str) -> str | None:
        """The record's own id, else a digest of the turn id and of what is said; within the thread it was written in.

        A fork copies records to other places and with new times: neither is part of an id.
        """
        if not self._thread.root:
            return None
        said = "\n".join((self._thread.turn_id, turn.role, turn.name, turn.input, turn.text))
        key = own_id or _digest(said)[:_DIGEST]
        before = self._used[key]
        self._used[key] += 1
        return f"{self._thread.root}/{key}#{before}" if before else f"{self._thread.root}/{key}"


def _short(text: str) -> str:
    """What stands for a text where only its equals are looked for."""
    digest = _digest(text)
    return text if len(text) < len(digest) else digest


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
