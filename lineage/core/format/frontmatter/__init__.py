"""Frontmatter as text: written in the common subset of JSON and YAML, one key a line, in the order given.

What is written reads back equal. What a person or Obsidian rewrote is read by a strict YAML loader that knows
str, int, bool, null and lists, and nothing else. (format: Frontmatter)
"""

from collections.abc import Mapping
from typing import Any

from lineage.core.format.frontmatter.block import dump_block, parse_own_block, split_block
from lineage.errors import FormatError

Value = str | int | bool | None | list[str] | list[Any]

_MAX_BYTES = 1_000_000


def dump(meta: Mapping[str, Value], body: str) -> str:
    """A whole file: frontmatter in the order of `meta`, then `body` untouched."""
    return f"---\n{dump_block(meta)}---\n{body}"


def load(text: str) -> tuple[dict[str, Any], str]:
    """Frontmatter and body (everything after the newline that follows the closing `---`).

    Raises FormatError for a missing block, duplicate keys, tags, anchors and values of other types.
    """
    block, body = split_block(text)
    if len(block) > _MAX_BYTES:
        raise FormatError("the frontmatter is larger than 1 MB")
    own = parse_own_block(block)
    return (own if own is not None else _parse_foreign(block)), body


def _parse_foreign(block: str) -> dict[str, Any]:
    from lineage.core.format.frontmatter.handler import FrontmatterHandler  # noqa: PLC0415  (yaml costs more than the rest of a start)

    return FrontmatterHandler().load(block)
