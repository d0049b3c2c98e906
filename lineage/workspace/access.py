"""One agent's view of a workspace, for surfaces that an agent calls: its own sessions and books, and shared ones.

Other agents' sessions and books, private and removed sessions, and entries that wait for the user are out of reach. No
error reveals that they exist. (format: Books, Captures, Removal)
"""

from dataclasses import replace

from lineage.core.base import naming
from lineage.core.base.book_paths import GLOBAL, PENDING, BookRef, is_allowed_in_scope, session_scope
from lineage.core.base.naming import derive_session_token, validate_agent_id, validate_id
from lineage.errors import InvalidInput, NotFoundError
from lineage.harness.detect_caller import Caller
from lineage.index import Hit, SessionFilter, SessionRow
from lineage.store import read_or_none
from lineage.workspace.book_folders import resolve_project_folder
from lineage.workspace.book_reader import BookEntry, BookReader
from lineage.workspace.lookup import MAX_CANDIDATES, SHOWN_CANDIDATES, match_reference
from lineage.workspace.projects import list_sessions
from lineage.workspace.workspace import Workspace

_SHARED = ("project", "peer")
_AGENT, _SESSION = "agent/", session_scope("")


class AgentAccess:
    """One agent's view during one call: each book is read once."""

    def __init__(self, ws: Workspace, agent_id: str) -> None:
        """Raise InvalidInput for a malformed agent id."""
        self.ws = ws
        self.agent_id = validate_agent_id(agent_id)
        self.book_reader = BookReader(ws)
        self._sessions: dict[str, bool] = {}

    def list_sessions(self, limit: int, project: str | None = None, path: str | None = None) -> list[SessionRow]:
        """Return the agent's newest sessions."""
        batch = limit
        while True:  # hidden sessions take places in a batch: ask for more until enough can be shown
            rows = list_sessions(self.ws, self.agent_id, wanted=SessionFilter(project=project, path=path), limit=batch)
            visible = [row for row in rows if self._may_show(row)]
            if len(visible) >= limit or len(rows) < batch:
                return visible[:limit]
            batch *= 4

    def find_session(self, reference: str) -> SessionRow:
        """Return the agent's session by id, key, token or prefix. Raise NotFoundError for none and several."""
        rows = (
            self.ws.index.list_sessions(self.agent_id, reference=reference, limit=MAX_CANDIDATES) if reference else []
        )
        matches = match_reference([row for row in rows if self._may_show(row)], reference)
        if not matches:
            raise NotFoundError(f"no session {reference[:80]!r} of this agent", hint="list its sessions")
        if len(matches) > 1:
            tokens = ", ".join(row.session_token for row in matches[:SHOWN_CANDIDATES])
            raise NotFoundError(f"{reference[:80]!r} is ambiguous: {tokens}", hint="give more of the id, or the token")
        return matches[0]

    def read_memory_md(self) -> str | None:
        """Return the agent's MEMORY.md as last published."""
        blob = read_or_none(self.ws.documents.store, naming.memory_md_path(self.agent_id))
        return blob.data.decode("utf-8", "replace") if blob else None

    def resolve_running_session(self, session_id: str | None) -> str:
        """Return the token of the session that the agent runs in, captured or not; "" for none or a private one."""
        if not session_id:
            return ""
        rows = self._find_sessions_by_id(validate_id("session_id", session_id))
        token = rows[0].session_token if rows else derive_session_token(self.agent_id, session_id)
        is_shown = self._may_show(rows[0]) if rows else token not in self.book_reader.removed_tokens
        return token if is_shown else ""

    def bind_caller(self, caller: Caller, session_id: str | None) -> Caller:
        """Return the caller, bound to the session that it names. Raise NotFoundError for another agent's."""
        if session_id is None:
            return caller
        self._find_sessions_by_id(validate_id("session_id", session_id))
        return replace(caller, sessions=(session_id.strip(),))

    def may_read_scope(self, scope: str) -> bool:
        """Return whether the books of a scope are the agent's or shared."""
        kind, _, name = scope.partition("/")
        if scope.startswith(_SESSION):
            return self._may_show_token(name)
        return scope == GLOBAL or (kind in _SHARED and bool(name)) or scope == f"{_AGENT}{self.agent_id}"

    def list_books(self) -> list[BookRef]:
        """Return the books in view, archived shelves included, by name."""
        return sorted(
            ref for ref in self.ws.documents.books.list() if ref.shelf != PENDING and self.may_read_scope(ref.scope)
        )

    def read_book(self, ref: BookRef) -> list[BookEntry]:
        """Return a book's entries in order. Raise InvalidInput for a bad name, NotFoundError out of reach."""
        ref.path  # noqa: B018  (raises for an impossible name)
        if ref.shelf == PENDING or not self.may_read_scope(ref.scope):
            raise NotFoundError(
                f"no book {ref.kind[:40]!r} of {ref.scope[:80]!r} for this agent", hint="list the books"
            )
        return self.book_reader.active_entries(ref)

    def find_entry(self, prefix: str) -> BookEntry:
        """Return the active entry with this id or prefix. Raise NotFoundError for no match and for several."""
        refs = (ref for ref in self.list_books() if not ref.shelf)
        matches = [item for ref in refs for item in self.read_book(ref) if prefix and item.entry.id.startswith(prefix)]
        if len(matches) != 1:
            ids = ", ".join(sorted({item.entry.id for item in matches})[:SHOWN_CANDIDATES])
            message = f"{prefix[:40]!r} is ambiguous: {ids}" if matches else f"no entry {prefix[:40]!r}"
            raise NotFoundError(message, hint="give the whole id, as it is listed")
        return matches[0]

    def may_show_hit(self, hit: Hit) -> bool:
        """Return whether a search result may be shown. Search itself leaves out private sessions."""
        if hit.entry is not None:
            is_removed = hit.entry.origin_token in self.book_reader.removed_tokens
            return not is_removed and self.may_read_scope(hit.entry.scope)
        return hit.agent_id == self.agent_id and self._may_show_token(hit.session_token or "")

    def find_project_scope(self, project: str | None) -> str | None:
        """Return the scope of a project's books, None without a project."""
        folder = resolve_project_folder(self.ws, project)
        return f"project/{folder}" if folder else None

    def check_writable_scope(self, scope: str | None) -> str | None:
        """Return the scope. Raise InvalidInput if the agent may not write there."""
        if scope is not None and not self.may_read_scope(scope):
            hint = f"one of global, project/NAME, peer/NAME, {_AGENT}{self.agent_id}; or leave it out"
            raise InvalidInput(f"not a scope of this agent: {scope[:80]!r}", hint=hint)
        return scope

    def _find_sessions_by_id(self, session_id: str) -> list[SessionRow]:
        """Return the agent's sessions with exactly this id. Raise NotFoundError if another agent has one too."""
        session_id = session_id.strip()
        rows = self.ws.index.list_sessions(None, reference=session_id, limit=MAX_CANDIDATES)
        matches = [row for row in rows if session_id in (row.session_id, row.session_key)]
        # Ids are the harness's own: two agents may have the same one, and a wrong guess must not reveal the other.
        if any(row.agent_id != self.agent_id for row in matches):
            raise NotFoundError(f"{session_id[:80]!r} is no session of this agent", hint="leave out session_id")
        return matches

    def _may_show(self, row: SessionRow) -> bool:
        is_public = is_allowed_in_scope(GLOBAL, private=row.private, token=row.session_token)
        is_removed = not self.book_reader.removed_tokens.isdisjoint((row.session_token, row.parent_token))
        return is_public and row.agent_id == self.agent_id and not is_removed

    def _may_show_token(self, token: str) -> bool:
        if token not in self._sessions:  # a search result may name the same session many times
            rows = self.ws.index.list_sessions(self.agent_id, reference=token) if token else []
            self._sessions[token] = any(row.session_token == token and self._may_show(row) for row in rows)
        return self._sessions[token]
