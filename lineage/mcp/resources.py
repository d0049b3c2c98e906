"""What can be read by its path: MEMORY.md, AGENT_MEMORY.md, books, and files of sessions.

A URI is `lineage:///` and a path of the workspace, as links and answers have it. Only these kinds of paths lead
anywhere, and only within the agent's reach; no other file is opened, whatever its name.
"""

from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote, unquote

from lineage.core import naming
from lineage.core.book_paths import CURATED_PATH, ref_of
from lineage.errors import NotFoundError
from lineage.mcp.framing import Piece, framed
from lineage.mcp.looking import entry_pieces
from lineage.pipeline.knowledge.context import curated
from lineage.pipeline.reach import Reach
from lineage.pipeline.reading import document_at

SCHEME = "lineage:///"
TEMPLATE = f"{SCHEME}{{+path}}"
TEMPLATE_SAYS = "A file of the workspace by its path: a book, or a summary, transcript or manifest in memory/."
MIME = "text/markdown"

_MOST_BOOKS = 100
_MOST_SESSIONS = 25


class Listed(NamedTuple):
    """A resource as it is listed: nothing of what anybody said is in it."""

    path: str
    title: str

    @property
    def uri(self) -> str:
        return SCHEME + quote(self.path)


def listed(reach: Reach) -> list[Listed]:
    """The memory of the agent, its books in use, and the summaries of its newest sessions."""
    books = [ref.path for ref in reach.books() if not ref.shelf and ref.path != CURATED_PATH]
    return [
        Listed(naming.memory_md_path(reach.agent_id), "The ledger of the last 30 days"),
        Listed(CURATED_PATH, "What the user wrote down for every agent"),
        *(Listed(path, "A book") for path in books[:_MOST_BOOKS]),
        *_summaries(reach),
    ]


def read(reach: Reach, uri: str) -> str:
    """The text of a resource, framed. Raises NotFoundError for what isn't there or out of reach."""
    path = unquote(uri.removeprefix(SCHEME)) if uri.startswith(SCHEME) else ""
    pieces = _pieces(reach, path)
    if pieces is None:
        raise NotFoundError(f"nothing to read at {uri[:200]!r}", hint=f"a URI is {SCHEME} and a path, as listed")
    return framed(path if path.isascii() else "a book", pieces, f"The whole of it is in {path}.")


def _pieces(reach: Reach, path: str) -> list[Piece] | None:
    if path == naming.memory_md_path(reach.agent_id):
        text = reach.ledger()
        return [Piece("", text)] if text else []
    if path == CURATED_PATH:
        return [Piece(item.trust, item.text) for item in curated(reach.knowledge)]
    if ref := ref_of(path):
        return entry_pieces(reach.book(ref))
    name = naming.parse_path(path)
    if name is None:
        return None
    reach.session(name.token)
    document = document_at(reach.house, path)
    return [Piece(name.kind, str(document.body))] if document else None


def _summaries(reach: Reach) -> Iterator[Listed]:
    for row in reach.sessions(_MOST_SESSIONS):
        path = reach.summary_of(row)
        if path:
            yield Listed(path, f"Summary of a session, {row.membership_ts}")
