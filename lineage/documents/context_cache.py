"""The blocks that new sessions begin with, prepared where the doorbell finds them without looking for anything."""

from dataclasses import dataclass
from zlib import crc32

from lineage.core.base import hook_protocol
from lineage.store import Store, update


@dataclass(frozen=True, slots=True)
class ContextCache:
    """Prepared blocks in a private store, one for each agent and folder. A projection: they can be made again."""

    store: Store

    def put(self, agent: str, folder: str, text: str) -> bool:
        """True where the block changed."""
        checksum = crc32(f"{agent}\n{folder}".encode("utf-8", "replace"))
        data = (hook_protocol.context_block_header(agent, folder) + text).encode("utf-8", "replace")
        return update(self.store, hook_protocol.context_block_key(agent, folder, checksum), lambda _: data)

    def clear(self) -> None:
        """Drops all of them: what they quote may be gone."""
        for entry in self.store.list(hook_protocol.CONTEXT_CACHE):
            self.store.delete(entry.key)
