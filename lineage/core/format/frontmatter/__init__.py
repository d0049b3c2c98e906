"""Frontmatter: the properties of every note, as python-frontmatter's `Post` (format: Frontmatter)."""

from lineage.core.format.frontmatter.handler import FrontmatterHandler, build_post, dump, load

__all__ = ["FrontmatterHandler", "build_post", "dump", "load"]
