"""Sessions that are worth a bundle, and bundles that somebody altered by hand."""

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from lineage.core.base.book_paths import PENDING
from lineage.core.books.book import make_entry_part, new_book
from lineage.core.books.entry import new_entry
from lineage.core.transfer.bundle import DESCRIPTION, Bundle, serialize_bundle
from lineage.documents.bundle_zip import build_members, pack, unpack
from lineage.pipeline.transfer.bundle_export import export_session
from lineage.pipeline.transfer.bundles import BundleImport, ImportedSession, import_bundle
from lineage.workspace.book_index import index_books
from lineage.workspace.publish import publish_all
from lineage.workspace.workspace import Workspace
from tests.support.workspace import at_time, compact_session, end_session, make_turns, read_store

TURNS = [
    *make_turns("Where does the wombat hide its ledger?", "The wombat hides it in burrow.py, below the roots."),
    *(
        {**turn, "id": f"later-{turn['id']}"}
        for turn in make_turns("Then move it, please.", "Moved to den.py, with tests.")
    ),
]
LATER = "2026-11-21T13:00:00.000Z"
EARLIER = "2025-01-01T00:00:00.000Z"


def write_session_with_books(ws: Workspace, session: str = "s-1", **payload: Any) -> str:
    """A session with two captures, a compaction and books on every shelf; its token."""
    token = end_session(ws, session, transcript=TURNS[:2], **payload).session_token
    compact_session(ws, session, "Goal: find the ledger.", transcript=TURNS[:2], **payload)
    end_session(at_time(ws, LATER), session, transcript=TURNS, **payload)
    write_session_books(ws, token)
    return token


def get_session(done: BundleImport) -> ImportedSession:
    """The one session that an import brought."""
    (session,) = done.sessions
    return session


def read_documents(ws: Workspace) -> dict[str, bytes]:
    """What is canonical in a workspace."""
    return read_store(ws.documents.store, "memory/", "books/")


def write_session_books(ws: Workspace, token: str) -> None:
    """Books of a session: in use, waiting, archived; entries that link, supersede and were forgotten, and free text."""
    books, scope = ws.documents.books, f"session/{token}"
    stem = ws.documents.claims.get_stem(token)
    origin = f"[[memory/{stem}--transcript.md#^t-0123456789]]"

    def entry(text: str, **more: Any) -> Any:
        return new_entry(scope, "finding", text, at=LATER, source="assistant_turn", origin=origin, **more)

    first, gone = entry(f"The ledger lies below the roots, see [[memory/{stem}--summary.md|it]]."), entry("Nonsense.")
    for one in (first, gone, entry("It lies in den.py now.", supersedes=(first.id,))):
        books.add(scope, "finding", one)
    books.forget(scope, "finding", gone.id)
    books.add(scope, "finding", entry("Wombats dig at night."), PENDING)
    older = new_entry(scope, "finding", "The roots are old.", at=EARLIER, source="manual", origin=origin)
    books.archive(scope, "finding", [make_entry_part(new_book(scope, "finding"), older)])
    refs = [ref for ref in books.list() if ref.scope == scope]
    index_books(ws, refs)
    publish_all(ws)


def export_bundle(ws: Workspace, session: str = "s-1", **options: Any) -> bytes:
    return export_session(ws, session, **options).data


def importing_flow(data: bytes, **options: Any) -> Callable[[Workspace], object]:
    """The import of a bundle as something that a process does and may die of."""
    return lambda ws: import_bundle(ws, data, **options)


Files = dict[str, bytes]


def rebuild_bundle(data: bytes, alter: Callable[[Files], object] = lambda files: None, **description: Any) -> bytes:
    """An honest bundle whose files or description somebody altered; hashes and sizes follow."""
    found = unpack(data)
    files = dict(found.files)
    alter(files)
    bundle = replace(found.bundle, **{"members": build_members(files), **description})
    return pack(bundle, files)


def zip_members(
    bundle: Bundle, members: list[tuple[str | zipfile.ZipInfo, bytes]], *, first: str = DESCRIPTION
) -> bytes:
    """An archive of any members behind the description, whatever they are."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(first, serialize_bundle(bundle))
        for name, data in members:
            archive.writestr(name, data)
    return buffer.getvalue()


def change_description(data: bytes, **values: Any) -> bytes:
    """The description of a bundle as JSON, with other values."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return json.dumps({**json.loads(archive.read(DESCRIPTION)), **values}).encode()


def replace_bytes(files: Mapping[str, bytes], kind: str, old: bytes, new: bytes) -> Files:
    """The files with some bytes of the first of a kind replaced."""
    path = next(path for path in files if path.endswith(f"--{kind}.md"))
    assert old in files[path]
    return {**files, path: files[path].replace(old, new)}
