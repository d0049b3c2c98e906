"""The turns of a Codex rollout: said once where two records say them, and with ids that a fork's copies share."""

import hashlib
from collections import Counter

from lineage.core.format.turns import Turn
from lineage.harness.codex_thread import CodexThread
from lineage.harness.jsonl import TurnBuffer

_DIGEST = 24


class CodexTurns:
    """Turns in file order, each decided by what stands at or before its record: a longer file only ever adds turns."""

    def __init__(self, thread: CodexThread, max_chars: float) -> None:
        self.buffer = TurnBuffer(max_chars)
        self._thread = thread
        self._id_counts: Counter[str] = Counter()
        self._text_counts: Counter[tuple[bool, str]] = Counter()
        self._pending: list[tuple[Turn, str]] = []

    @property
    def pending_count(self) -> int:
        """How many user messages wait."""
        return len(self._pending)

    def append(self, turn: Turn, record_id: str = "") -> None:
        """Adds a turn, after those that waited; `record_id` is the harness's id of its record, "" where it has none."""
        self.flush_pending()
        self._append_turn(turn, record_id)

    def add_pending(self, turn: Turn, record_id: str) -> None:
        """Keeps a user message until an event says what the user typed."""
        self._pending.append((turn, record_id))

    def discard_pending(self) -> int:
        """An event said what the user typed: lets the waiting messages fall and says how many."""
        count = len(self._pending)
        self._pending.clear()
        return count

    def flush_pending(self) -> None:
        """The session went on without such an event, for the file has none: what waited are turns."""
        for turn, own_id in self._pending:
            self._append_turn(turn, own_id)
        self._pending.clear()

    def consume_duplicate(self, is_event: bool, record_id: str, text: str) -> bool:
        """Whether the other kind of record, event or item, has said this already: by id, else by text."""
        said = _text_key(text.strip())
        keys = {record_id or said, said}
        twins = [(not is_event, key) for key in keys if self._text_counts[not is_event, key]]
        if twins:
            self._text_counts.subtract(twins)
        else:
            self._text_counts.update((is_event, key) for key in keys)
        return bool(twins)

    def _append_turn(self, turn: Turn, record_id: str) -> None:
        self.buffer.append(turn._replace(source_id=self._source_id(turn, record_id)))

    def _source_id(self, turn: Turn, record_id: str) -> str | None:
        """The record's own id, else a digest of the turn id and of what is said; within the thread it was written in.

        A fork copies records to other places and with new times: neither is part of an id.
        """
        if not self._thread.root_id:
            return None
        said = "\n".join((self._thread.turn_id, turn.role, turn.name, turn.input, turn.text))
        key = record_id or _digest(said)[:_DIGEST]
        before = self._id_counts[key]
        self._id_counts[key] += 1
        return f"{self._thread.root_id}/{key}#{before}" if before else f"{self._thread.root_id}/{key}"


def _text_key(text: str) -> str:
    """What stands for a text where only its equals are looked for."""
    digest = _digest(text)
    return text if len(text) < len(digest) else digest


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
