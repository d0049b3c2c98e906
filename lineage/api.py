r"""The public Python surface of lineage: capture, search and remember, and read and write a workspace's documents.

    from lineage import api

    memory = api.open_workspace("~/lineage", create=True)
    api.capture(memory, session_id="s-1", transcript=[{"role": "user", "text": "Use tabs in Makefiles."}])
    for hit in api.search(memory, "makefiles").hits:
        print(hit.session_id, hit.snippet)
    print(api.context(memory, project="~/demo").text)

Each call opens the workspace, does what the command of its name does, and closes it: other processes may write at the
same time. What it learns stays under the rules of the workspace: secrets are redacted before anything is written.

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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from lineage.app import locations
from lineage.app.workspace import run_in_workspace
from lineage.core.base import naming
from lineage.core.base.naming import DEFAULT_AGENT
from lineage.core.capture.request import SESSION_END, parse_request
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
from lineage.pipeline.capture.session import CaptureResult
from lineage.pipeline.maintenance.finish_pending import run_capture
from lineage.pipeline.maintenance.remove import RemovalReceipt
from lineage.pipeline.maintenance.remove import remove as remove_session
from lineage.pipeline.memory.context import ContextRequest, build_context
from lineage.pipeline.memory.remember import Memo, RememberResult
from lineage.pipeline.memory.remember import remember as remember_memo
from lineage.pipeline.search.search import SearchResult
from lineage.pipeline.search.search import search as search_workspace
from lineage.projection.context_block import ContextBlock
from lineage.store import LocalStore, Store

__all__ = [
    "Artifact", "CaptureResult", "Claim", "ContextBlock", "Document", "FormatError", "FrontmatterHandler",
    "LineageError", "Manifest", "Memory", "NotFoundError", "RememberResult", "RemovalReceipt", "SearchResult",
    "Tombstone", "Turn", "capture", "context", "list_documents", "open_workspace", "parse_document", "read_document",
    "read_turns", "remember", "remove", "search", "serialize_document",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Memory:
    """A workspace for the functions of this module: its folder, for a bucket the folder that stands for it here."""

    root: Path


def open_workspace(place: str | PathLike[str] | None = None, *, create: bool = False) -> Memory:
    """Return the workspace in a folder or at a bucket's address; without `place` that of the environment.

    `create` makes a missing workspace. Raises WorkspaceError, a LineageError, for one that is missing.
    """
    root = locations.resolve_workspace_root(None if place is None else fspath(place))
    run_in_workspace(root, lambda _: None, create=create, needs_index=False)
    return Memory(root)


def capture(
    memory: Memory,
    *,
    session_id: str,
    transcript: str | Sequence[Mapping[str, Any]] | None = None,
    transcript_path: str | PathLike[str] | None = None,
    harness: str = "generic",
    project: str | PathLike[str] | None = None,
    agent: str = DEFAULT_AGENT,
    **details: Any,
) -> CaptureResult:
    """Capture a session that ended. Capturing the same state of it again changes nothing.

    Either `transcript` holds it, a text or a list of turns with `role` and `text`, or `transcript_path` names a file of
    `harness`. `details` are other keys of a session-end payload: `ended_at`, `reason`, `summary`, `lane`, `private`.
    Raises LineageError for invalid input, an unreadable transcript, and a workspace that cannot be written.
    """
    given = {
        "session_id": session_id,
        "harness": harness,
        "transcript": list(transcript) if transcript is not None and not isinstance(transcript, str) else transcript,
        "transcript_path": None if transcript_path is None else fspath(transcript_path),
        "project": None if project is None else fspath(project),
        **details,
    }
    payload = {key: value for key, value in given.items() if value is not None}
    return run_in_workspace(
        memory.root,
        lambda ws: run_capture(ws, parse_request(SESSION_END, payload, agent_id=agent, now=ws.now)),
        in_place=True,
    )


def search(
    memory: Memory, query: str, *, limit: int = 10, path: str | None = None, agent: str | None = DEFAULT_AGENT
) -> SearchResult:
    """Return sessions and entries of books that answer a query, best first, in the query language of `lineage search`.

    `agent` bounds them to what that agent may see, None to nothing. Raises LineageError for an invalid filter.
    """
    return run_in_workspace(memory.root, lambda ws: search_workspace(ws, query, agent, limit, path=path))


def context(
    memory: Memory,
    *,
    project: str | PathLike[str] | None = None,
    query: str | None = None,
    budget: int | None = None,
    agent: str = DEFAULT_AGENT,
) -> ContextBlock:
    """Return what a new session is told of earlier ones, within a budget of tokens; `text` is "" for nothing."""
    named = None if project is None else fspath(project)
    request = ContextRequest(agent_id=agent, project=named, query=query, budget=budget)
    return run_in_workspace(memory.root, lambda ws: build_context(ws, request))


def remember(
    memory: Memory,
    text: str,
    *,
    kind: str = "note",
    scope: str | None = None,
    project: str | PathLike[str] | None = None,
    tags: Sequence[str] = (),
    about: Sequence[str] = (),
    agent: str = DEFAULT_AGENT,
) -> RememberResult:
    """Write a text into a book. Its `status` says whether it was remembered, waits, was known, or was refused.

    `scope` is `global`, `agent/NAME` or `project/NAME`; by default that of the kind, or of `project`.

    In a process that a harness runs for its agent it counts as the agent's words, and waits for the user where the
    command would. Raises LineageError for an invalid kind or scope.
    """
    named = None if project is None else fspath(project)
    memo = Memo(text=text, kind=kind, scope=scope, project=named, tags=tuple(tags), about=tuple(about), agent_id=agent)
    return run_in_workspace(memory.root, lambda ws: remember_memo(ws, memo, locations.detect_caller()), writes=True)


def remove(memory: Memory, session: str, *, reason: str, dry_run: bool = False) -> RemovalReceipt:
    """Remove a session for good, named by its id, token or the beginning of one; a tombstone keeps it from coming back.

    Nobody is asked. Raises NotFoundError for no such session.
    """
    return run_in_workspace(
        memory.root,
        lambda ws: remove_session(ws, session, reason=reason, dry_run=dry_run),
        writes=not dry_run,
        frees_space=True,
    )


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
