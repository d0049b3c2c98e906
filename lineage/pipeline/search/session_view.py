"""One session as a person looks at it: its turns, page by page, and its lineage. Nothing is written, nor counted.

(format: Captures)
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from lineage.core.base import naming
from lineage.core.base.identity import derive_session_token
from lineage.core.base.times import shift_time, to_date
from lineage.core.capture.window import WINDOW_DAYS, Window
from lineage.core.format import transcript
from lineage.core.format.documents import Artifact, Manifest
from lineage.core.format.turns import Turn
from lineage.errors import FormatError, InvalidInput, NotFoundError
from lineage.index import SessionRow
from lineage.store import read_or_none
from lineage.workspace.load import load_document, load_readable_document
from lineage.workspace.lookup import resolve_session
from lineage.workspace.workspace import Workspace

KINDS = (naming.SUMMARY, naming.TRANSCRIPT, naming.COMPACTION, naming.MANIFEST)
MAX_RELATIVES = 50

_MAX_CANDIDATES = 1000
_WITHOUT_TIES = frozenset((b"forked_from: null", b"parent_session: null"))
_TURN_ID = re.compile(r"t-[0-9a-f]{10}")


@dataclass(frozen=True, slots=True)
class SessionPart:
    """A capture or a compaction of a session. `turns` are the numbers of its first and last turn, None where it has
    none or its transcript can't be read; `paths` its files by kind."""

    stem: str
    captured_at: str
    sentence: str
    paths: dict[str, str]
    turns: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class RelatedSession:
    """Another session that this one is tied to. `tie` is `forked from`, `fork`, `started by` or `started`; `session` is
    None where it isn't known here (any more), `named` is its id as the file has it."""

    tie: str
    session_id: str
    session: SessionRow | None


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session's lineage: its manifest's revision, captures and compactions, oldest first, and its relatives; its
    forks are looked for among the newest sessions of its project. `unread` names files that can't be read."""

    session: SessionRow
    revision: int
    turns: int
    captures: tuple[SessionPart, ...]
    compactions: tuple[SessionPart, ...]
    relatives: tuple[RelatedSession, ...]
    unread: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TurnPage:
    """Some of a session's turns; `first` is the number of the first one that was asked for, `total` counts them all."""

    session: SessionRow
    first: int
    total: int
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class SessionFile:
    """A file of a session, its body as it stands."""

    session: SessionRow
    kind: str
    path: str
    text: str


def load_session_view(ws: Workspace, reference: str) -> SessionView:
    """A session's lineage. Raises NotFoundError for none and for many, FormatError for a damaged manifest."""
    session = resolve_session(ws, reference)
    manifest = _load_manifest(ws, session)
    unread: list[str] = []
    captures = tuple(_load_capture(ws, stem, unread) for stem in manifest.captures)
    compactions = tuple(_load_compaction(ws, stem, unread) for stem in manifest.compactions)
    last = max((part.turns[1] for part in captures if part.turns), default=0)
    relatives = (*_find_ancestors(ws, manifest), *_find_descendants(ws, session))
    return SessionView(session, manifest.revision, last, captures, compactions, relatives, tuple(unread))


def load_turn_page(
    ws: Workspace, reference: str, *, first: int = 1, count: int = 50, turn: str | None = None
) -> TurnPage:
    """`count` turns from number `first` on, or from the page on that holds the turn of that id, across all captures.
    Raises NotFoundError for no session, for many, and for a turn that isn't there."""
    session = resolve_session(ws, reference)
    turns = _load_turns(ws, _load_manifest(ws, session))
    if turn is not None:
        position = next((place for place, one in enumerate(turns) if one.id == turn), None)
        if position is None or not _TURN_ID.fullmatch(turn):
            raise NotFoundError(f"session {session.session_id} has no turn {turn[:20]!r}")
        first = position - position % count + 1
    return TurnPage(session, first, len(turns), tuple(turns[first - 1 : first - 1 + count]))


def load_session_file(ws: Workspace, reference: str, kind: str) -> SessionFile:
    """The newest file of a kind. Raises NotFoundError where there is none, InvalidInput for what is no kind."""
    if kind not in KINDS:
        raise InvalidInput(f"not a kind of file: {kind[:40]!r}", hint=f"one of {', '.join(KINDS)}")
    session = resolve_session(ws, reference)
    manifest = _load_manifest(ws, session)
    paths = {
        naming.SUMMARY: manifest.summary_path,
        naming.TRANSCRIPT: manifest.transcript_path,
        naming.COMPACTION: manifest.compaction_path,
        naming.MANIFEST: manifest.path,
    }
    path = paths[kind]
    document = load_document(ws, path) if path else None
    if document is None:
        raise NotFoundError(f"session {session.session_id} has no {kind}")
    return SessionFile(session, kind, document.path, str(document.body))


