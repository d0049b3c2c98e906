"""Writing MEMORY.md under a lease. (spec: concurrency contract)"""

from collections.abc import Callable

from lineage.core.naming import memory_md_path
from lineage.store import Lease, Store, update


def publish(store: Store, held: Lease, agent_id: str, text: str) -> bool:
    """Replaces the agent's MEMORY.md; False where it has these bytes already and is not rewritten.

    Raises LeaseLost where a later holder may have published: the generation is checked in the critical section of
    the write, so a writer that was stopped and woke up publishes nothing stale.
    """
    return held.guarded(_replacement(store, memory_md_path(agent_id), text.encode()))


def _replacement(store: Store, path: str, data: bytes) -> Callable[[], bool]:
    return lambda: update(store, path, lambda _: data)
