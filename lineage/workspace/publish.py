"""MEMORY.md from the rows, under the lease. (spec: write ordering 7, concurrency 1)"""

import itertools
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from typing import NamedTuple

from lineage.core.base import naming
from lineage.core.base.book_paths import BookRef
from lineage.core.base.identity import DEFAULT_AGENT
from lineage.core.base.privacy import GLOBAL
from lineage.core.base.times import to_date
from lineage.core.books.entry import TASK
from lineage.core.capture.ledger import Ledger, ProjectTally
from lineage.core.capture.window import Window
from lineage.errors import FormatError
from lineage.index import ArtifactRow, QueuedCapture
from lineage.projection.memory_item import MemoryItem
from lineage.projection.memory_md import MemoryDocument, MemoryHead, list_active_projects, render_memory_md
from lineage.store import LeaseLost, LeaseUnneeded, LeaseWaiter, acquire_lease, map_concurrently, read_or_none
from lineage.workspace.book_reader import BookEntry, BookReader, list_open_tasks, rank_entries
from lineage.workspace.load import load_row
from lineage.workspace.project_folders import resolve_project_folder
from lineage.workspace.stale_index import tolerate_outage
from lineage.workspace.workspace import Workspace

_MAX_ATTEMPTS = 20
_MAX_BATCH = 64
_CURATED_KINDS = ("preference", "decision", "note")


class PublishResult(NamedTuple):
    """What MEMORY.md of one agent shows now. `future` captures claim a time after now and are left out."""

    agent_id: str
    written: bool
    rows: int
    total: int
    future: int


class Publication(AbstractContextManager["Publication"]):
    """The right to publish one agent's MEMORY.md. Where the lease passes on, it is taken and rendered again.

    Entering raises LeaseUnneeded where `unless`, which waits where it has to, says that it need not any more. Rows of a
    session that another machine has removed go first: whoever removes one from now on renders after this.
    """

    def __init__(self, ws: Workspace, agent_id: str, waiter: LeaseWaiter | None = None) -> None:
        self._ws = ws
        self._agent_id = agent_id
        self._waiter = waiter
        self._leases = ExitStack()
        self.removed: Set[str] = frozenset()

    def __enter__(self) -> "Publication":
        self._acquire_lease(self._waiter)
        try:
            self._drop_removed_sessions()
        except BaseException:
            self._leases.close()
            raise
        return self

    def _drop_removed_sessions(self) -> None:
        self.removed = self._ws.documents.tombstones.list_tokens()
        if self.removed:
            from lineage.workspace.removed_sessions import drop_removed_sessions  # noqa: PLC0415  (most sessions stay)

            drop_removed_sessions(self._ws, self.removed)

    def _acquire_lease(self, waiter: LeaseWaiter | None = None) -> None:
        name = f"memory-md-{self._agent_id}"
        self._lease = self._leases.enter_context(acquire_lease(self._ws.documents.store, name, waiter=waiter))

    def __exit__(self, *_: object) -> None:
        self._leases.close()

    def publish(self) -> tuple[MemoryDocument, bool]:
        """Renders the window from the rows, this run's staged ones too, and replaces the file; what it shows, and
        whether that is new. Raises IndexAway while there are no rows to be had."""
        for _ in range(_MAX_ATTEMPTS):
            rendered = self._render()
            try:
                written = self._lease.write(naming.memory_md_path(self._agent_id), rendered.text.encode())
            except LeaseLost:
                self._leases.close()
                self._acquire_lease()
                continue
            self._ws.telemetry.mark(f"rendered {self._agent_id}", self._ws.now)
            return rendered, written
        raise LeaseLost(f"the lease of MEMORY.md was lost {_MAX_ATTEMPTS} times", hint="run `lineage render`")

    def _render(self) -> MemoryDocument:
        ledger = self._ws.index.load_ledger(self._agent_id, Window.from_end(self._ws.now))
        return render_agent_memory(self._ws, self._agent_id, ledger)


def index_and_publish(ws: Workspace, capture: QueuedCapture, build_rows: Callable[[], Sequence[ArtifactRow]]) -> None:
    """MEMORY.md shows the capture, then the index has its rows; nobody else sees these before.

    One render takes in all captures that wait for it: who has to wait for the lease says so, and returns as soon as
    somebody else's render has what it captured. `own` gives the capture's rows as the files are; the caller holds the
    session's mutex.
    """
    queue, tickets = ws.index.queue, list[int]()

    def is_taken(seconds: float) -> bool:
        if not tickets:
            tickets.append(queue.enqueue(capture))
        return queue.wait(tickets[0], seconds)

    try:
        with Publication(ws, capture.agent_id, waiter=is_taken) as publication:
            waiting = queue.peek(capture.agent_id, ws.now, _MAX_BATCH)
            others = {ticket: other for ticket, other in waiting if ticket not in tickets}
            found = _load_waiting_rows(ws, others, publication.removed)
            with ws.index.upsert_in_transaction([*itertools.chain.from_iterable(found.values()), *build_rows()]):
                publication.publish()
            queue.mark_done({*found, *tickets})
    except LeaseUnneeded:
        return
    queue.notify()


