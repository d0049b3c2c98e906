"""Views of one session: its turns, page by page, its files and its lineage; and targets of references."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from lineage.core.base import naming
from lineage.core.base.naming import derive_session_token
from lineage.core.base.times import shift_time, to_date
from lineage.core.capture.ledger import WINDOW_DAYS, Window
from lineage.core.format import transcript
from lineage.core.format.documents import Artifact, Manifest
from lineage.core.format.turns import Turn
from lineage.errors import FormatError, InvalidInput, NotFoundError
from lineage.index import SessionFilter, SessionRow
from lineage.pipeline.memory.books import EntryLocation, find_entry
from lineage.store import read_or_none
from lineage.workspace import lookup
from lineage.workspace.workspace import Workspace

KINDS = (naming.SUMMARY, naming.TRANSCRIPT, naming.COMPACTION, naming.MANIFEST)
MAX_RELATIVES = 50

_MAX_CANDIDATES = 1000  # sessions of a project, to find relatives among them
_NO_FORK = b"forked_from: null"
_TURN_ID = re.compile(r"t-[0-9a-f]{10}")
ENTRY_ID_LENGTH = 16
_ENTRY_ID = re.compile(r"[0-9a-f]{4,16}")


@dataclass(frozen=True, slots=True)
class SessionPart:
    """A capture or compaction with its files by kind and its first and last turn, None without readable turns."""

    stem: str
    captured_at: str
    memory_sentence: str
    paths: dict[str, str]
    turns: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class RelatedSession:
    """Another session and its tie: `forked from`, `fork`, `started by` or `started`.

    `session_id` is the id in the file, `session` None if it is unknown here or gone.
    """

    tie: str
    session_id: str
    session: SessionRow | None


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session's lineage: captures and compactions, oldest first, and its relatives.

    Forks are found among the newest sessions of its project. `unread` are the paths of unreadable files.
    """

    session: SessionRow
    revision: int
    turns: int
    captures: tuple[SessionPart, ...]
    compactions: tuple[SessionPart, ...]
    relatives: tuple[RelatedSession, ...]
    unread: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TurnPage:
    """Some of a session's turns. `first` is the requested first number, `total` the number of all turns."""

    session: SessionRow
    first: int
    total: int
    turns: tuple[Turn, ...]


def load_session_view(ws: Workspace, reference: str) -> SessionView:
    """Return a session's lineage. Raises NotFoundError for none and many, FormatError for a damaged manifest."""
    session = lookup.resolve_session(ws, reference)
    return load_lineage(ws, session, lambda manifest: (*_find_ancestors(ws, manifest), *_find_descendants(ws, session)))


def load_lineage(
    ws: Workspace, session: SessionRow, find_relatives: Callable[[Manifest], Iterable[RelatedSession]]
) -> SessionView:
    """Return a session's lineage with these relatives. Raises FormatError for a damaged manifest."""
    manifest = _load_manifest(ws, session)
    unread: list[str] = []
    captures = tuple(_load_part(ws, stem, (naming.TRANSCRIPT, naming.SUMMARY), unread) for stem in manifest.captures)
    compactions = tuple(_load_part(ws, stem, (naming.COMPACTION,), unread) for stem in manifest.compactions)
    last = max((part.turns[1] for part in captures if part.turns), default=0)
    relatives = tuple(find_relatives(manifest))
    return SessionView(session, manifest.revision, last, captures, compactions, relatives, tuple(unread))


def load_turn_page(
    ws: Workspace, reference: str, *, first: int = 1, count: int = 50, turn: str | None = None
) -> TurnPage:
    """Return `count` turns of all captures, from number `first` on or from the page with the turn of that id.

    Raises NotFoundError for no session, many sessions and an unknown turn.
    """
    session = lookup.resolve_session(ws, reference)
    return find_turn_page(session, load_turns(ws, session), first=first, count=count, turn=turn)


def find_turn_page(
    session: SessionRow, turns: Sequence[Turn], *, first: int = 1, count: int = 50, turn: str | None = None
) -> TurnPage:
    """Return `count` of these turns, from the place `first` on or from the page with the turn of that id.

    Raises NotFoundError for an unknown turn.
    """
    if turn is not None:
        position = next((index for index, candidate in enumerate(turns) if candidate.id == turn), None)
        if position is None or not _TURN_ID.fullmatch(turn):
            raise NotFoundError(f"session {session.session_id} has no turn {turn[:20]!r}")
        first = position - position % count + 1
    return TurnPage(session, first, len(turns), tuple(turns[first - 1 : first - 1 + count]))


