"""The frontmatter block as text: the common subset of JSON and YAML, one key a line."""

import json
import re
from collections.abc import Mapping
from typing import Any

from lineage.core.format.body import replace_surrogates
from lineage.errors import FormatError

BOUNDARY = re.compile(r"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_KEY = re.compile(r"[a-z_][a-z0-9_]*")
_VALUE_BEGINS = frozenset('"[0123456789ntf-')
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff]")
_JSON_STRING_END = re.compile(r'[\\"]')
_MAX_INT = 10**18 - 1


def split_block(text: str) -> tuple[str, str]:
    """Return the block between the first two `---` lines, and the rest. Raises FormatError without one."""
    opening = BOUNDARY.match(text)
    closing = BOUNDARY.search(text, opening.end()) if opening else None
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
