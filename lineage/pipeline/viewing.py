"""One session as a person looks at it: its turns, page by page, and its lineage. Nothing is written, nor counted.

(format: Captures)
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from lineage.core import naming, transcript
from lineage.core.documents import Artifact, Manifest
from lineage.core.identity import session_token
from lineage.core.times import day, shifted
from lineage.core.turns import Turn
from lineage.core.window import DAYS, Window
from lineage.errors import FormatError, InvalidInput, NotFoundError
from lineage.index import SessionRow
from lineage.pipeline.house import House
from lineage.pipeline.lookup import resolve
from lineage.pipeline.reading import document_at, readable_at
from lineage.store import read_or_none

KINDS = (naming.SUMMARY, naming.TRANSCRIPT, naming.COMPACTION, naming.MANIFEST)
MOST_RELATIVES = 50

_LOOKED_AT = 1000
_WITHOUT_TIES = frozenset((b"forked_from: null", b"parent_session: null"))
_TURN_ID = re.compile(r"t-[0-9a-f]{10}")


@dataclass(frozen=True, slots=True)
class Part:
    """A capture or a compaction of a session. `turns` are the numbers of its first and last turn, None where it has
    none or its transcript can't be read; `paths` its files by kind."""

    stem: str
    at: str
    sentence: str
    paths: dict[str, str]
    turns: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Relative:
    """Another session that this one is tied to. `tie` is `forked from`, `fork`, `started by` or `started`; `session` is
    None where it isn't known here (any more), `named` is its id as the file has it."""

    tie: str
    named: str
    session: SessionRow | None


@dataclass(frozen=True, slots=True)
class View:
    """A session's lineage: its manifest's revision, captures and compactions, oldest first, and its relatives; its
    forks are looked for among the newest sessions of its project. `unread` names files that can't be read."""

    session: SessionRow
    revision: int
    turns: int
    captures: tuple[Part, ...]
    compactions: tuple[Part, ...]
    relatives: tuple[Relative, ...]
    unread: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TurnPage:
    """Some of a session's turns; `first` is the number of the first one that was asked for, `total` counts them all."""

    session: SessionRow
    first: int
    total: int
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class File:
    """A file of a session, its body as it stands."""

    session: SessionRow
    kind: str
    path: str
    text: str


def view(house: House, reference: str) -> View:
    """A session's lineage. Raises NotFoundError for none and for many, FormatError for a damaged manifest."""
    session = resolve(house, reference)
    manifest = _manifest(house, session)
    unread: list[str] = []
    captures = tuple(_capture(house, stem, unread) for stem in manifest.captures)
    compactions = tuple(_compaction(house, stem, unread) for stem in manifest.compactions)
    last = max((part.turns[1] for part in captures if part.turns), default=0)
    relatives = (*_ancestors(house, manifest), *_descendants(house, session))
    return View(session, manifest.revision, last, captures, compactions, relatives, tuple(unread))


def turn_page(house: House, reference: str, *, first: int = 1, count: int = 50, turn: str | None = None) -> TurnPage:
    """`count` turns from number `first` on, or from the page on that holds the turn of that id, across all captures.
    Raises NotFoundError for no session, for many, and for a turn that isn't there."""
    session = resolve(house, reference)
    turns = _turns(house, _manifest(house, session))
    if turn is not None:
        position = next((place for place, one in enumerate(turns) if one.id == turn), None)
        if position is None or not _TURN_ID.fullmatch(turn):
            raise NotFoundError(f"session {session.session_id} has no turn {turn[:20]!r}")
        first = position - position % count + 1
    return TurnPage(session, first, len(turns), tuple(turns[first - 1 : first - 1 + count]))


def file_of(house: House, reference: str, kind: str) -> File:
    """The newest file of a kind. Raises NotFoundError where there is none, InvalidInput for what is no kind."""
    if kind not in KINDS:
        raise InvalidInput(f"not a kind of file: {kind[:40]!r}", hint=f"one of {', '.join(KINDS)}")
    session = resolve(house, reference)
    manifest = _manifest(house, session)
    paths = {
        naming.SUMMARY: manifest.summary_path,
        naming.TRANSCRIPT: manifest.transcript_path,
        naming.COMPACTION: manifest.compaction_path,
        naming.MANIFEST: manifest.path,
    }
    path = paths[kind]
    document = document_at(house, path) if path else None
    if document is None:
        raise NotFoundError(f"session {session.session_id} has no {kind}")
    return File(session, kind, document.path, str(document.body))


