r"""The public Python surface of lineage: read a workspace's documents, and write notes as lineage does.

`read_document` and `list_documents` read a workspace in a folder. For files at hand, `FrontmatterHandler` teaches
python-frontmatter the format of lineage:

>>> import frontmatter
>>> text = '---\nkind: "project"\ntags: ["a", "b"]\n---\nNotes.\n'
>>> post = frontmatter.loads(text, handler=FrontmatterHandler())
>>> post["tags"]
['a', 'b']
>>> frontmatter.dumps(post) == text
True

Every name of `__all__` keeps its meaning between releases of one major version. All other modules are internal.
"""

from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path

from lineage.core.base import naming
from lineage.core.format.documents import (
    Artifact,
    Claim,
    Document,
    Manifest,
    Tombstone,
    parse_document,
    serialize_document,
)
from lineage.core.format.frontmatter import FrontmatterHandler
from lineage.core.format.transcript import parse_turns
from lineage.core.format.turns import Turn
from lineage.documents import Documents
from lineage.documents.artifacts import load_stored_document
from lineage.errors import FormatError, LineageError, NotFoundError
from lineage.store import LocalStore, Store

__all__ = [
    "Artifact", "Claim", "Document", "FormatError", "FrontmatterHandler", "LineageError", "Manifest", "NotFoundError",
    "Tombstone", "Turn", "list_documents", "parse_document", "read_document", "read_turns", "serialize_document",
]  # fmt: skip


def list_documents(workspace: str | PathLike[str]) -> Iterator[str]:
    """Yield the paths of all documents of a workspace in a folder, sorted, archived ones included.

    Paths are relative to the workspace root, with forward slashes.
    """
    for entry in _open_store(workspace).list(naming.MEMORY):
        if naming.parse_path(entry.key) or naming.is_claim_or_tombstone(entry.key):
            yield entry.key


def read_document(workspace: str | PathLike[str], path: str) -> Document:
    """Return the document at a path of `list_documents`, archived or not.

    Raises NotFoundError if there is none, FormatError if it breaks the format's contract.
    """
    loaded = load_stored_document(_open_store(workspace), path)
    if loaded is None:
        raise NotFoundError(f"no document at {path[:120]!r}")
    return loaded.document


def read_turns(transcript: Artifact) -> Sequence[Turn]:
    """Return the turns of a transcript, oldest first. Times are UTC, to the second."""
    return parse_turns(transcript.body)


def _open_store(workspace: str | PathLike[str]) -> Store:
    folder = LocalStore(Path(workspace))
    return Documents(folder, folder).store