def count_daily_captures(ws: Workspace, agent_id: str | None) -> list[tuple[str, int]]:
    """How many captures the ledger has on each of the last 30 days, the oldest day first; of every agent where
    `agent_id` is None. Days are those of UTC."""
    window = Window.from_end(ws.now)
    counts: Counter[str] = Counter()
    for agent in ws.index.list_agents() if agent_id is None else [agent_id]:
        for tally in ws.index.load_ledger(agent, window).tallies:
            counts[tally.day] += tally.entries
    days = [to_date(shift_time(ws.now, days=-back)) for back in range(WINDOW_DAYS - 1, -1, -1)]
    return [(date, counts[date]) for date in days]


def _load_manifest(ws: Workspace, session: SessionRow) -> Manifest:
    document = load_document(ws, session.manifest_path)
    if not isinstance(document, Manifest):
        raise FormatError(f"{session.manifest_path} is gone", hint="run `lineage reindex`")
    return document


def _load_capture(ws: Workspace, stem: str, unread: list[str]) -> SessionPart:
    path, summary = naming.artifact_path(stem, naming.TRANSCRIPT), naming.artifact_path(stem, naming.SUMMARY)
    artifact = _load_artifact(ws, path, unread)
    numbers = [turn.number for turn in transcript.parse_turns(artifact.body)] if artifact else []
    paths = {naming.TRANSCRIPT: path, naming.SUMMARY: summary}
    return _build_part(stem, artifact, paths, (numbers[0], numbers[-1]) if numbers else None)


def _load_compaction(ws: Workspace, stem: str, unread: list[str]) -> SessionPart:
    path = naming.artifact_path(stem, naming.COMPACTION)
    return _build_part(stem, _load_artifact(ws, path, unread), {naming.COMPACTION: path}, None)


def _build_part(
    stem: str, artifact: Artifact | None, paths: dict[str, str], turns: tuple[int, int] | None
) -> SessionPart:
    name = naming.parse_path(next(iter(paths.values())))
    at = artifact.captured_at if artifact else name.captured_at if name else ""
    return SessionPart(stem, at, artifact.memory_sentence if artifact else "", paths, turns)


def _load_artifact(ws: Workspace, path: str, unread: list[str]) -> Artifact | None:
    document = load_readable_document(ws, path)
    if isinstance(document, Artifact):
        return document
    unread.append(path)
    return None


def _load_turns(ws: Workspace, manifest: Manifest) -> list[Turn]:
    """The session's turns as its captures tell them: a capture replaces all from its first turn on."""
    turns: list[Turn] = []
    for stem in manifest.captures:
        document = load_readable_document(ws, naming.artifact_path(stem, naming.TRANSCRIPT))
        found = transcript.parse_turns(document.body) if isinstance(document, Artifact) else ()
        if found:
            turns[found[0].number - 1 :] = found
    return turns


def _find_ancestors(ws: Workspace, manifest: Manifest) -> Iterator[RelatedSession]:
    for tie, named in (("forked from", manifest.forked_from), ("started by", manifest.parent_session)):
        if named:
            token = derive_session_token(manifest.agent_id, named)
            found = ws.index.list_sessions(None, reference=token, limit=1)
            yield RelatedSession(tie, named, found[0] if found else None)


def _find_descendants(ws: Workspace, session: SessionRow) -> Iterator[RelatedSession]:
    """Forks and sub-agents' sessions. Heads of manifests alone are looked at: there may be many."""
    same = ws.index.list_sessions(session.agent_id, project=session.project, limit=_MAX_CANDIDATES)
    others = (row for row in same if row.session_token != session.session_token)
    found = (
        RelatedSession(tie, row.session_id, row) for row in others for tie in _find_ties(ws, row, session.session_id)
    )
    return islice(found, MAX_RELATIVES)


def _find_ties(ws: Workspace, row: SessionRow, session_id: str) -> list[str]:
    """How a session is tied to the one of that id, which its harness names."""
    blob = read_or_none(ws.documents.store, row.manifest_path)
    head = blob.data.partition(b"\n---")[0] if blob else b""
    document = None if _WITHOUT_TIES.issubset(head.splitlines()) else load_readable_document(ws, row.manifest_path)
    if not isinstance(document, Manifest):
        return []
    ties = (("fork", document.forked_from), ("started", document.parent_session))
    return [tie for tie, named in ties if named == session_id]
