"""MEMORY.md from the rows, under the lease (spec: write ordering 7, concurrency 1)."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from lineage.core.base import naming
from lineage.core.base.book_paths import CURATED_PATH, GLOBAL, BookRef
from lineage.core.base.naming import DEFAULT_AGENT
from lineage.core.base.project import is_repository
from lineage.core.books.entry import TASK, USER_STATED
from lineage.core.capture.ledger import Ledger, ProjectTally, Window
from lineage.errors import FormatError
from lineage.index import ArtifactRow, QueuedCapture
from lineage.projection.memory_item import MemoryItem
from lineage.projection.memory_md import MemoryDocument, MemoryHead, list_active_projects, render_memory_md
from lineage.store import LeaseLost, LeaseUnneeded, LeaseWaiter, acquire_lease, map_concurrently, read_or_none
from lineage.workspace.archive_notes import publish_archive_notes
from lineage.workspace.book_folders import BookFolders
from lineage.workspace.book_reader import BookEntry, BookReader, list_open_tasks, rank_entries
from lineage.workspace.lookup import load_row
from lineage.workspace.memory_items import build_item, load_curated_items
from lineage.workspace.projects import KnownProjects
from lineage.workspace.removed_sessions import drop_removed_sessions
from lineage.workspace.session_notes import publish_all_notes, publish_session_notes
from lineage.workspace.workspace import Workspace, tolerate_outage

_MAX_ATTEMPTS = 20  # renders under lost leases; each time another process took over
_MAX_BATCH = 64  # waiting captures in one render
_RULE_KINDS = ("preference", "decision", "note")
_HEADING = re.compile(r"\s*#{1,6}\s")
_MARK = re.compile(r"^\s*[-*+]\s+")


@dataclass(frozen=True, slots=True)
class PublishResult:
    """The state of one agent's MEMORY.md. `future` counts captures with a time after now; it does not show them."""

    agent_id: str
    written: bool
    rows: int
    total: int
    future: int


class Publication(AbstractContextManager["Publication"]):
    """The right to publish one agent's MEMORY.md.

    Entering raises LeaseUnneeded if `waiter`, called while another process holds the lease, says so. Rows of sessions
    that another machine removed are dropped first: a later removal renders after this.
    """

    def __init__(self, ws: Workspace, agent_id: str, waiter: LeaseWaiter | None = None) -> None:
        self._ws = ws
        self._agent_id = agent_id
        self._waiter = waiter
        self._leases = ExitStack()
        self.removed: Set[str] = frozenset()
        self.dropped = False

    def __enter__(self) -> "Publication":
        self._acquire_lease(self._waiter)
        try:
            self.removed = self._ws.documents.tombstones.list_tokens()
            self.dropped = bool(self.removed) and drop_removed_sessions(self._ws, self.removed) > 0
        except BaseException:  # __exit__ does not run after a failed __enter__
            self._leases.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._leases.close()

    def publish(self) -> tuple[MemoryDocument, bool]:
        """Render MEMORY.md and return it, and whether it is new. Raise IndexUnavailable without an index."""
        for _ in range(_MAX_ATTEMPTS):
            ledger = self._ws.index.load_ledger(self._agent_id, Window.from_end(self._ws.now))
            document = render_agent_memory(self._ws, self._agent_id, ledger)
            try:
                written = self._lease.write(naming.memory_md_path(self._agent_id), document.text.encode())
            except LeaseLost:  # this process was too slow: another one rendered meanwhile, so render again
                self._leases.close()
                self._acquire_lease()
                continue
            self._ws.telemetry.mark(f"rendered {self._agent_id}", self._ws.now)
            return document, written
        raise LeaseLost(f"the lease of MEMORY.md was lost {_MAX_ATTEMPTS} times", hint="run `lineage admin render`")

    def _acquire_lease(self, waiter: LeaseWaiter | None = None) -> None:
        name = f"memory-md-{self._agent_id}"
        self._lease = self._leases.enter_context(acquire_lease(self._ws.documents.store, name, waiter=waiter))


def index_and_publish(ws: Workspace, capture: QueuedCapture, build_rows: Callable[[], Sequence[ArtifactRow]]) -> None:
    """Write MEMORY.md with the capture, commit its rows, then write its notes. The caller holds the session's lock.

    One render serves all captures that wait for it: a process that has to wait for the lease queues its capture and
    returns as soon as another process has published it. `build_rows` reads the capture's files.
    """
    queue, tickets = ws.index.queue, list[int]()

    def wait_for_other(seconds: float) -> bool:
        # Queued once there is somebody to wait for. True if another process has published this capture meanwhile.
        if not tickets:
            tickets.append(queue.enqueue(capture))
        return queue.wait(tickets[0], seconds)

    try:
        with Publication(ws, capture.agent_id, waiter=wait_for_other) as publication:
            waiting = queue.peek(capture.agent_id, ws.now, _MAX_BATCH)
            others = {ticket: other for ticket, other in waiting if ticket not in tickets}
            rows = _load_waiting_rows(ws, others, publication.removed)
            # The rows are staged in a transaction: MEMORY.md is rendered from them before anybody else sees them.
            with ws.index.upsert_in_transaction([*chain.from_iterable(rows.values()), *build_rows()]):
                publication.publish()
            queue.mark_done({*rows, *tickets})
        queue.notify()
        if publication.dropped:
            publish_all_notes(ws)
    except LeaseUnneeded:  # another process has published it
        pass
    publish_session_notes(ws, capture.token)


