"""Frontmatter: the properties of a note by python-frontmatter, in the common subset of JSON and YAML, one key a line.

lineage writes one form, and reads others' strict YAML as well. (format: Frontmatter)
"""

import json
import re
from collections.abc import Mapping
from typing import Any

import yaml
from frontmatter import Post
from frontmatter.default_handlers import BaseHandler

from lineage.core.format.body import replace_surrogates
from lineage.errors import FormatError

_BOUNDARY = re.compile(r"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_KEY = re.compile(r"[a-z_][a-z0-9_]*")
_VALUE_BEGINS = frozenset('"[0123456789ntf-')
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff]")
_JSON_STRING_END = re.compile(r'[\\"]')
_MAX_INT = 10**18 - 1
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_MAX_INT_DIGITS = 18
_MAX_DEPTH = 8
_MAX_CHARACTERS = 1_000_000


class FrontmatterHandler(BaseHandler):
    """A strict handler: FormatError for no block, duplicate keys, tags, anchors and values of other types."""

    FM_BOUNDARY = _BOUNDARY
    START_DELIMITER = END_DELIMITER = "---"

    def split(self, text: str) -> tuple[str, str]:
        """Return the block and the body. The body is everything after the newline of the closing `---`."""
        return split_block(text)

    def load(self, fm: str) -> dict[str, Any]:
        """Return the metadata that a block holds."""
        if len(fm) > _MAX_CHARACTERS:
            raise FormatError("the frontmatter is larger than 1 MB")
        # Nearly every block is in our own form, and json reads that ten times as fast as yaml does.
        meta = parse_own_block(fm)
        return parse_yaml(fm) if meta is None else meta

    def export(self, metadata: Mapping[str, object], **_: object) -> str:
        """Return the block as text. Raises TypeError for a value of another type."""
        return dump_block(metadata)

    def format(self, post: Post, **kwargs: object) -> str:
        """Return a whole note, with the newline that `frontmatter.loads` strips unless `final_newline=False`."""
        body = post.content
        # A claim or a tombstone may have no body at all: an empty one gets no newline.
        end = "\n" if kwargs.get("final_newline", True) and body and not body.endswith("\n") else ""
        return f"---\n{self.export(post.metadata)}---\n{body}{end}"


_HANDLER = FrontmatterHandler()


def build_post(meta: Mapping[str, object], body: str) -> Post:
    """Return the post of these properties, in their order, with `body` untouched."""
    post = Post(body, _HANDLER)
    # Not passed as keyword arguments: a property may be called `content` or `handler`.
    post.metadata = {**meta}
    return post


def load(text: str) -> Post:
    """Return a note's post, its body byte for byte. Raises FormatError as `FrontmatterHandler` does."""
    fm, body = _HANDLER.split(text)
    return build_post(_HANDLER.load(fm), body)


def dump(post: Post) -> str:
    """Return the note of a post, its body byte for byte. Raises TypeError for a value of another type."""
    return _HANDLER.format(post, final_newline=False)


def split_block(text: str) -> tuple[str, str]:
    """Return the block between the first two `---` lines, and the rest. Raises FormatError without one."""
    opening = _BOUNDARY.match(text)
    closing = _BOUNDARY.search(text, opening.end()) if opening else None
    if opening is None or closing is None:
        raise FormatError("no frontmatter: the file does not begin with a block between two `---` lines")
    return text[opening.end() : closing.start()], text[closing.end() :]


def dump_block(meta: Mapping[str, object]) -> str:
    """Return the block of these properties. Raises TypeError for a value of another type."""
    return "".join(f"{key}: {_format_value(value)}\n" for key, value in meta.items())


def _format_value(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        if value.isprintable() and '"' not in value and "\\" not in value:
            return f'"{value}"'
        escaped = _JSON_STRING_END.sub(lambda m: "\\" + m[0], replace_surrogates(value))
        return '"' + _UNPRINTABLE.sub(lambda m: f"\\u{ord(m[0]):04x}", escaped) + '"'
    if isinstance(value, list | tuple):
        return f"[{', '.join(_format_value(item) for item in value)}]"
    raise TypeError(f"frontmatter holds no {type(value).__name__}")


def parse_own_block(block: str) -> dict[str, Any] | None:
    """Return the properties of a block in the form of `dump_block`, or None for any other form."""
    # All lines go through one call of json: a call for each would take twice as long.
    members = []
    for line in block.removesuffix("\n").split("\n"):
        key, _, value = line.partition(": ")
        if value[:1] not in _VALUE_BEGINS or not _KEY.fullmatch(key):
            return None
        members.append(f'"{key}": {value}')
    try:
        pairs = json.loads("{" + ",\n".join(members) + "}", object_pairs_hook=list)
    except (ValueError, RecursionError):
        return None
    meta = dict(pairs)
    # A line with a second key, or a duplicate key, is left to the strict YAML parser.
    values = (item for value in meta.values() for item in (value if isinstance(value, list) else [value]))
    return meta if len(meta) == len(pairs) == len(members) and all(map(_is_plain, values)) else None


def _is_plain(value: object) -> bool:
    if isinstance(value, str):
        # An escape may stand for a lone surrogate, and YAML holds none.
        return value.isascii() or replace_surrogates(value) == value
    return value is None or (isinstance(value, int) and abs(value) <= _MAX_INT)


def parse_yaml(block: str) -> dict[str, Any]:
    """Return the properties of a block in the strict YAML that others may write. Raises FormatError for any other."""
    try:
        _reject_unsafe(block)
        root = yaml.compose(block, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError) as error:
        first = " ".join(str(error).split())[:160]
        if "nesting depth" in first:  # newer versions of libyaml count it before its events come
            raise FormatError("the frontmatter is nested too deeply") from error
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
