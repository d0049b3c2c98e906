"""Resources by path: MEMORY.md, AGENT_MEMORY.md, books, and files of sessions.

A URI is `lineage:///` and a path of the workspace, as links and answers show it. Only these kinds of paths resolve, and
only within the agent's access; no other file is opened.
"""

from typing import NamedTuple
from urllib.parse import quote, unquote

from lineage.core.base import naming
from lineage.core.base.book_paths import CURATED_PATH, parse_book_path
from lineage.errors import NotFoundError
from lineage.mcp.response import ResponseItem, render_response
from lineage.mcp.tool_answers import render_entries
from lineage.workspace.access import AgentAccess
from lineage.workspace.lookup import find_newest_path, load_document
from lineage.workspace.memory_items import load_curated_items

SCHEME = "lineage:///"
TEMPLATE = f"{SCHEME}{{+path}}"
TEMPLATE_DESCRIPTION = "A file of the workspace by its path: a book, or a summary, transcript or manifest in memory/."
MIME = "text/markdown"

_MAX_BOOKS = 100
_MAX_SESSIONS = 25


class ListedResource(NamedTuple):
    """A resource in the listing. It holds no text of a session."""

    path: str
    title: str

    @property
    def uri(self) -> str:
        """The address of the resource."""
        return SCHEME + quote(self.path)


def list_resources(reach: AgentAccess) -> list[ListedResource]:
    """List the agent's MEMORY.md, its books in use, and the summaries of its newest sessions."""
    rows = reach.list_sessions(_MAX_SESSIONS)
    summaries = [(row, path) for row in rows if (path := find_newest_path(reach.ws, row, naming.SUMMARY))]
    books = [ref.path for ref in reach.list_books() if not ref.shelf and ref.path != CURATED_PATH]
    return [
        ListedResource(naming.memory_md_path(reach.agent_id), "The ledger of the last 30 days"),
        ListedResource(CURATED_PATH, "What the user wrote down for every agent"),
        *(ListedResource(path, "A book") for path in books[:_MAX_BOOKS]),
        *(ListedResource(path, f"Summary of a session, {row.membership_ts}") for row, path in summaries),
    ]


def read_resource(reach: AgentAccess, uri: str) -> str:
    """Return the framed text of a resource. Raises NotFoundError for a missing or unreadable one."""
    path = unquote(uri.removeprefix(SCHEME)) if uri.startswith(SCHEME) else ""
    pieces = _load_items(reach, path)
    if pieces is None:
        raise NotFoundError(f"nothing to read at {uri[:200]!r}", hint=f"a URI is {SCHEME} and a path, as listed")
    return render_response(path if path.isascii() else "a book", pieces, f"The whole of it is in {path}.")


def _load_items(reach: AgentAccess, path: str) -> list[ResponseItem] | None:
    if path == naming.memory_md_path(reach.agent_id):
        text = reach.read_memory_md()
        return [ResponseItem("", text)] if text else []
    if path == CURATED_PATH:
        return [ResponseItem(item.trust, item.text) for item in load_curated_items(reach.book_reader)]
    if ref := parse_book_path(path):
        return render_entries(reach.read_book(ref))
    name = naming.parse_path(path)
    if name is None:
        return None
    reach.find_session(name.token)
    document = load_document(reach.ws, path)
    return [ResponseItem(name.kind, str(document.body))] if document else None
