"""Frontmatter: the properties at the head of every note, read and written as python-frontmatter's `Post`.

`block` and `strict_yaml` parse and write the text between the `---` lines, `handler` puts both behind
python-frontmatter's handler port. (format: Frontmatter)
"""

from lineage.core.format.frontmatter.handler import FrontmatterHandler, build_post, dump, load

__all__ = ["FrontmatterHandler", "build_post", "dump", "load"]
