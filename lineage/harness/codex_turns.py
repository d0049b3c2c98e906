"""The turns of a Codex rollout, and the thread that they belong to. (harnesses.md 2.5, 2.7).

A turn is kept once if two records repeat it, under an id that a fork's copies share.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable
from typing import Any

from lineage.core.format.turns import Turn
from lineage.harness.adapter import TurnBuffer
from lineage.harness.json_values import as_mapping, as_string
from lineage.harness.words import name_words

_DIGEST_CHARS = 24
_PAGINATED = "paginated"


def find_parent(meta: dict[str, Any]) -> str | None:
    """Return the thread that started a sub-agent's, from its `session_meta`."""
    spawned = as_mapping(as_mapping(as_mapping(meta.get("source")).get("subagent")).get("thread_spawn"))
    return next(filter(None, (as_string(record.get("parent_thread_id")) for record in (meta, spawned))), None)


class CodexThread:
    """A thread's identity, origin and settings, updated record by record.

    `root_id` is the thread of the first records: a fork's copies keep their ids. `first_ordinal` is the ordinal of a
    sub-agent's first record after the copies of its parent's. `turn_id` is the id of the current turn.
    """

    def __init__(self) -> None:
        self.session_id: str | None = None
        self.parent_session: str | None = None
        self.forked_from: str | None = None
        self.project: str | None = None
        self.title: str | None = None
        self.models: dict[str, None] = {}
        self.branches: dict[str, None] = {}
        self.is_paginated = False
        self.first_ordinal = 0
        self.root_id = ""
        self.turn_id = ""

    def update_meta(self, meta: dict[str, Any], *, has_turns: bool) -> None:
        """Take a `session_meta`. `has_turns` says whether turns precede it.

        The first of a file is its own. Later ones are new states of it, or a fork's copies of its ancestors'.
        """
        identity = as_string(meta.get("id"))
        if self.session_id is None:
            self._set_identity(identity, meta)
        elif identity and identity != self.session_id and not has_turns:
            self.root_id = identity
        self.project = self.project or as_string(meta.get("cwd")) or None
        if branch := as_string(as_mapping(meta.get("git")).get("branch")):
            self.branches[branch] = None

    def _set_identity(self, identity: str, meta: dict[str, Any]) -> None:
        forked_from = as_string(meta.get("forked_from_id"))
        first_ordinal = meta.get("subagent_history_start_ordinal")
        self.session_id = identity or None
        self.parent_session = find_parent(meta)
        self.forked_from = forked_from or None
        self.is_paginated = meta.get("history_mode") == _PAGINATED
        self.first_ordinal = first_ordinal if isinstance(first_ordinal, int) else 0
        # A fork with a `history_base` points to its parent's records, others copy them.
        copies = forked_from and not isinstance(meta.get("history_base"), dict)
        self.root_id = forked_from if copies else identity

    def update_context(self, context: dict[str, Any]) -> None:
        """Take a `turn_context`, or an event at the start of a turn."""
        self.turn_id = as_string(context.get("turn_id")) or self.turn_id
        self.project = self.project or as_string(context.get("cwd")) or None
        if as_string(context.get("model")):
            self.models[context["model"]] = None


class CodexTurns:
    """Turns in file order. Each depends on records at or before its own, so a longer file only ever adds turns."""

    def __init__(self, thread: CodexThread, buffer: TurnBuffer) -> None:
        self.buffer = buffer
        self._thread = thread
        self._id_counts: Counter[str] = Counter()
        self._text_counts: Counter[tuple[bool, str]] = Counter()
        self._pending: list[tuple[Turn, str]] = []

    def append(self, turn: Turn, record_id: str = "") -> None:
        """Add a turn after the pending ones. `record_id` is the harness's id of its record, "" for none."""
        self.flush_pending()
        self._append_turn(turn, record_id)

    def append_words(self, words: Iterable[Turn], record_id: str) -> None:
        """Add a person's words in a record of something else. Pending turns stay pending."""
        for turn in name_words(words, f"{self._thread.root_id}/{record_id}"):
            self.buffer.append(turn)

    def add_pending(self, turn: Turn, record_id: str) -> None:
        """Hold a user message until an event shows the text that the user typed."""
        self._pending.append((turn, record_id))

    def discard_pending(self) -> int:
        """Drop the pending messages: an event shows the typed text, or none followed. Return their number."""
        count, self._pending = len(self._pending), []
        return count

    def flush_pending(self) -> None:
        """Add the pending messages as turns: the session went on without such an event."""
        for turn, record_id in self._pending:
            self._append_turn(turn, record_id)
        self._pending.clear()

    def consume_duplicate(self, is_event: bool, record_id: str, text: str) -> bool:
        """Return whether the other kind of record, event or item, holds the same text: by id, else by text."""
        # A digest stands for a long text: the texts would be most of a long file.
        text = text.strip()
        text_key = text if len(text) < _DIGEST_CHARS else _digest(text)
        keys = {record_id or text_key, text_key}
        twins = [(not is_event, key) for key in keys if self._text_counts[not is_event, key]]
        if twins:
            self._text_counts.subtract(twins)
        else:
            self._text_counts.update((is_event, key) for key in keys)
        return bool(twins)

    def _append_turn(self, turn: Turn, record_id: str) -> None:
        self.buffer.append(turn._replace(source_id=self._source_id(turn, record_id)))

    def _source_id(self, turn: Turn, record_id: str) -> str | None:
        """Return the record's own id, else a digest of turn id and content, within the thread of its origin."""
        if not self._thread.root_id:
            return None
        # A fork copies records to other places and with new times: neither may be part of the id.
        content = "\n".join((self._thread.turn_id, turn.role, turn.name, turn.input, turn.text))
        key = record_id or _digest(content)[:_DIGEST_CHARS]
        count = self._id_counts[key]
        self._id_counts[key] += 1
        return f"{self._thread.root_id}/{key}#{count}" if count else f"{self._thread.root_id}/{key}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
