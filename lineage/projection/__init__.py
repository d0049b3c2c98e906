"""MEMORY.md and the context of a new session as pure text from typed entries."""

from typing import TYPE_CHECKING

from lineage.core.lazily import exporting

if TYPE_CHECKING:
    from lineage.projection.context import Block, Recollection, Spent, assemble
    from lineage.projection.item import Item
    from lineage.projection.memory_md import Curated, Rendered, active_projects, render
else:
    _HOMES = {
        "context": ("Block", "Recollection", "Spent", "assemble"),
        "item": ("Item",),
        "memory_md": ("Curated", "Rendered", "active_projects", "render"),
    }
    __getattr__ = exporting(__name__, {name: home for home, names in _HOMES.items() for name in names})

__all__ = [
    "Block", "Curated", "Item", "Recollection", "Rendered", "Spent", "active_projects", "assemble", "render",
]  # fmt: skip
