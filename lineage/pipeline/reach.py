"""What one agent may be shown of a workspace: its own sessions and books, and what is nobody's own.

For surfaces that an agent talks to directly. Neither another agent's sessions and books are reached by it, nor private
and removed sessions, nor what waits for the user; no reference leads there, and none says that there is something.
(format: Books, Captures, Removal)
"""

from dataclasses import replace

from lineage.core import naming
from lineage.core.book_paths import GLOBAL, PENDING, BookRef
from lineage.core.identity import checked_agent, checked_id, session_token
from lineage.core.privacy import may_reach, session_scope
from lineage.errors import InvalidInput, NotFoundError
from lineage.harness.callers import Caller
from lineage.harness.projects import project_of
from lineage.index import Hit, SessionRow
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.projects import project_folder
from lineage.pipeline.knowledge.said import Knowledge, Known
from lineage.store import read_or_none

_SHARED = ("project", "peer")
_AGENT, _SESSION = "agent/", session_scope("")
_CANDIDATES = 50
_SHOWN_CANDIDATES = 5


class Reach:
    """One agent's view, for one call: each book is read once."""

    def __init__(self, house: House, agent_id: str) -> None:
        """Raises InvalidInput for an agent's id that is none."""
        self.house = house
        self.agent_id = checked_agent(agent_id)
        self.knowledge = Knowledge(house)
        self._sessions: dict[str, bool] = {}

    def sessions(self, limit: int, project: str | None = None) -> list[SessionRow]:
        """The agent's newest sessions."""
        asked = limit
        while True:
            rows = self.house.index.sessions(self.agent_id, project=project, limit=asked)
            found = [row for row in rows if self._may_show(row)]
            if len(found) >= limit or len(rows) < asked:
                return found[:limit]
            asked *= 4

    def session(self, reference: str) -> SessionRow:
        """The agent's session that an id, key, token or a prefix of one names. Raises NotFoundError for none and for
        many."""
        rows = self.house.index.sessions(self.agent_id, reference=reference, limit=_CANDIDATES) if reference else []
        found = [row for row in rows if self._may_show(row)]
        exact = [row for row in found if reference in (row.session_id, row.session_key, row.session_token)]
        matches = [row for row in exact if row.session_token == reference] or exact or found
        if not matches:
            raise NotFoundError(f"no session {reference[:80]!r} of this agent", hint="list its sessions")
        if len(matches) > 1:
            tokens = ", ".join(row.session_token for row in matches[:_SHOWN_CANDIDATES])
            raise NotFoundError(f"{reference[:80]!r} is ambiguous: {tokens}", hint="give more of the id, or the token")
        return matches[0]

    def summary_of(self, session: SessionRow) -> str | None:
        """The path of a session's newest summary."""
        files = self.house.index.paths_of(session.session_token)
        return next((path for path, kind in reversed(files) if kind == naming.SUMMARY), None)

    def ledger(self) -> str | None:
        """The agent's MEMORY.md, as it was published last."""
        blob = read_or_none(self.house.canon.store, naming.memory_md_path(self.agent_id))
        return blob.data.decode("utf-8", "replace") if blob else None

    def running(self, session_id: str | None) -> str:
        """The token of the session that the agent says it runs in, captured or not yet; "" where it names none, or a
        private one."""
        if not session_id:
            return ""
        rows = self._called(checked_id("session_id", session_id))
        own = rows[0].session_token if rows else session_token(self.agent_id, session_id)
        is_shown = self._may_show(rows[0]) if rows else own not in self.knowledge.removed
        return own if is_shown else ""

    def speaking(self, caller: Caller, session_id: str | None) -> Caller:
        """The caller, as one that runs in the session that it names. Raises NotFoundError for another agent's."""
        if session_id is None:
            return caller
        self._called(checked_id("session_id", session_id))
        return replace(caller, sessions=(session_id.strip(),))

    def sees(self, scope: str) -> bool:
        """Whether books of a scope are the agent's, or nobody's own."""
        sort, _, name = scope.partition("/")
        if scope.startswith(_SESSION):
            return self._is_shown(name)
        return scope == GLOBAL or (sort in _SHARED and bool(name)) or scope == f"{_AGENT}{self.agent_id}"

    def books(self) -> list[BookRef]:
        """The books that it sees, archives too, by name."""
        return sorted(ref for ref in self.house.canon.books.list() if ref.shelf != PENDING and self.sees(ref.scope))

    def book(self, ref: BookRef) -> list[Known]:
        """What one book says, in the order of its file. Raises InvalidInput for a name that there can't be,
        NotFoundError for a book out of reach."""
        ref.path  # noqa: B018  (raises where there is none)
        if ref.shelf == PENDING or not self.sees(ref.scope):
            raise NotFoundError(
                f"no book {ref.kind[:40]!r} of {ref.scope[:80]!r} for this agent", hint="list the books"
            )
        return self.knowledge.in_force(ref)

    def entry(self, prefix: str) -> Known:
        """The entry in use whose id is or begins with `prefix`. Raises NotFoundError for none and for many."""
        refs = (ref for ref in self.books() if not ref.shelf)
        found = [known for ref in refs for known in self.book(ref) if prefix and known.entry.id.startswith(prefix)]
        if len(found) != 1:
            several = ", ".join(sorted({known.entry.id for known in found})[:_SHOWN_CANDIDATES])
            what = f"{prefix[:40]!r} is ambiguous: {several}" if found else f"no entry {prefix[:40]!r}"
            raise NotFoundError(what, hint="give the whole id, as it is listed")
        return found[0]

    def finds(self, hit: Hit) -> bool:
        """Whether a search result is shown. Search asks the gate of private sessions itself."""
        if hit.entry is not None:
            is_said = hit.entry.origin_token not in self.knowledge.removed
            return is_said and hit.entry.shelf != PENDING and self.sees(hit.entry.scope)
        return hit.agent_id == self.agent_id and self._is_shown(hit.session_token or "")

    def project_scope(self, project: str | None) -> str | None:
        """The scope of a project's books; None where there is no project."""
        folder = project_folder(self.house, project_of(project))
        return f"project/{folder}" if folder else None

    def writable(self, scope: str | None) -> str | None:
        """The scope, where the agent may write there. Raises InvalidInput where it may not."""
        if scope is not None and not self.sees(scope):
            raise InvalidInput(
                f"not a scope of this agent: {scope[:80]!r}",
                hint=f"one of global, project/NAME, peer/NAME, {_AGENT}{self.agent_id}; or leave it out",
            )
        return scope

    def _called(self, session_id: str) -> list[SessionRow]:
        """The agent's sessions of exactly that id. Raises NotFoundError where it is, too, another agent's."""
        wanted = session_id.strip()
        rows = self.house.index.sessions(None, reference=wanted, limit=_CANDIDATES)
        same = [row for row in rows if wanted in (row.session_id, row.session_key)]
        if any(row.agent_id != self.agent_id for row in same):
            raise NotFoundError(f"{wanted[:80]!r} is no session of this agent", hint="leave out session_id")
        return same

    def _may_show(self, row: SessionRow) -> bool:
        is_public = may_reach(GLOBAL, private=row.private, token=row.session_token)
        return is_public and row.agent_id == self.agent_id and row.session_token not in self.knowledge.removed

    def _is_shown(self, token: str) -> bool:
        if token not in self._sessions:
            rows = self.house.index.sessions(self.agent_id, reference=token) if token else []
            self._sessions[token] = any(row.session_token == token and self._may_show(row) for row in rows)
        return self._sessions[token]
