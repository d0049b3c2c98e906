"""What one agent may be shown of a workspace: its own sessions and books, and what is nobody's own.

For surfaces that an agent talks to directly. Neither another agent's sessions and books are reached by it, nor private
and removed sessions, nor what waits for the user; no reference leads there, and none says that there is something.
(format: Books, Captures, Removal)
"""

from dataclasses import replace

from lineage.core.base import naming
from lineage.core.base.book_paths import PENDING, BookRef
from lineage.core.base.identity import derive_session_token, validate_agent_id, validate_id
from lineage.core.base.privacy import GLOBAL, is_allowed_in_scope, session_scope
from lineage.errors import InvalidInput, NotFoundError
from lineage.harness.detect_caller import Caller
from lineage.harness.projects import resolve_project
from lineage.index import Hit, SessionRow
from lineage.store import read_or_none
from lineage.workspace.book_reader import BookEntry, BookReader
from lineage.workspace.project_folders import resolve_project_folder
from lineage.workspace.workspace import Workspace

_SHARED = ("project", "peer")
_AGENT, _SESSION = "agent/", session_scope("")
_CANDIDATES = 50
_SHOWN_CANDIDATES = 5


class AgentAccess:
    """One agent's view, for one call: each book is read once."""

    def __init__(self, ws: Workspace, agent_id: str) -> None:
        """Raises InvalidInput for an agent's id that is none."""
        self.ws = ws
        self.agent_id = validate_agent_id(agent_id)
        self.book_reader = BookReader(ws)
        self._sessions: dict[str, bool] = {}

    def list_sessions(self, limit: int, project: str | None = None) -> list[SessionRow]:
        """The agent's newest sessions."""
        asked = limit
        while True:
            rows = self.ws.index.list_sessions(self.agent_id, project=project, limit=asked)
            found = [row for row in rows if self._may_show(row)]
            if len(found) >= limit or len(rows) < asked:
                return found[:limit]
            asked *= 4

    def find_session(self, reference: str) -> SessionRow:
        """The agent's session that an id, key, token or a prefix of one names. Raises NotFoundError for none and for
        many."""
        rows = self.ws.index.list_sessions(self.agent_id, reference=reference, limit=_CANDIDATES) if reference else []
        found = [row for row in rows if self._may_show(row)]
        exact = [row for row in found if reference in (row.session_id, row.session_key, row.session_token)]
        matches = [row for row in exact if row.session_token == reference] or exact or found
        if not matches:
            raise NotFoundError(f"no session {reference[:80]!r} of this agent", hint="list its sessions")
        if len(matches) > 1:
            tokens = ", ".join(row.session_token for row in matches[:_SHOWN_CANDIDATES])
            raise NotFoundError(f"{reference[:80]!r} is ambiguous: {tokens}", hint="give more of the id, or the token")
        return matches[0]

    def find_summary_path(self, session: SessionRow) -> str | None:
        """The path of a session's newest summary."""
        files = self.ws.index.list_session_files(session.session_token)
        return next((path for path, kind in reversed(files) if kind == naming.SUMMARY), None)

    def read_memory_md(self) -> str | None:
        """The agent's MEMORY.md, as it was published last."""
        blob = read_or_none(self.ws.documents.store, naming.memory_md_path(self.agent_id))
        return blob.data.decode("utf-8", "replace") if blob else None

    def resolve_running_session(self, session_id: str | None) -> str:
        """The token of the session that the agent says it runs in, captured or not yet; "" where it names none, or a
        private one."""
        if not session_id:
            return ""
        rows = self._find_sessions_by_id(validate_id("session_id", session_id))
        own = rows[0].session_token if rows else derive_session_token(self.agent_id, session_id)
        is_shown = self._may_show(rows[0]) if rows else own not in self.book_reader.removed_tokens
        return own if is_shown else ""

    def bind_caller(self, caller: Caller, session_id: str | None) -> Caller:
        """The caller, as one that runs in the session that it names. Raises NotFoundError for another agent's."""
        if session_id is None:
            return caller
        self._find_sessions_by_id(validate_id("session_id", session_id))
        return replace(caller, sessions=(session_id.strip(),))

    def may_read_scope(self, scope: str) -> bool:
        """Whether books of a scope are the agent's, or nobody's own."""
        sort, _, name = scope.partition("/")
        if scope.startswith(_SESSION):
            return self._may_show_token(name)
        return scope == GLOBAL or (sort in _SHARED and bool(name)) or scope == f"{_AGENT}{self.agent_id}"

    def list_books(self) -> list[BookRef]:
        """The books that it sees, archives too, by name."""
        return sorted(
            ref for ref in self.ws.documents.books.list() if ref.shelf != PENDING and self.may_read_scope(ref.scope)
        )

    def read_book(self, ref: BookRef) -> list[BookEntry]:
        """What one book says, in the order of its file. Raises InvalidInput for a name that there can't be,
        NotFoundError for a book out of reach."""
        ref.path  # noqa: B018  (raises where there is none)
        if ref.shelf == PENDING or not self.may_read_scope(ref.scope):
            raise NotFoundError(
                f"no book {ref.kind[:40]!r} of {ref.scope[:80]!r} for this agent", hint="list the books"
            )
        return self.book_reader.active_entries(ref)

    def find_entry(self, prefix: str) -> BookEntry:
        """The entry in use whose id is or begins with `prefix`. Raises NotFoundError for none and for many."""
        refs = (ref for ref in self.list_books() if not ref.shelf)
        found = [known for ref in refs for known in self.read_book(ref) if prefix and known.entry.id.startswith(prefix)]
        if len(found) != 1:
            several = ", ".join(sorted({known.entry.id for known in found})[:_SHOWN_CANDIDATES])
            what = f"{prefix[:40]!r} is ambiguous: {several}" if found else f"no entry {prefix[:40]!r}"
            raise NotFoundError(what, hint="give the whole id, as it is listed")
        return found[0]

    def may_show_hit(self, hit: Hit) -> bool:
        """Whether a search result is shown. Search asks the gate of private sessions itself."""
        if hit.entry is not None:
            is_said = hit.entry.origin_token not in self.book_reader.removed_tokens
            return is_said and self.may_read_scope(hit.entry.scope)
        return hit.agent_id == self.agent_id and self._may_show_token(hit.session_token or "")

    def find_project_scope(self, project: str | None) -> str | None:
        """The scope of a project's books; None where there is no project."""
        folder = resolve_project_folder(self.ws, resolve_project(project))
        return f"project/{folder}" if folder else None

    def check_writable_scope(self, scope: str | None) -> str | None:
        """The scope, where the agent may write there. Raises InvalidInput where it may not."""
        if scope is not None and not self.may_read_scope(scope):
            raise InvalidInput(
                f"not a scope of this agent: {scope[:80]!r}",
                hint=f"one of global, project/NAME, peer/NAME, {_AGENT}{self.agent_id}; or leave it out",
            )
        return scope

    def _find_sessions_by_id(self, session_id: str) -> list[SessionRow]:
        """The agent's sessions of exactly that id. Raises NotFoundError where it is, too, another agent's."""
        wanted = session_id.strip()
        rows = self.ws.index.list_sessions(None, reference=wanted, limit=_CANDIDATES)
        same = [row for row in rows if wanted in (row.session_id, row.session_key)]
        if any(row.agent_id != self.agent_id for row in same):
            raise NotFoundError(f"{wanted[:80]!r} is no session of this agent", hint="leave out session_id")
        return same

    def _may_show(self, row: SessionRow) -> bool:
        is_public = is_allowed_in_scope(GLOBAL, private=row.private, token=row.session_token)
        return is_public and row.agent_id == self.agent_id and row.session_token not in self.book_reader.removed_tokens

    def _may_show_token(self, token: str) -> bool:
        if token not in self._sessions:
            rows = self.ws.index.list_sessions(self.agent_id, reference=token) if token else []
            self._sessions[token] = any(row.session_token == token and self._may_show(row) for row in rows)
        return self._sessions[token]
