"""Export: a session, or the global books, as one portable file."""

from collections.abc import Mapping
from dataclasses import dataclass

from lineage import __version__
from lineage.core.base.book_paths import BookRef
from lineage.core.base.privacy import GLOBAL, session_scope
from lineage.core.books.book import parse_book
from lineage.core.books.entry import Entry
from lineage.core.format.documents import Manifest, parse_document
from lineage.core.format.manifest import list_artifact_paths
from lineage.core.transfer.bundle import SESSIONS, Bundle, BundledSession, find_book_refs
from lineage.documents.bundle_zip import build_members, pack
from lineage.errors import FormatError, InvalidInput, NotFoundError
from lineage.pipeline.capture import session as sessions
from lineage.store import read_or_none
from lineage.workspace.lookup import resolve_session
from lineage.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class BundleExport:
    """A bundle: its description and its bytes."""

    bundle: Bundle
    data: bytes


def export_session(ws: Workspace, reference: str, *, include_private: bool = False) -> BundleExport:
    """A session with its artifacts, its manifest and its own books, each file as it is.

    Raises NotFoundError where no session, or more than one, answers to the reference; InvalidInput for a private one
    that isn't meant to be exported; FormatError where a file of it is damaged or missing.
    """
    row = resolve_session(ws, reference)
    with sessions.session_lock(ws, row.session_token):
        manifest = sessions.load_session(ws, row.session_token).manifest
        if manifest is None:
            raise NotFoundError(f"session {row.session_id} has no manifest", hint="run `lineage recover`")
        files = _read_session_files(ws, manifest)
    documents = [parse_document(data, path) for path, data in files.items() if path.startswith("memory/")]
    private = any(getattr(document, "private", False) for document in documents)
    if private and not include_private:
        raise InvalidInput(
            f"session {row.session_id} is private", hint="add `--include-private` to take it out of the workspace"
        )
    return _build_export(ws, files, session=manifest, private=private)


def export_global(ws: Workspace) -> BundleExport:
    """The global books, AGENT_MEMORY.md among them, with what waits and what is archived. Raises NotFoundError where
    there is none."""
    files = _read_files(ws, [ref.path for ref in ws.documents.books.list() if ref.scope == GLOBAL])
    if not files:
        raise NotFoundError("there are no global books", hint="run `lineage remember TEXT`, or edit AGENT_MEMORY.md")
    return _build_export(ws, files, session=None, private=False)


def _build_export(
    ws: Workspace, files: Mapping[str, bytes], *, session: Manifest | None, private: bool
) -> BundleExport:
    bundle = Bundle(
        holds=SESSIONS if session else GLOBAL,
        exported_at=_find_newest_time(files, session),
        lineage_version=__version__,
        sanitizer_version=ws.rules.version,
        private=private,
        sessions=(BundledSession.from_manifest(session),) if session else (),
        members=build_members(files),
    )
    return BundleExport(bundle, pack(bundle, files))


def _read_session_files(ws: Workspace, manifest: Manifest) -> dict[str, bytes]:
    """Every file that belongs to the session, by path. Nothing of any other scope is among them."""
    scope = session_scope(manifest.identity.token)
    books = [ref.path for ref in ws.documents.books.list() if ref.scope == scope]
    return _read_files(ws, [*list_artifact_paths(manifest), manifest.path, *books])


def _read_files(ws: Workspace, paths: list[str]) -> dict[str, bytes]:
    found = {path: read_or_none(ws.documents.store, path) for path in paths}
    for path, blob in found.items():
        if blob is None:
            raise FormatError(f"{path} is not there", hint="run `lineage verify`: the session is not whole")
    return {path: blob.data for path, blob in found.items() if blob}


def _find_newest_time(files: Mapping[str, bytes], session: Manifest | None) -> str:
    """The newest time that the files name: the time of the bundle, whenever it is made."""
    entries = [entry for ref in find_book_refs(files) for entry in _parse_entries(files[ref.path], ref)]
    times = [entry.updated or entry.at for entry in entries]
    return max([*times, session.updated_at if session else ""])


def _parse_entries(data: bytes, ref: BookRef) -> tuple[Entry, ...]:
    return parse_book(data, ref.scope, ref.kind).entries
