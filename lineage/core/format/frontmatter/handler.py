"""Our frontmatter behind python-frontmatter's port: whoever uses that library reads and writes our files with it."""

from collections.abc import Mapping
from typing import Any

from frontmatter.default_handlers import BaseHandler

from lineage.core.format.frontmatter import block, strict_yaml

MAX_DEPTH = 8


class FrontmatterHandler(BaseHandler):
    """The library without its habits: nothing is stripped, sorted or turned into other types."""

    FM_BOUNDARY = block.BOUNDARY
    START_DELIMITER = END_DELIMITER = "---"

    def split(self, text: str) -> tuple[str, str]:
        return block.split_block(text)

    def load(self, fm: str) -> dict[str, Any]:
        """What a person or another program wrote, by the strict YAML. Raises FormatError."""
        return strict_yaml.parse(fm, max_depth=MAX_DEPTH)

    def export(self, metadata: Mapping[str, object], **_: object) -> str:
        return block.dump_block(metadata)