def activity(house: House, agent_id: str | None) -> list[tuple[str, int]]:
    """How many captures the ledger has on each of the last 30 days, the oldest day first; of every agent where
    `agent_id` is None. Days are those of UTC."""
    window = Window.ending(house.now)
    counts: Counter[str] = Counter()
    for agent in house.index.agents() if agent_id is None else [agent_id]:
        for tally in house.index.ledger(agent, window).tallies:
            counts[tally.day] += tally.entries
    days = [day(shifted(house.now, days=-back)) for back in range(DAYS - 1, -1, -1)]
    return [(date, counts[date]) for date in days]


def _manifest(house: House, session: SessionRow) -> Manifest:
    document = document_at(house, session.manifest_path)
    if not isinstance(document, Manifest):
        raise FormatError(f"{session.manifest_path} is gone", hint="run `lineage reindex`")
    return document


def _capture(house: House, stem: str, unread: list[str]) -> Part:
    path, summary = naming.artifact_path(stem, naming.TRANSCRIPT), naming.artifact_path(stem, naming.SUMMARY)
    artifact = _artifact(house, path, unread)
    numbers = [turn.number for turn in transcript.parsed(artifact.body)] if artifact else []
    paths = {naming.TRANSCRIPT: path, naming.SUMMARY: summary}
    return _part(stem, artifact, paths, (numbers[0], numbers[-1]) if numbers else None)


def _compaction(house: House, stem: str, unread: list[str]) -> Part:
    path = naming.artifact_path(stem, naming.COMPACTION)
    return _part(stem, _artifact(house, path, unread), {naming.COMPACTION: path}, None)


def _part(stem: str, artifact: Artifact | None, paths: dict[str, str], turns: tuple[int, int] | None) -> Part:
    name = naming.parse_path(next(iter(paths.values())))
    at = artifact.captured_at if artifact else name.captured_at if name else ""
    return Part(stem, at, artifact.memory_sentence if artifact else "", paths, turns)


def _artifact(house: House, path: str, unread: list[str]) -> Artifact | None:
    document = readable_at(house, path)
    if isinstance(document, Artifact):
        return document
    unread.append(path)
    return None


def _turns(house: House, manifest: Manifest) -> list[Turn]:
    """The session's turns as its captures tell them: a capture replaces all from its first turn on."""
    turns: list[Turn] = []
    for stem in manifest.captures:
        document = readable_at(house, naming.artifact_path(stem, naming.TRANSCRIPT))
        found = transcript.parsed(document.body) if isinstance(document, Artifact) else ()
        if found:
            turns[found[0].number - 1 :] = found
    return turns


def _ancestors(house: House, manifest: Manifest) -> Iterator[Relative]:
    for tie, named in (("forked from", manifest.forked_from), ("started by", manifest.parent_session)):
        if named:
            token = session_token(manifest.agent_id, named)
            found = house.index.sessions(None, reference=token, limit=1)
            yield Relative(tie, named, found[0] if found else None)


def _descendants(house: House, session: SessionRow) -> Iterator[Relative]:
    """Forks and sub-agents' sessions. Heads of manifests alone are looked at: there may be many."""
    same = house.index.sessions(session.agent_id, project=session.project, limit=_LOOKED_AT)
    others = (row for row in same if row.session_token != session.session_token)
    found = (Relative(tie, row.session_id, row) for row in others for tie in _ties(house, row, session.session_id))
    return islice(found, MOST_RELATIVES)


def _ties(house: House, row: SessionRow, session_id: str) -> list[str]:
    """How a session is tied to the one of that id, which its harness names."""
    blob = read_or_none(house.canon.store, row.manifest_path)
    head = blob.data.partition(b"\n---")[0] if blob else b""
    document = None if _WITHOUT_TIES.issubset(head.splitlines()) else readable_at(house, row.manifest_path)
    if not isinstance(document, Manifest):
        return []
    ties = (("fork", document.forked_from), ("started", document.parent_session))
    return [tie for tie, named in ties if named == session_id]
