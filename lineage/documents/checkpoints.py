"""Checkpoints over the machine's private store: one file for each session that goes on, in its agent's folder.

Files are 0600 in folders 0700. One that is damaged is ignored, named by `damaged`, and never an error.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from lineage.core.base.book_paths import escape_name
from lineage.errors import FormatError, WorkspaceError
from lineage.store import Store, read_or_none, update

if TYPE_CHECKING:  # imported with the first one that is there: there seldom is one
    from lineage.core.format.checkpoint import Checkpoint

_PREFIX = "checkpoints/"


class Checkpoints(NamedTuple):
    store: Store

    def get(self, agent_id: str, now: str, *, project: str | None = None) -> "Checkpoint | None":
        """The newest checkpoint of an agent that may be recovered: at most 7 days old and not used; where `project` is
        given, of a session in that project."""
        found = [one for one in self.list_for_agent(agent_id) if one.is_valid(now) and project in (None, one.project)]
        return found[-1] if found else None

    def list_for_agent(self, agent_id: str | None) -> "list[Checkpoint]":
        """All of an agent's, or of every one's, used and old ones too, oldest first."""
        found = [one for _, one in self._read_all(_folder(agent_id) if agent_id else _PREFIX) if one]
        return sorted(found, key=lambda one: (one.saved_at, one.session_token))

    def put(self, checkpoint: "Checkpoint") -> bool:
        """Keeps a session's checkpoint in place of an older one; a repetition leaves it as it is, used or not. The
        agent's 16 newest are kept. True where something was written."""
        from lineage.core.format.checkpoint import MAX_PER_AGENT, serialize_checkpoint  # noqa: PLC0415

        key = _key(checkpoint.agent_id, checkpoint.session_token)

        def change(data: bytes | None) -> bytes | None:
            known = _parse(data, key)
            return None if known and known.saved_at >= checkpoint.saved_at else serialize_checkpoint(checkpoint)

        written = update(self.store, key, change)
        for old in self.list_for_agent(checkpoint.agent_id)[:-MAX_PER_AGENT] if written else ():
            self.store.delete(_key(old.agent_id, old.session_token))
        return written

    def mark_offered(self, agent_id: str, token: str, at: str) -> bool:
        """Notes that prepared blocks hold it from `at` on."""
        return self._update(agent_id, token, lambda known: known if known.offered_at else known._replace(offered_at=at))

    def mark_used(self, agent_id: str, token: str, at: str) -> bool:
        """Notes that it was recovered: nobody gets it again, and its messages go. False where that was so already."""
        return self._update(agent_id, token, lambda known: known._replace(messages=(), used_at=known.used_at or at))

    def discard(self, token: str) -> list[str]:
        """Deletes a session's, readable or not; which files."""
        return self._delete_all(key for key in self._list_keys(_PREFIX) if key.endswith(f"/{token}.json"))

    def expire(self, now: str) -> list[str]:
        """Deletes those that are more than 7 days old; which files."""
        return self._delete_all(key for key, one in self._read_all(_PREFIX) if one and one.is_expired(now))

    def list_damaged(self) -> list[str]:
        """Files that hold no checkpoint: they are ignored, and left as they are."""
        return [key for key, one in self._read_all(_PREFIX) if one is None]

    def _update(self, agent_id: str, token: str, change: "Callable[[Checkpoint], Checkpoint]") -> bool:
        from lineage.core.format.checkpoint import serialize_checkpoint  # noqa: PLC0415

        key = _key(agent_id, token)

        def changed(data: bytes | None) -> bytes | None:
            known = _parse(data, key)
            return serialize_checkpoint(change(known)) if known else None

        return update(self.store, key, changed)

    def _read_all(self, prefix: str) -> "Iterator[tuple[str, Checkpoint | None]]":
        for key in self._list_keys(prefix):
            try:
                blob = read_or_none(self.store, key)
            except WorkspaceError:  # a file that cannot be read holds nothing for us
                yield key, None
                continue
            if blob:
                yield key, _parse(blob.data, key)

    def _list_keys(self, prefix: str) -> list[str]:
        return [entry.key for entry in self.store.list(prefix)]

    def _delete_all(self, keys: Iterator[str]) -> list[str]:
        gone = list(keys)
        for key in gone:
            self.store.delete(key)
        return gone


def _folder(agent_id: str) -> str:
    return f"{_PREFIX}{escape_name(agent_id)}/"


def _key(agent_id: str, token: str) -> str:
    return f"{_folder(agent_id)}{token}.json"


def _parse(data: bytes | None, key: str) -> "Checkpoint | None":
    """The checkpoint that lies at a key; None for what is damaged, or another session's."""
    from lineage.core.format.checkpoint import parse_checkpoint  # noqa: PLC0415

    try:
        found = parse_checkpoint(data) if data is not None else None
    except FormatError:
        return None
    return found if found and _key(found.agent_id, found.session_token) == key else None
