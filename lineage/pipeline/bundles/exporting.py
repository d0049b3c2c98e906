"""Export: a session, or the global books, as one portable file."""

from collections.abc import Mapping
from dataclasses import dataclass

from lineage import __version__
from lineage.canon.bundles import members_of, packed
from lineage.core.book import parsed_book
from lineage.core.book_paths import GLOBAL, BookRef
from lineage.core.bundle import SESSIONS, Bundle, Bundled, refs_of
from lineage.core.documents import Manifest, parsed
from lineage.core.entry import Entry
from lineage.core.privacy import session_scope
from lineage.errors import FormatError, InvalidInput, NotFoundError
from lineage.pipeline.capture import session as sessions
from lineage.pipeline.house import House
from lineage.pipeline.lookup import resolve
from lineage.pipeline.reading import named_by
from lineage.store import read_or_none


@dataclass(frozen=True, slots=True)
class Exported:
    """A bundle: its description and its bytes."""

    bundle: Bundle
    data: bytes


def export_session(house: House, reference: str, *, include_private: bool = False) -> Exported:
    """A session with its artifacts, its manifest and its own books, each file as it is.

    Raises NotFoundError where no session, or more than one, answers to the reference; InvalidInput for a private one
    that isn't meant to be exported; FormatError where a file of it is damaged or missing.
    """
    row = resolve(house, reference)
    with sessions.exclusively(house, row.session_token):
        manifest = sessions.observed(house, row.session_token).manifest
        if manifest is None:
            raise NotFoundError(f"session {row.session_id} has no manifest", hint="run `lineage recover`")
        files = _files_of(house, manifest)
    documents = [parsed(data, path) for path, data in files.items() if path.startswith("memory/")]
    private = any(getattr(document, "private", False) for document in documents)
    if private and not include_private:
        raise InvalidInput(
            f"session {row.session_id} is private", hint="add `--include-private` to take it out of the workspace"
        )
    return _exported(house, files, session=manifest, private=private)


def export_global(house: House) -> Exported:
    """The global books, AGENT_MEMORY.md among them, with what waits and what is archived. Raises NotFoundError where
    there is none."""
    files = _read(house, [ref.path for ref in house.canon.books.list() if ref.scope == GLOBAL])
    if not files:
        raise NotFoundError("there are no global books", hint="run `lineage remember TEXT`, or edit AGENT_MEMORY.md")
    return _exported(house, files, session=None, private=False)


def _exported(house: House, files: Mapping[str, bytes], *, session: Manifest | None, private: bool) -> Exported:
    bundle = Bundle(
        holds=SESSIONS if session else GLOBAL,
        exported_at=_newest(files, session),
        lineage_version=__version__,
        sanitizer_version=house.rules.version,
        private=private,
        sessions=(_bundled(session),) if session else (),
        members=members_of(files),
    )
    return Exported(bundle, packed(bundle, files))


def _bundled(manifest: Manifest) -> Bundled:
    identity = manifest.identity
    came_from = tuple(manifest.imported_from)
    return Bundled(identity.agent_id, identity.session_id, identity.session_key, identity.token, came_from)


def _files_of(house: House, manifest: Manifest) -> dict[str, bytes]:
    """Every file that belongs to the session, by path. Nothing of any other scope is among them."""
    scope = session_scope(manifest.identity.token)
    books = [ref.path for ref in house.canon.books.list() if ref.scope == scope]
    return _read(house, [*named_by(manifest), manifest.path, *books])


def _read(house: House, paths: list[str]) -> dict[str, bytes]:
    found = {path: read_or_none(house.canon.store, path) for path in paths}
    for path, blob in found.items():
        if blob is None:
            raise FormatError(f"{path} is not there", hint="run `lineage verify`: the session is not whole")
    return {path: blob.data for path, blob in found.items() if blob}


def _newest(files: Mapping[str, bytes], session: Manifest | None) -> str:
    """The newest time that the files name: the time of the bundle, whenever it is made."""
    entries = [entry for ref in refs_of(files) for entry in _entries(files[ref.path], ref)]
    times = [entry.updated or entry.at for entry in entries]
    return max([*times, session.updated_at if session else ""])


def _entries(data: bytes, ref: BookRef) -> tuple[Entry, ...]:
    return parsed_book(data, ref.scope, ref.kind).entries
