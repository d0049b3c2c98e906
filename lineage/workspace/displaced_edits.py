"""Words that a program wrote into a file after lineage had replaced it. (reliability.md: durable writes).

An editor that had the file open does not know that another one has its name now.
"""

from lineage.core.base import naming
from lineage.core.base.added_lines import find_added_lines
from lineage.core.base.book_paths import parse_book_path
from lineage.core.transfer.archive_paths import ARCHIVE
from lineage.store import update
from lineage.workspace.workspace import Workspace

_RENDERED = (naming.MEMORY, ARCHIVE, naming.memory_md_path(naming.DEFAULT_AGENT))


def merge_displaced_edits(ws: Workspace) -> None:
    """Bring such words into the file that has the name now: a book by entry, any other note by line."""

    def merge(key: str, known: bytes, data: bytes) -> None:
        if ref := parse_book_path(key):
            ws.documents.books.merge_edit(ref, known, data)
        elif not key.startswith(_RENDERED) and naming.parse_agent(key) is None:
            update(ws.documents.base, key, lambda present: _append_added_lines(known, data, present or b""))

    ws.documents.base.merge_displaced(merge)


def _append_added_lines(known: bytes, data: bytes, present: bytes) -> bytes | None:
    old, new, now = (text.decode("utf-8", "surrogateescape").splitlines() for text in (known, data, present))
    added = "".join(f"{line}\n" for line in find_added_lines(old, now, new))
    separator = b"" if present.endswith(b"\n") or not present else b"\n"
    return present + separator + added.encode("utf-8", "surrogateescape") if added else None