def _load_waiting_rows(
    ws: Workspace, others: Mapping[int, QueuedCapture], removed: Set[str]
) -> dict[int, list[ArtifactRow]]:
    """By ticket the rows of captures that other processes wait for, or died of waiting for. One that is damaged is left
    to its own process, which says so; a removed session has no rows."""
    paths = {ticket: () if other.token in removed else other.paths for ticket, other in others.items()}
    asked = sorted(set(itertools.chain.from_iterable(paths.values())))
    read = dict(zip(asked, map_concurrently(ws.documents.store, partial(_read_row, ws), asked), strict=True))
    found = {ticket: [read[path] for path in named] for ticket, named in paths.items()}
    whole = {ticket: rows for ticket, rows in found.items() if not any(isinstance(row, FormatError) for row in rows)}
    return {ticket: [row for row in rows if isinstance(row, ArtifactRow)] for ticket, rows in whole.items()}


def _read_row(ws: Workspace, path: str) -> ArtifactRow | FormatError | None:
    try:
        found = load_row(ws, path)
    except FormatError as error:
        return error
    return found[0] if found else None


def render_agent_memory(ws: Workspace, agent_id: str, ledger: Ledger) -> MemoryDocument:
    """MEMORY.md of an agent with this ledger, and the head that its books make now."""
    settings = ws.settings.ledger
    curated = _load_curated(ws, agent_id, ledger.tallies)
    return render_memory_md(ledger, curated, max_bytes=settings.max_bytes, row_style=settings.row_style)


def _load_curated(ws: Workspace, agent_id: str, tallies: Sequence[ProjectTally]) -> MemoryHead:
    """What is remembered for every session and for the agent, and the open tasks, those of active projects too."""
    knowledge = BookReader(ws, agent_id)
    scopes = (GLOBAL, f"agent/{agent_id}")
    knowledge.prefetch(BookRef(scope, kind) for scope in scopes for kind in (*_CURATED_KINDS, TASK))
    remembered = rank_entries(known for scope in scopes for known in knowledge.entries(scope, *_CURATED_KINDS))
    folders = set(
        map_concurrently(ws.documents.store, partial(resolve_project_folder, ws), list_active_projects(tallies))
    )
    projects = [f"project/{folder}" for folder in sorted(filter(None, folders))]
    knowledge.prefetch(BookRef(scope, TASK) for scope in projects)
    return MemoryHead(
        [_build_item(known, known.text) for known in remembered],
        [_build_item(known, text) for known, text in list_open_tasks(knowledge, (*scopes, *projects))],
    )


def _build_item(entry: BookEntry, text: str) -> MemoryItem:
    about = ", ".join(filter(None, (entry.ref.kind, to_date(entry.updated_at))))
    return MemoryItem(text, entry.entry.trust, about, entry.ref.path)


def publish_all(ws: Workspace) -> list[PublishResult]:
    """MEMORY.md of every agent that the index knows or that has one already, and of the default one; then the notes of
    the archive."""
    published = []
    for agent in sorted({*ws.index.list_agents(), *list_published_agents(ws), DEFAULT_AGENT}):
        with Publication(ws, agent) as publication:
            shown, written = publication.publish()
        future = ws.index.count_future_captures(agent, Window.from_end(ws.now))
        published.append(PublishResult(agent, written, shown.row_count, shown.window_count, future))
    from lineage.workspace.archive_notes import publish_archive_notes  # noqa: PLC0415  (a capture archives nothing)

    publish_archive_notes(ws)
    return published


def publish_or_mark_stale(ws: Workspace) -> None:
    """Publish after a change of books; mark the index stale if it is unavailable."""
    with tolerate_outage(ws, mark_stale=True):
        publish_all(ws)


def list_published_agents(ws: Workspace) -> set[str]:
    """The agents that have a MEMORY.md: one whose last session went has one still."""
    agents = {name for entry in ws.documents.store.list(naming.AGENTS) if (name := naming.parse_agent(entry.key))}
    if read_or_none(ws.documents.store, naming.memory_md_path(DEFAULT_AGENT)):
        agents.add(DEFAULT_AGENT)
    return agents
