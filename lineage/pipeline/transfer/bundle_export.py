"""The export of a session with its sub-agents, or of the global books, as one portable file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lineage import __version__
from lineage.core.base.book_paths import GLOBAL, session_scope
from lineage.core.books.book import parse_book
from lineage.core.format.documents import Manifest, parse_document
from lineage.core.format.manifest import list_artifact_paths
from lineage.core.transfer.bundle import SESSIONS, Bundle, BundledSession, find_book_refs
from lineage.documents.bundle_zip import build_members, pack
from lineage.errors import FormatError, InvalidInput, NotFoundError
from lineage.pipeline.capture.session import load_session, session_lock
from lineage.store import read_or_none
from lineage.workspace.lookup import MAX_SUB_AGENTS, resolve_session
from lineage.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class BundleExport:
    """A bundle's description and bytes."""

    bundle: Bundle
    data: bytes


def export_session(ws: Workspace, reference: str, *, include_private: bool = False) -> BundleExport:
    """Export a session and its sub-agents with their artifacts, manifests and own books, byte for byte.

    Raises NotFoundError for an unknown or ambiguous reference, InvalidInput for a private session without
    `include_private`, FormatError for a damaged or missing file.
    """
    row = resolve_session(ws, reference)
    sessions, files = list[Manifest](), dict[str, bytes]()
    for token in (tokens := [row.session_token]):
        with session_lock(ws, token):
            manifest = load_session(ws, token).manifest
            if manifest is None:
                raise NotFoundError(f"session {row.session_id} has no manifest", hint="run `lineage admin recover`")
            scope = session_scope(token)  # no file of another scope leaves with a session
            books = [ref.path for ref in ws.documents.books.list() if ref.scope == scope]
            files |= _read_files(ws, [*list_artifact_paths(manifest), manifest.path, *books])
        sessions.append(manifest)
        started = ws.index.list_sessions(None, parent=token, limit=MAX_SUB_AGENTS)
        tokens += [other.session_token for other in started if other.session_token not in tokens]
    documents = [parse_document(data, path) for path, data in files.items() if path.startswith("memory/")]
    private = any(getattr(document, "private", False) for document in documents)
    if private and not include_private:
        raise InvalidInput(
            f"session {row.session_id} is private", hint="add `--include-private` to take it out of the workspace"
        )
    return _build_export(ws, files, sessions=sessions, private=private)


def export_global(ws: Workspace) -> BundleExport:
    """Export the global books with their pending and archived shelves. Raises NotFoundError if there is none."""
    files = _read_files(ws, [ref.path for ref in ws.documents.books.list() if ref.scope == GLOBAL])
    if not files:
        raise NotFoundError("there are no global books", hint="run `lineage remember TEXT`, or edit AGENT_MEMORY.md")
    return _build_export(ws, files, sessions=[], private=False)


def _build_export(
    ws: Workspace, files: Mapping[str, bytes], *, sessions: Sequence[Manifest], private: bool
) -> BundleExport:
    books = [parse_book(files[ref.path], ref.scope, ref.kind) for ref in find_book_refs(files)]
    times = [entry.updated or entry.at for book in books for entry in book.entries]
    bundle = Bundle(
        holds=SESSIONS if sessions else GLOBAL,
        # the newest time in the files, so that the same state gives the same bytes
        exported_at=max(["", *times, *(session.updated_at for session in sessions)]),
        lineage_version=__version__,
        sanitizer_version=ws.rules.version,
        private=private,
        sessions=tuple(map(BundledSession.from_manifest, sessions)),
        members=build_members(files),
    )
    return BundleExport(bundle, pack(bundle, files))


def _read_files(ws: Workspace, paths: list[str]) -> dict[str, bytes]:
    files = {}
    for path in paths:
        blob = read_or_none(ws.documents.store, path)
        if blob is None:
            raise FormatError(f"{path} is not there", hint="run `lineage verify`: the session is not whole")
        files[path] = blob.data
    return files
