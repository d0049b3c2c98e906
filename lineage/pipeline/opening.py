"""What a reference of a search result leads to: a session, or an entry of a book, and the file that shows it."""

import re
from dataclasses import dataclass

from lineage.core import naming, transcript
from lineage.core.documents import Artifact
from lineage.errors import NotFoundError
from lineage.index import SessionRow
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.bookkeeping import Place, found
from lineage.pipeline.lookup import resolve
from lineage.pipeline.reading import document_at

_ENTRY_ID = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Target:
    """A file, by its path in the workspace, and what in it is meant: a turn, by number, or an entry of a book. An
    archived artifact lies in a bundle: what stands at its place is the archive's note of it."""

    path: str
    turn: int | None = None
    entry: Place | None = None


def referred(house: House, reference: str) -> SessionRow | Place:
    """The session that a reference names, else the entry whose whole id it is. Raises NotFoundError for none and for
    many."""
    try:
        return resolve(house, reference)
    except NotFoundError:
        if not _ENTRY_ID.fullmatch(reference):
            raise
    return found(house, reference)


def target(house: House, reference: str, kind: str = naming.SUMMARY, turn: int | None = None) -> Target:
    """The newest file of a kind of a session, whose access is counted; with a turn the newest transcript that holds it;
    or the book of an entry. Raises NotFoundError where there is no such thing."""
    meant = referred(house, reference)
    if isinstance(meant, Place):
        return Target(meant.ref.path, entry=meant)
    path = _path(house, meant, kind) if turn is None else _holding(house, meant, turn)
    house.telemetry.count_access(meant.session_token, house.now)
    return Target(path, turn)


def _path(house: House, session: SessionRow, kind: str) -> str:
    if kind == naming.MANIFEST:
        return session.manifest_path
    paths = [path for path, of_kind in house.index.paths_of(session.session_token) if of_kind == kind]
    if not paths:
        raise NotFoundError(f"session {session.session_id} has no {kind}", hint="open another of its files")
    return paths[-1]


def _holding(house: House, session: SessionRow, turn: int) -> str:
    for path, kind in reversed(house.index.paths_of(session.session_token)):
        document = document_at(house, path) if kind == naming.TRANSCRIPT else None
        if isinstance(document, Artifact) and any(one.number == turn for one in transcript.parsed(document.body)):
            return path
    raise NotFoundError(f"session {session.session_id} has no turn {turn}", hint="`lineage show SESSION` says how many")
