"""MEMORY.md and the context of a new session as pure text from typed entries, and publication under a lease."""

from lineage.projection.context import Block, Item, Recollection, Spent, assemble
from lineage.projection.memory_md import Curated, Rendered, active_projects, render
from lineage.projection.publication import publish

__all__ = [
    "Block", "Curated", "Item", "Recollection", "Rendered", "Spent", "active_projects", "assemble", "publish", "render",
]  # fmt: skip
