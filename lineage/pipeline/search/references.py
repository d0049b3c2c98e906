"""Targets of references: a session or an entry of a book, and the file with it."""

import re
from dataclasses import dataclass

from lineage.core.base import naming
from lineage.core.format import transcript
from lineage.core.format.documents import Artifact
from lineage.errors import NotFoundError
from lineage.index import SessionRow
from lineage.pipeline.memory.books import EntryLocation, find_entry
from lineage.workspace.load import load_document
from lineage.workspace.lookup import resolve_session
from lineage.workspace.workspace import Workspace

_ENTRY_ID = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class FileTarget:
    """A file's path in the workspace, with the number of a turn or an entry of a book in it.

    The path of an archived artifact leads to the archive's note of it.
    """

    path: str
    turn: int | None = None
    entry: EntryLocation | None = None


def resolve_reference(ws: Workspace, reference: str) -> SessionRow | EntryLocation:
    """Return the session of a reference, else the entry with this whole id. Raises NotFoundError for none and many."""
    try:
        return resolve_session(ws, reference)
    except NotFoundError:
        if not _ENTRY_ID.fullmatch(reference):
            raise
    return find_entry(ws, reference)


def find_file_target(ws: Workspace, reference: str, kind: str = naming.SUMMARY, turn: int | None = None) -> FileTarget:
    """Return the newest file of a kind of a session, or its newest transcript with a turn, or the book of an entry.

    The access to the session is counted. Raises NotFoundError if there is no such file.
    """
    target = resolve_reference(ws, reference)
    if isinstance(target, EntryLocation):
        return FileTarget(target.ref.path, entry=target)
    path = _find_file(ws, target, kind) if turn is None else _find_transcript_with_turn(ws, target, turn)
    ws.telemetry.count_access(target.session_token, ws.now)
    return FileTarget(path, turn)


def _find_file(ws: Workspace, session: SessionRow, kind: str) -> str:
    if kind == naming.MANIFEST:
        return session.manifest_path
    paths = [path for path, of_kind in ws.index.list_session_files(session.session_token) if of_kind == kind]
    if not paths:
        raise NotFoundError(f"session {session.session_id} has no {kind}", hint="open another of its files")
    return paths[-1]


def _find_transcript_with_turn(ws: Workspace, session: SessionRow, turn: int) -> str:
    for path, kind in reversed(ws.index.list_session_files(session.session_token)):
        document = load_document(ws, path) if kind == naming.TRANSCRIPT else None
        if isinstance(document, Artifact) and any(t.number == turn for t in transcript.parse_turns(document.body)):
            return path
    raise NotFoundError(f"session {session.session_id} has no turn {turn}", hint="`lineage show SESSION` says how many")
