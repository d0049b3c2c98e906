"""The items given to sessions at prompts and actions: a private file of JSON lines for each. Hooks append to it."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

from lineage.core.base.hook_protocol import RECALL_LOG
from lineage.core.base.session_token import hash_identity
from lineage.core.base.times import shift_time
from lineage.store import Store, read_or_none, update

MAX_AGE_DAYS = 30
_ENDING = ".jsonl"

GivenItem = dict[str, Any]
"""A line about one item: its `id`, when (`at`) and at what `kind` it was given, its `tokens` and `marks`.

`is_counted` and `is_used` are added by the session's captures.
"""


@dataclass(frozen=True, slots=True)
class RecallLog:
    """The files of all sessions on this machine. Lines that can't be read stay as they are."""

    store: Store

    def list_items(self, agent_id: str, session_id: str) -> list[GivenItem]:
        """Return the items given to a session, oldest first."""
        blob = read_or_none(self.store, _key(hash_identity(agent_id, session_id)))
        return [item for line in (blob.data if blob else b"").split(b"\n") if (item := _parse(line))]

    def count_uses(self) -> dict[str, tuple[int, int]]:
        """Return how many of the sessions of the last 30 days were given each item, and how many used it."""
        given, used = Counter[str](), Counter[str]()
        for key in self._iter_keys():
            blob = read_or_none(self.store, key)
            items = list(filter(None, map(_parse, blob.data.split(b"\n") if blob else ())))
            given.update({str(item["id"]) for item in items})
            used.update({str(item["id"]) for item in items if item.get("is_used")})
        return {name: (count, used[name]) for name, count in given.items()}

    def change_items(self, agent_id: str, session_id: str, change: Callable[[GivenItem], GivenItem]) -> None:
        """Replace the items of a session by the answer of `change`. It may be called more than once for each."""
        self._change_lines(_key(hash_identity(agent_id, session_id)), change)

    def forget(self, tokens: Collection[str], entries: Collection[str]) -> list[str]:
        """Delete the files of sessions, and every line about a passage of theirs or an entry. Return deleted files."""
        own = {_key(token) for token in tokens}
        deleted = [key for key in self._iter_keys() if key in own]
        for key in deleted:
            self.store.delete(key)

        def keep(item: GivenItem) -> GivenItem | None:
            name = str(item["id"])
            return None if name in entries or name.partition("/")[0] in tokens else item

        for key in self._iter_keys():
            self._change_lines(key, keep)
        return deleted

    def expire(self, now: str) -> None:
        """Delete the files of sessions that were given nothing for 30 days."""
        oldest = shift_time(now, days=-MAX_AGE_DAYS)
        for key in self._iter_keys():
            blob = read_or_none(self.store, key)
            items = filter(None, map(_parse, blob.data.split(b"\n") if blob else ()))
            if max((str(item.get("at")) for item in items), default="") < oldest:
                self.store.delete(key)

    def put_settings(self, text: str) -> None:
        """Keep settings in the hook's place if the workspace isn't on this machine."""
        update(self.store, f"{RECALL_LOG}lineage.toml", lambda _: text.encode())

    def _iter_keys(self) -> Iterator[str]:
        yield from [entry.key for entry in self.store.list(RECALL_LOG) if entry.key.endswith(_ENDING)]

    def _change_lines(self, key: str, change: Callable[[GivenItem], GivenItem | None]) -> None:
        def change_file(data: bytes | None) -> bytes | None:
            lines = []
            for line in (data or b"").split(b"\n"):
                item = _parse(line)
                changed = change(item) if item else None
                if changed is not None and changed != item:
                    lines.append(json.dumps(changed, separators=(",", ":")).encode())
                elif item is None or changed is not None:
                    lines.append(line)
            return b"\n".join(lines) if data is not None else None

        update(self.store, key, change_file)


def _key(token: str) -> str:
    return f"{RECALL_LOG}{token}{_ENDING}"


def _parse(line: bytes) -> GivenItem | None:
    """Return the item of a line, None for any other line."""
    try:
        value = json.loads(line) if line.strip() else None
    except (ValueError, RecursionError):
        return None
    is_item = isinstance(value, dict) and isinstance(value.get("marks"), list) and "id" in value
    return value if is_item else None
