"""Prepared context blocks for new sessions. A hook computes the key of its block and needs no listing."""

from dataclasses import dataclass

from lineage.core.base.context_blocks import ContextFile, build_context_file, build_context_key, find_context_file
from lineage.core.base.hook_protocol import CONTEXT_CACHE
from lineage.store import Store, read_or_none, update


@dataclass(frozen=True, slots=True)
class ContextCache:
    """Prepared blocks in a private store, one for each agent and name of a project. They can be rebuilt."""

    store: Store

    def put(self, agent: str, name: str, file: ContextFile) -> bool:
        """Write the block of an agent under a name. Return whether it changed."""
        data = build_context_file(agent, name, file).encode("utf-8", "replace")
        return update(self.store, build_context_key(agent, name), lambda _: data)

    def find(self, agent: str, names: list[str]) -> ContextFile:
        """Return the block that a hook gives to a session of the project with these names."""

        def read(key: str) -> str:
            blob = read_or_none(self.store, key)
            return blob.data.decode("utf-8", errors="replace") if blob else ""

        return find_context_file(read, agent, names)

    def list_names(self) -> set[tuple[str, str]]:
        """Return the agent and the name of each block."""
        blobs = (read_or_none(self.store, entry.key) for entry in self.store.list(CONTEXT_CACHE))
        heads = (blob.data.partition(b"\n")[0].decode("utf-8", "replace") for blob in blobs if blob)
        return {(agent, name) for agent, _, name in (head.partition(" ") for head in heads)}

    def discard(self, agent: str, name: str) -> None:
        """Delete the block of an agent under a name."""
        self.store.delete(build_context_key(agent, name))

    def clear(self) -> None:
        """Delete all blocks: they may quote removed content."""
        for entry in self.store.list(CONTEXT_CACHE):
            self.store.delete(entry.key)
