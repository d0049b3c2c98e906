"""Strict YAML for others' frontmatter: text, int, true/false, null, flat lists (format: Frontmatter)."""

import re
from typing import Any

import yaml

from lineage.errors import FormatError

_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_MAX_INT_DIGITS = 18
_MAX_DEPTH = 8


def parse(block: str) -> dict[str, Any]:
    """Return the mapping in `block`. Raises FormatError for anything outside the subset."""
    try:
        _reject_unsafe(block)
        root = yaml.compose(block, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError) as error:
        first = " ".join(str(error).split())[:160]
        raise FormatError(f"the frontmatter is not valid YAML: {first}") from error
    if root is None:
        return {}
    if not isinstance(root, yaml.MappingNode):
        raise FormatError("the frontmatter is not a mapping of keys to values")
    meta: dict[str, Any] = {}
    for key_node, value_node in root.value:
        if not isinstance(key_node, yaml.ScalarNode):
            raise FormatError("a frontmatter key is not plain text")
        key = str(key_node.value)
        if key in meta:
            raise FormatError(f"the frontmatter has the key {key!r} twice")
        meta[key] = _parse_value(key, value_node)
    return meta


def _reject_unsafe(block: str) -> None:
    # Before anything is composed: nested anchors multiply to gigabytes, deep nesting overflows the C stack.
    depth = 0
    for event in yaml.parse(block, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise FormatError("the frontmatter uses an anchor")
        if getattr(event, "tag", None):
            raise FormatError(f"the frontmatter uses the tag {event.tag!r}")  # type: ignore[attr-defined]
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            raise FormatError("the frontmatter is nested too deeply")


def _parse_value(key: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return _parse_scalar(node)
    if isinstance(node, yaml.SequenceNode) and all(isinstance(item, yaml.ScalarNode) for item in node.value):
        return [_parse_scalar(item) for item in node.value]
    raise FormatError(f"the frontmatter's {key!r} is neither a plain value nor a list of them")


def _parse_scalar(node: yaml.ScalarNode) -> Any:
    text = str(node.value)
    if node.style in ("'", '"', "|", ">"):
        return text
    if text in ("", "~", "null"):
        return None
    if text in ("true", "false"):
        return text == "true"
    if _INT.fullmatch(text) and len(text.lstrip("+-")) <= _MAX_INT_DIGITS:
        return int(text)
    return text
