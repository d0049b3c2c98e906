"""MEMORY.md as pure text from typed entries, and its publication under a lease."""

from lineage.projection.memory_md import Rendered, render
from lineage.projection.publication import publish

__all__ = ["Rendered", "publish", "render"]