def load_session_file(ws: Workspace, reference: str, kind: str) -> lookup.SessionText:
    """Return the newest file of a kind. Raises NotFoundError for none, InvalidInput for an unknown kind."""
    if kind not in KINDS:
        raise InvalidInput(f"not a kind of file: {kind[:40]!r}", hint=f"one of {', '.join(KINDS)}")
    session = lookup.resolve_session(ws, reference)
    file = lookup.load_newest_file(ws, session, kind)
    if file is None:
        raise NotFoundError(f"session {session.session_id} has no {kind}")
    return file


def count_daily_captures(ws: Workspace, agent_id: str | None) -> list[tuple[str, int]]:
    """Return the number of captures in the ledger on each of the last 30 UTC days, the oldest day first.

    `agent_id` None stands for all agents.
    """
    window = Window.from_end(ws.now)
    counts: Counter[str] = Counter()
    for agent in ws.index.list_agents() if agent_id is None else [agent_id]:
        for tally in ws.index.load_ledger(agent, window).tallies:
            counts[tally.day] += tally.entries
    days = [to_date(shift_time(ws.now, days=-back)) for back in range(WINDOW_DAYS - 1, -1, -1)]
    return [(date, counts[date]) for date in days]


@dataclass(frozen=True, slots=True)
class RecentSessions:
    """How many sessions had their newest capture on each of 30 UTC days, oldest first, and in each project."""

    days: tuple[tuple[str, int], ...]
    projects: dict[str, int]


def list_recent_days(now: str, newest: str = "") -> list[str]:
    """Return the last 30 UTC days, oldest first; those up to the newest session's if it is older than all of them.

    >>> list_recent_days("2026-11-24T09:00:00.000Z", "2026-02-12")[-1]
    '2026-02-12'
    """
    end = newest if newest and newest[:10] < to_date(shift_time(now, days=1 - WINDOW_DAYS)) else now
    return [to_date(shift_time(f"{end[:10]}T00:00:00.000Z", days=-back)) for back in range(WINDOW_DAYS - 1, -1, -1)]


def count_recent_sessions(
    ws: Workspace, agent_id: str | None, wanted: SessionFilter, newest: str = ""
) -> RecentSessions:
    """Return the activity of `list_recent_days`, of the sessions asked for; a shorter period of the filter holds."""
    dates = list_recent_days(ws.now, newest)
    recent = replace(wanted, since=max(wanted.since, dates[0]))
    days, projects = Counter[str](), Counter[str]()
    for day, project, count in ws.index.count_sessions(agent_id, recent):
        days[day] += count
        if project:
            projects[project] += count
    return RecentSessions(tuple((date, days[date]) for date in dates), dict(projects))


def _load_manifest(ws: Workspace, session: SessionRow) -> Manifest:
    document = lookup.load_document(ws, session.manifest_path)
    if not isinstance(document, Manifest):
        raise FormatError(f"{session.manifest_path} is gone", hint="run `lineage reindex`")
    return document


def _load_part(ws: Workspace, stem: str, kinds: Sequence[str], unread: list[str]) -> SessionPart:
    """Return a part with files of these kinds, from the first of them."""
    paths = {kind: naming.artifact_path(stem, kind) for kind in kinds}
    path = paths[kinds[0]]
    document = lookup.load_readable_document(ws, path)
    if not isinstance(document, Artifact):
        unread.append(path)
        name = naming.parse_path(path)
        return SessionPart(stem, name.captured_at if name else "", "", paths, None)
    turns = transcript.parse_turns(document.body) if naming.TRANSCRIPT in kinds else ()
    numbers = (turns[0].number, turns[-1].number) if turns else None
    return SessionPart(stem, document.captured_at, document.memory_sentence, paths, numbers)


