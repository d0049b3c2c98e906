"""The contract of the values in a document's frontmatter (spec: frontmatter)."""

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any

from lineage.core.base.naming import STEM, TOKEN, validate_agent_id
from lineage.core.base.times import to_utc_or_none
from lineage.core.format.body import HASH_SCOPE
from lineage.errors import FormatError, InvalidInput

OK = "ok"
FALLBACK = "fallback"

_TIMES = frozenset(
    {"captured_at", "started_at", "ended_at", "updated_at", "memory_sentence_generated_at", "removed_at"}
)

_ITEMS: dict[str, type | UnionType] = {"watermark": int | str | NoneType}
_STEMS = (STEM, "stems")
_LISTS = {"imported_from": (TOKEN, "session tokens"), "sub_agents": _STEMS, "previous": _STEMS, "related": _STEMS}
_WATERMARKS = ([int, str, str], [int, NoneType, str])


def check_meta(key_types: Mapping[str, tuple[type, ...]], meta: Mapping[str, Any]) -> None:
    """Raise FormatError for a missing key, and for a value that is not of its types or no value of its key."""
    for key, types in key_types.items():
        if key not in meta:
            raise FormatError(f"the frontmatter lacks {key!r}")
        value = meta[key]
        if type(value) not in types:
            wanted = " or ".join("null" if t is NoneType else t.__name__ for t in types)
            raise FormatError(f"{key!r} is {type(value).__name__}, not {wanted}")
        if isinstance(value, list) and not all(isinstance(item, _ITEMS.get(key, str)) for item in value):
            raise FormatError(f"{key!r} holds something else than text")
        if key in _TIMES and value is not None and to_utc_or_none(value) != value:
            raise FormatError(f"{key!r} is not a canonical UTC time: {value!r}")
    _check_optional(meta)
    if "watermark" in key_types and [type(item) for item in meta["watermark"]] not in _WATERMARKS:
        raise FormatError("'watermark' is not [count, last turn id, sanitizer version]")
    if meta.get("hash_scope", HASH_SCOPE) != HASH_SCOPE:
        raise FormatError(f"'hash_scope' is not {HASH_SCOPE!r}")
    if meta.get("memory_sentence_quality", OK) not in (OK, FALLBACK):
        raise FormatError("'memory_sentence_quality' is neither 'ok' nor 'fallback'")
    try:
        validate_agent_id(meta["agent_id"])
    except InvalidInput as error:
        raise FormatError(error.message) from error


def _check_optional(meta: Mapping[str, Any]) -> None:
    for key, (pattern, what) in _LISTS.items():
        names = meta.get(key, [])
        if not (isinstance(names, list) and all(isinstance(name, str) and pattern.fullmatch(name) for name in names)):
            raise FormatError(f"{key!r} is not a list of {what}")
    if not all(type(meta.get(key, "")) is str for key in ("subfolder", "project_name")):
        raise FormatError("'subfolder' or 'project_name' is not text")
    if type(meta.get("was_private", False)) is not bool:
        raise FormatError("'was_private' is neither true nor false")
