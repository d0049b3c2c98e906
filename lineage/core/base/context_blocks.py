"""Prepared context blocks: a file for each agent and name of a project, which a hook finds without a listing.

The first line says whose it is, the second which project's, and which entries of books are in it; the text follows. The
hook path imports this module, so it imports nothing.
"""

from lineage.core.base.hook_protocol import CONTEXT_CACHE
from lineage.core.base.project import is_repository

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

NO_PROJECT = ""
"""The name of the block for sessions outside of any known project: what is global."""


class ContextFile:
    """A prepared block: the key of its project, the ids of its entries, its text."""

    __slots__ = ("entry_ids", "key", "text")

    def __init__(self, key: str = "", entry_ids: "Sequence[str]" = (), text: str = "") -> None:
        self.key, self.entry_ids, self.text = key, tuple(entry_ids), text


def build_context_file(agent: str, name: str, file: ContextFile) -> str:
    """Return the text of a block's file."""
    return f"{_build_head(agent, name)}\n{' '.join(file.entry_ids)}\t{_flatten(file.key)}\n{file.text}"


def build_context_key(agent: str, name: str) -> str:
    """Return the key of a block's file below `.lineage/`; a checksum, and two with the same differ by the head.

    >>> build_context_key("default", "github.com/ada/demo")
    'context/0e3219b7-1a.txt'
    """
    from zlib import crc32  # noqa: PLC0415

    checksum = crc32(f"{agent}\n{name}".encode("utf-8", "replace"))
    return f"{CONTEXT_CACHE}{checksum:08x}-{len(agent) + len(name):x}.txt"


def find_context_file(read: "Callable[[str], str]", agent: str, names: "Sequence[str]") -> ContextFile:
    """Return the first block with a text under one of these names, given how a file is read, "" for a missing one.

    The names are those of one project, the surest first. Another repository's that was at the same path is none of its.
    """
    for name in names:
        head, _, rest = read(build_context_key(agent, name)).partition("\n")
        about, _, text = rest.partition("\n")
        ids, _, key = about.partition("\t")
        if text and head == _build_head(agent, name) and (not is_repository(key) or key in names or is_path(names)):
            return ContextFile(key, ids.split(), text)
    return ContextFile()


def is_path(names: "Sequence[str]") -> bool:
    """Return whether nothing is known of a project but its path: the repository there may be any."""
    return not any(map(is_repository, names))


def _build_head(agent: str, name: str) -> str:
    return _flatten(f"{agent} {name}")


def _flatten(text: str) -> str:
    return text.replace("\n", " ")