def _load_waiting_rows(
    ws: Workspace, others: Mapping[int, QueuedCapture], removed: Set[str]
) -> dict[int, list[ArtifactRow]]:
    """Return the rows of waiting captures by ticket, without damaged ones: their own process reports these."""
    paths = {ticket: () if other.token in removed else other.paths for ticket, other in others.items()}
    distinct = sorted(set(chain.from_iterable(paths.values())))
    loaded = map_concurrently(ws.documents.store, partial(_load_row_or_error, ws), distinct)
    by_path = dict(zip(distinct, loaded, strict=True))
    rows: dict[int, list[ArtifactRow]] = {}
    for ticket, named in paths.items():
        results = [by_path[path] for path in named]
        if not any(isinstance(result, FormatError) for result in results):
            rows[ticket] = [result for result in results if isinstance(result, ArtifactRow)]
    return rows


def _load_row_or_error(ws: Workspace, path: str) -> ArtifactRow | FormatError | None:
    try:
        loaded = load_row(ws.documents.store, path)
    except FormatError as error:
        return error
    return loaded[0] if loaded else None


def render_agent_memory(ws: Workspace, agent_id: str, ledger: Ledger) -> MemoryDocument:
    """Return MEMORY.md of an agent with this ledger, under the head that its books make now."""
    settings = ws.settings.ledger
    head = _load_head(ws, agent_id, ledger.tallies)
    return render_memory_md(ledger, head, max_bytes=settings.max_bytes, row_style=settings.row_style)


def _load_head(ws: Workspace, agent_id: str, tallies: Sequence[ProjectTally]) -> MemoryHead:
    """Return the curated entries, the user's rules in force and open tasks: global, the agent's, of active projects."""
    reader = BookReader(ws, agent_id)
    active = list_active_projects(tallies)
    newest = max((tally.day for tally in tallies), default="")  # not the clock: the same state makes the same bytes
    known, book_folders = KnownProjects(ws, ws.index.list_projects()), BookFolders(ws)

    def resolve(path: str) -> str | None:
        key = known.find_by_path(path)  # a path of another machine says nothing of its repository here
        return book_folders.resolve(path, key if is_repository(key) else None)

    folders = set(map_concurrently(ws.documents.store, resolve, active))
    projects = [f"project/{folder}" for folder in sorted(filter(None, folders))]
    scopes = (GLOBAL, f"agent/{agent_id}", *projects)
    reader.prefetch(BookRef(scope, kind) for scope in scopes for kind in (*_RULE_KINDS, TASK))
    entries = rank_entries(entry for scope in scopes for entry in reader.entries(scope, *_RULE_KINDS))
    return MemoryHead(
        [
            # What a hand wrote into that file is the user's.
            replace(item, text=_MARK.sub("", item.text), trust=item.trust or USER_STATED, link=CURATED_PATH)
            for item in load_curated_items(reader)
            if not _HEADING.match(item.text)
        ],
        [_build_item(entry, entry.text) for entry in entries if entry.entry.trust == USER_STATED],
        [_build_item(entry, text) for entry, text in list_open_tasks(reader, scopes, newest)],
    )


def _build_item(entry: BookEntry, text: str) -> MemoryItem:
    item, project = build_item(entry, text), entry.ref.scope.partition("project/")[2]
    return replace(item, label=", ".join(filter(None, (project, item.label))), link=entry.ref.path)


def publish_all(ws: Workspace) -> list[PublishResult]:
    """Publish MEMORY.md of every agent in the index or with a MEMORY.md already, then all notes."""
    return publish_agents(ws, _list_agents(ws))


def _list_agents(ws: Workspace) -> set[str]:
    return {*ws.index.list_agents(), *list_published_agents(ws), DEFAULT_AGENT}


def publish_agents(ws: Workspace, agents: Iterable[str]) -> list[PublishResult]:
    """Publish MEMORY.md of the agents, then all notes."""
    results = []
    for agent in sorted(agents):
        with Publication(ws, agent) as publication:
            document, written = publication.publish()
        future = ws.index.count_future_captures(agent, Window.from_end(ws.now))
        results.append(PublishResult(agent, written, document.row_count, document.window_count, future))
    publish_archive_notes(ws)
    publish_all_notes(ws)
    return results


def publish_or_mark_stale(ws: Workspace) -> None:
    """Publish MEMORY.md after a change of books; mark the index stale if it is unavailable."""
    with tolerate_outage(ws, mark_stale=True):
        for agent in sorted(_list_agents(ws)):
            with Publication(ws, agent) as publication:
                publication.publish()


def list_published_agents(ws: Workspace) -> set[str]:
    """Return the agents with a MEMORY.md, even after their last session was removed."""
    agents = {name for entry in ws.documents.store.list(naming.AGENTS) if (name := naming.parse_agent(entry.key))}
    if read_or_none(ws.documents.store, naming.memory_md_path(DEFAULT_AGENT)):
        agents.add(DEFAULT_AGENT)
    return agents
