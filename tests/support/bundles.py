"""Sessions that are worth a bundle, and bundles that somebody altered by hand."""

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

from lineage.canon.bundles import members_of, packed, unpacked
from lineage.core.book import entry_part, new_book
from lineage.core.bundle import DESCRIPTION, Bundle, described
from lineage.core.entry import new_entry
from lineage.pipeline.bundles.bundling import Imported, ImportedSession, import_bundle
from lineage.pipeline.bundles.exporting import export_session
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.shelving import shelve
from lineage.pipeline.publishing import publish_all
from tests.support.houses import at, compact, contents, end, turns

TALK = [
    *turns("Where does the wombat hide its ledger?", "The wombat hides it in burrow.py, below the roots."),
    *({**turn, "id": f"later-{turn['id']}"} for turn in turns("Then move it, please.", "Moved to den.py, with tests.")),
]
LATER = "2026-11-21T13:00:00.000Z"
EARLIER = "2025-01-01T00:00:00.000Z"


def told(house: House, session: str = "s-1", **payload: Any) -> str:
    """A session with two captures, a compaction and books on every shelf; its token."""
    token = end(house, session, transcript=TALK[:2], **payload).session_token
    compact(house, session, "Goal: find the ledger.", transcript=TALK[:2], **payload)
    end(at(house, LATER), session, transcript=TALK, **payload)
    noted(house, token)
    return token


def session_of(done: Imported) -> ImportedSession:
    """The one session that an import brought."""
    (session,) = done.sessions
    return session


def files(house: House) -> dict[str, bytes]:
    """What is canonical in a workspace."""
    return contents(house.canon.store, "memory/", "books/")


def noted(house: House, token: str) -> None:
    """Books of a session: in use, waiting, archived; entries that link, supersede and were forgotten, and free text."""
    books, scope = house.canon.books, f"session/{token}"
    stem = house.canon.claims.stem_of(token)
    origin = f"[[memory/{stem}--transcript.md#^t-0123456789]]"

    def entry(text: str, **more: Any) -> Any:
        return new_entry(scope, "finding", text, at=LATER, source="assistant_turn", origin=origin, **more)

    first, gone = entry(f"The ledger lies below the roots, see [[memory/{stem}--summary.md|it]]."), entry("Nonsense.")
    for one in (first, gone, entry("It lies in den.py now.", supersedes=(first.id,))):
        books.add(scope, "finding", one)
    books.forget(scope, "finding", gone.id)
    books.propose(scope, "finding", entry("Wombats dig at night."))
    older = new_entry(scope, "finding", "The roots are old.", at=EARLIER, source="manual", origin=origin)
    books.archive(scope, "finding", [entry_part(new_book(scope, "finding"), older)])
    refs = [ref for ref in books.list() if ref.scope == scope]
    shelve(house, refs)
    publish_all(house)


def bundle_of(house: House, session: str = "s-1", **options: Any) -> bytes:
    return export_session(house, session, **options).data


def imports(data: bytes, **options: Any) -> Callable[[House], object]:
    """The import of a bundle as something that a process does and may die of."""
    return lambda house: import_bundle(house, data, **options)


Files = dict[str, bytes]


def remade(data: bytes, alter: Callable[[Files], object] = lambda files: None, **description: Any) -> bytes:
    """An honest bundle whose files or description somebody altered; hashes and sizes follow."""
    found = unpacked(data)
    files = dict(found.files)
    alter(files)
    bundle = found.bundle._replace(**{"members": members_of(files), **description})
    return packed(bundle, files)


def zipped(bundle: Bundle, members: list[tuple[str | zipfile.ZipInfo, bytes]], *, first: str = DESCRIPTION) -> bytes:
    """An archive of any members behind the description, whatever they are."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(first, described(bundle))
        for name, data in members:
            archive.writestr(name, data)
    return buffer.getvalue()


def said(data: bytes, **values: Any) -> bytes:
    """The description of a bundle as JSON, with other values."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return json.dumps({**json.loads(archive.read(DESCRIPTION)), **values}).encode()


def replaced(files: Mapping[str, bytes], kind: str, old: bytes, new: bytes) -> Files:
    """The files with some bytes of the first of a kind replaced."""
    path = next(path for path in files if path.endswith(f"--{kind}.md"))
    assert old in files[path]
    return {**files, path: files[path].replace(old, new)}
