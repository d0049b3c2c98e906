"""Checkpoints on this machine: a file for each running session; damaged ones are listed, never an error."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from lineage.core.base.file_names import escape_name
from lineage.core.format.checkpoint import MAX_PER_AGENT, Checkpoint, parse_checkpoint, serialize_checkpoint
from lineage.errors import FormatError, WorkspaceError
from lineage.store import Store, read_or_none, update

_PREFIX = "checkpoints/"


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The checkpoints of all agents on this machine."""

    store: Store

    def get(
        self, agent_id: str, now: str, is_wanted: Callable[[Checkpoint], bool] = lambda _: True
    ) -> Checkpoint | None:
        """Return an agent's newest wanted checkpoint that may be recovered, None if there is none."""
        valid = (one for one in reversed(self.list_for_agent(agent_id)) if one.is_valid(now))
        return next(filter(is_wanted, valid), None)

    def list_for_agent(self, agent_id: str | None) -> list[Checkpoint]:
        """Return all checkpoints of an agent, or of all agents, used and expired ones too, oldest first."""
        checkpoints = [one for _, one in self._read_all(_folder(agent_id) if agent_id else _PREFIX) if one]
        return sorted(checkpoints, key=lambda one: (one.saved_at, one.session_token))

    def put(self, checkpoint: Checkpoint) -> bool:
        """Write a checkpoint unless the file is as new; an agent keeps its 16 newest. Return whether it did."""
        key = _key(checkpoint.agent_id, checkpoint.session_token)

        def change(data: bytes | None) -> bytes | None:
            known = _parse(data, key)
            return None if known and known.saved_at >= checkpoint.saved_at else serialize_checkpoint(checkpoint)

        is_written = update(self.store, key, change)
        for old in self.list_for_agent(checkpoint.agent_id)[:-MAX_PER_AGENT] if is_written else ():
            self.store.delete(_key(old.agent_id, old.session_token))
        return is_written

    def mark_offered(self, agent_id: str, token: str, at: str) -> bool:
        """Record that context blocks hold the checkpoint from `at` on. Return whether the file changed."""
        return self._update(agent_id, token, lambda one: one if one.offered_at else replace(one, offered_at=at))

    def mark_used(self, agent_id: str, token: str, at: str) -> bool:
        """Record that a session recovered the checkpoint, and drop its messages. Return whether the file changed."""
        return self._update(agent_id, token, lambda one: replace(one, messages=(), used_at=one.used_at or at))

    def discard(self, token: str) -> list[str]:
        """Delete the checkpoint of a session, readable or not. Return the deleted files."""
        return self._delete_all([key for key in self._list_keys(_PREFIX) if key.endswith(f"/{token}.json")])

    def expire(self, now: str) -> list[str]:
        """Delete checkpoints of more than 7 days. Return the deleted files."""
        return self._delete_all([key for key, one in self._read_all(_PREFIX) if one and one.is_expired(now)])

    def list_damaged(self) -> list[str]:
        """Return the files without a readable checkpoint."""
        return [key for key, one in self._read_all(_PREFIX) if one is None]

    def _update(self, agent_id: str, token: str, change: Callable[[Checkpoint], Checkpoint]) -> bool:
        key = _key(agent_id, token)

        def change_file(data: bytes | None) -> bytes | None:
            known = _parse(data, key)
            return serialize_checkpoint(change(known)) if known else None

        return update(self.store, key, change_file)

    def _read_all(self, prefix: str) -> Iterator[tuple[str, Checkpoint | None]]:
        for key in self._list_keys(prefix):
            try:
                blob = read_or_none(self.store, key)
            except WorkspaceError:  # an unreadable file counts as damaged, whoever owns it
                yield key, None
                continue
            if blob:
                yield key, _parse(blob.data, key)

    def _list_keys(self, prefix: str) -> list[str]:
        return [entry.key for entry in self.store.list(prefix)]

    def _delete_all(self, keys: list[str]) -> list[str]:
        for key in keys:
            self.store.delete(key)
        return keys


def _folder(agent_id: str) -> str:
    return f"{_PREFIX}{escape_name(agent_id)}/"


def _key(agent_id: str, token: str) -> str:
    return f"{_folder(agent_id)}{token}.json"


def _parse(data: bytes | None, key: str) -> Checkpoint | None:
    try:
        checkpoint = parse_checkpoint(data) if data is not None else None
    except FormatError:
        return None
    # A copied file may hold the checkpoint of another session.
    return checkpoint if checkpoint and _key(checkpoint.agent_id, checkpoint.session_token) == key else None
