"""The names that the folder of a project's books may have (format: Identity)."""

import hashlib
from collections.abc import Iterator

from lineage.core.base.file_names import escape_name
from lineage.core.base.project import is_repository
from lineage.errors import InvalidInput


def list_names(key: str) -> Iterator[str]:
    """Yield the names that the folder of a project's key may have, the first free one first; the last is its own."""
    parts, short_hash = key.split("/"), hash_key(key)[:8]
    hashed = f"{parts[-1]}-{short_hash}"
    if not _is_name(hashed):  # no file system accepts it: the hash alone takes its place
        yield f"project-{short_hash}"
        return
    yield parts[-1]
    if is_repository(key) and _is_name(owned := "-".join(parts[-2:])):
        yield owned
    yield hashed


def get_own_name(key: str) -> str:
    """Return the name that no other project's folder can have."""
    return list(list_names(key))[-1]


def _is_name(name: str) -> bool:
    try:
        return bool(escape_name(name))
    except InvalidInput:
        return False


def hash_key(key: str) -> str:
    """Return the hash that stands for a key in names and notes."""
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:16]
