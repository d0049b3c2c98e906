"""Prepared context blocks for new sessions. A hook computes the key of its block and needs no listing."""

from dataclasses import dataclass
from zlib import crc32

from lineage.core.base import hook_protocol
from lineage.store import Store, update


@dataclass(frozen=True, slots=True)
class ContextCache:
    """Prepared blocks in a private store, one for each agent and folder. They can be rebuilt."""

    store: Store

    def put(self, agent: str, folder: str, text: str) -> bool:
        """Write the block of an agent in a folder. Return whether it changed."""
        data = (hook_protocol.context_block_header(agent, folder) + text).encode("utf-8", "replace")
        return update(self.store, _key(agent, folder), lambda _: data)

    def discard(self, agent: str, folder: str) -> None:
        """Delete the block of an agent in a folder."""
        self.store.delete(_key(agent, folder))

    def clear(self) -> None:
        """Delete all blocks: they may quote removed content."""
        for entry in self.store.list(hook_protocol.CONTEXT_CACHE):
            self.store.delete(entry.key)


def _key(agent: str, folder: str) -> str:
    return hook_protocol.context_block_key(agent, folder, crc32(f"{agent}\n{folder}".encode("utf-8", "replace")))