def load_turns(ws: Workspace, session: SessionRow) -> list[Turn]:
    """Return the turns of all captures of a session. Raises FormatError for a damaged manifest."""
    turns: list[Turn] = []
    for stem in _load_manifest(ws, session).captures:
        document = lookup.load_readable_document(ws, naming.artifact_path(stem, naming.TRANSCRIPT))
        captured = transcript.parse_turns(document.body) if isinstance(document, Artifact) else ()
        if captured:  # a capture replaces all turns from its first one on
            turns[captured[0].number - 1 :] = captured
    return turns


def _find_ancestors(ws: Workspace, manifest: Manifest) -> Iterator[RelatedSession]:
    for tie, session_id in (("forked from", manifest.forked_from), ("started by", manifest.parent_session)):
        if session_id:
            token = derive_session_token(manifest.agent_id, session_id)
            rows = ws.index.list_sessions(None, reference=token, limit=1)
            yield RelatedSession(tie, session_id, rows[0] if rows else None)


def _find_descendants(ws: Workspace, session: SessionRow) -> Iterator[RelatedSession]:
    """Yield sub-agents' sessions and forks."""
    for row in ws.index.list_sessions(None, parent=session.session_token, limit=MAX_RELATIVES):
        yield RelatedSession("started", row.session_id, row)
    rows = ws.index.list_sessions(
        session.agent_id, wanted=SessionFilter(project=session.project), limit=_MAX_CANDIDATES
    )
    others = (row for row in rows if row.session_token != session.session_token)
    forks = (row for row in others if _is_fork(ws, row, session.session_id))
    yield from (RelatedSession("fork", row.session_id, row) for row in islice(forks, MAX_RELATIVES))


def _is_fork(ws: Workspace, row: SessionRow, session_id: str) -> bool:
    blob = read_or_none(ws.documents.store, row.manifest_path)
    # There may be many manifests, most of no fork: the head alone says so, without parsing.
    head = blob.data.partition(b"\n---")[0] if blob else b""
    document = None if _NO_FORK in head.splitlines() else lookup.load_readable_document(ws, row.manifest_path)
    return isinstance(document, Manifest) and document.forked_from == session_id


@dataclass(frozen=True, slots=True)
class FileTarget:
    """A file's path in the workspace, with the number of a turn or an entry of a book in it.

    The path of an archived artifact leads to the archive's note of it.
    """

    path: str
    turn: int | None = None
    entry: EntryLocation | None = None


def resolve_reference(ws: Workspace, reference: str) -> SessionRow | EntryLocation:
    """Return the session of a reference, else the entry with this id, or beginning of an id.

    Raises NotFoundError for none and many.
    """
    try:
        return lookup.resolve_session(ws, reference)
    except NotFoundError as error:
        if not _ENTRY_ID.fullmatch(reference):
            raise
        try:
            return find_entry(ws, reference)
        except NotFoundError:
            if len(reference) == ENTRY_ID_LENGTH:
                raise
        raise error from None


def find_file_target(ws: Workspace, reference: str, kind: str = naming.SUMMARY, turn: int | None = None) -> FileTarget:
    """Return the newest file of a kind of a session, or its newest transcript with a turn, or the book of an entry.

    The access to the session is counted. Raises NotFoundError if there is no such file.
    """
    target = resolve_reference(ws, reference)
    if isinstance(target, EntryLocation):
        return FileTarget(target.ref.path, entry=target)
    path = lookup.find_newest_path(ws, target, kind) if turn is None else _find_transcript_with_turn(ws, target, turn)
    if path is None:
        what = f"session {target.session_id} has no {kind}"
        raise lookup.build_absent_error(ws, target, kind, what, "open another of its files")
    ws.telemetry.count_access(target.session_token, ws.now)
    return FileTarget(path, turn)


def _find_transcript_with_turn(ws: Workspace, session: SessionRow, turn: int) -> str:
    for path, kind in reversed(ws.index.list_session_files(session.session_token)):
        document = lookup.load_document(ws, path) if kind == naming.TRANSCRIPT else None
        if isinstance(document, Artifact) and any(t.number == turn for t in transcript.parse_turns(document.body)):
            return path
    what, hint = f"session {session.session_id} has no turn {turn}", "`lineage show SESSION` says how many"
    raise lookup.build_absent_error(ws, session, naming.TRANSCRIPT, what, hint)
