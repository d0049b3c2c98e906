"""MEMORY.md and the context of a new session as pure text from typed entries."""

from typing import TYPE_CHECKING

from lineage.core.base.lazy import export_lazily

if TYPE_CHECKING:
    from lineage.projection.context_block import ContextBlock, ContextItems, SectionUsage, build_context_block
    from lineage.projection.memory_item import MemoryItem
    from lineage.projection.memory_md import MemoryDocument, MemoryHead, list_active_projects, render_memory_md
else:
    _HOMES = {
        "context_block": (
            "ContextBlock",
            "ContextItems",
            "SectionUsage",
            "build_context_block",
        ),
        "memory_item": ("MemoryItem",),
        "memory_md": (
            "MemoryHead",
            "MemoryDocument",
            "list_active_projects",
            "render_memory_md",
        ),
    }
    __getattr__ = export_lazily(__name__, {name: home for home, names in _HOMES.items() for name in names})

__all__ = [
    "ContextBlock",
    "ContextItems",
    "MemoryDocument",
    "MemoryHead",
    "MemoryItem",
    "SectionUsage",
    "build_context_block",
    "list_active_projects",
    "render_memory_md",
]  # fmt: skip
