"""MEMORY.md from the rows, under the lease. (spec: write ordering 7, concurrency 1)"""

import itertools
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from typing import NamedTuple

from lineage.core import naming
from lineage.core.book_paths import GLOBAL, BookRef
from lineage.core.entry import TASK
from lineage.core.identity import DEFAULT_AGENT
from lineage.core.ledger import Ledger, Tally
from lineage.core.times import day
from lineage.core.window import Window
from lineage.errors import FormatError, IndexAway
from lineage.index import Row, Waiting
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.projects import project_folder
from lineage.pipeline.knowledge.said import Knowledge, Known, ranked, tasks
from lineage.pipeline.reading import row_at
from lineage.projection import Curated, Item, Rendered, active_projects, render
from lineage.store import LeaseLost, LeaseUnneeded, Unless, lease, read_or_none, together

_MOST_ATTEMPTS = 20
_MOST_TAKEN_IN = 64
_REMEMBERED = ("preference", "decision", "note")


class Published(NamedTuple):
    """What MEMORY.md of one agent shows now. `future` captures claim a time after now and are left out."""

    agent_id: str
    written: bool
    kept: int
    total: int
    future: int


class Publication(AbstractContextManager["Publication"]):
    """The right to publish one agent's MEMORY.md. Where the lease passes on, it is taken and rendered again.

    Entering raises LeaseUnneeded where `unless`, which waits where it has to, says that it need not any more. Rows of a
    session that another machine has removed go first: whoever removes one from now on renders after this.
    """

    def __init__(self, house: House, agent_id: str, unless: Unless | None = None) -> None:
        self._house = house
        self._agent_id = agent_id
        self._unless = unless
        self._leases = ExitStack()
        self.removed: Set[str] = frozenset()

    def __enter__(self) -> "Publication":
        self._take_lease(self._unless)
        try:
            self._forget_removed()
        except BaseException:
            self._leases.close()
            raise
        return self

    def _forget_removed(self) -> None:
        self.removed = self._house.canon.tombstones.tokens()
        if self.removed:
            from lineage.pipeline.upkeep.forgetting import forget_removed  # noqa: PLC0415  (most sessions stay)

            forget_removed(self._house, self.removed)

    def _take_lease(self, unless: Unless | None = None) -> None:
        name = f"memory-md-{self._agent_id}"
        self._lease = self._leases.enter_context(lease(self._house.canon.store, name, unless=unless))

    def __exit__(self, *_: object) -> None:
        self._leases.close()

    def publish(self) -> tuple[Rendered, bool]:
        """Renders the window from the rows, this run's staged ones too, and replaces the file; what it shows, and
        whether that is new. Raises IndexAway while there are no rows to be had."""
        for _ in range(_MOST_ATTEMPTS):
            rendered = self._rendered()
            try:
                written = self._lease.put(naming.memory_md_path(self._agent_id), rendered.text.encode())
            except LeaseLost:
                self._leases.close()
                self._take_lease()
                continue
            self._house.telemetry.mark(f"rendered {self._agent_id}", self._house.now)
            return rendered, written
        raise LeaseLost(f"the lease of MEMORY.md was lost {_MOST_ATTEMPTS} times", hint="run `lineage render`")

    def _rendered(self) -> Rendered:
        ledger = self._house.index.ledger(self._agent_id, Window.ending(self._house.now))
        return rendered(self._house, self._agent_id, ledger)


def take_in(house: House, capture: Waiting, own: Callable[[], Sequence[Row]]) -> None:
    """MEMORY.md shows the capture, then the index has its rows; nobody else sees these before.

    One render takes in all captures that wait for it: who has to wait for the lease says so, and returns as soon as
    somebody else's render has what it captured. `own` gives the capture's rows as the files are; the caller holds the
    session's mutex.
    """
    queue, tickets = house.index.queue, list[int]()

    def is_taken(seconds: float) -> bool:
        if not tickets:
            tickets.append(queue.enlist(capture))
        return queue.wait(tickets[0], seconds)

    try:
        with Publication(house, capture.agent_id, unless=is_taken) as publication:
            waiting = queue.first(capture.agent_id, house.now, _MOST_TAKEN_IN)
            others = {ticket: other for ticket, other in waiting if ticket not in tickets}
            found = _rows_of(house, others, publication.removed)
            with house.index.staged([*itertools.chain.from_iterable(found.values()), *own()]):
                publication.publish()
            queue.take({*found, *tickets})
    except LeaseUnneeded:
        return
    queue.call()


def _rows_of(house: House, others: Mapping[int, Waiting], removed: Set[str]) -> dict[int, list[Row]]:
    """By ticket the rows of captures that other processes wait for, or died of waiting for. One that is damaged is left
    to its own process, which says so; a removed session has no rows."""
    paths = {ticket: () if other.token in removed else other.paths for ticket, other in others.items()}
    asked = sorted(set(itertools.chain.from_iterable(paths.values())))
    read = dict(zip(asked, together(house.canon.store, partial(_read_row, house), asked), strict=True))
    found = {ticket: [read[path] for path in named] for ticket, named in paths.items()}
    whole = {ticket: rows for ticket, rows in found.items() if not any(isinstance(row, FormatError) for row in rows)}
    return {ticket: [row for row in rows if isinstance(row, Row)] for ticket, rows in whole.items()}


def _read_row(house: House, path: str) -> Row | FormatError | None:
    try:
        found = row_at(house, path)
    except FormatError as error:
        return error
    return found[0] if found else None


def rendered(house: House, agent_id: str, ledger: Ledger) -> Rendered:
    """MEMORY.md of an agent with this ledger, and the head that its books make now."""
    settings = house.settings.ledger
    curated = _curated(house, agent_id, ledger.tallies)
    return render(ledger, curated, max_bytes=settings.max_bytes, row_style=settings.row_style)


def _curated(house: House, agent_id: str, tallies: Sequence[Tally]) -> Curated:
    """What is remembered for every session and for the agent, and the open tasks, those of active projects too."""
    knowledge = Knowledge(house, agent_id)
    scopes = (GLOBAL, f"agent/{agent_id}")
    knowledge.fetch(BookRef(scope, kind) for scope in scopes for kind in (*_REMEMBERED, TASK))
    remembered = ranked(known for scope in scopes for known in knowledge.said(scope, *_REMEMBERED))
    folders = set(together(house.canon.store, partial(project_folder, house), active_projects(tallies)))
    projects = [f"project/{folder}" for folder in sorted(filter(None, folders))]
    knowledge.fetch(BookRef(scope, TASK) for scope in projects)
    return Curated(
        [_item(known, known.text) for known in remembered],
        [_item(known, text) for known, text in tasks(knowledge, (*scopes, *projects))],
    )


def _item(known: Known, text: str) -> Item:
    about = ", ".join(filter(None, (known.ref.kind, day(known.at))))
    return Item(text, known.entry.trust, about, known.ref.path)


def publish_all(house: House) -> list[Published]:
    """MEMORY.md of every agent that the index knows or that has one already, and of the default one; then the notes of
    the archive."""
    published = []
    for agent in sorted({*house.index.agents(), *projected_agents(house), DEFAULT_AGENT}):
        with Publication(house, agent) as publication:
            shown, written = publication.publish()
        future = house.index.future(agent, Window.ending(house.now))
        published.append(Published(agent, written, shown.kept, shown.total, future))
    from lineage.pipeline.archive.notes import publish_archive  # noqa: PLC0415  (a capture archives nothing)

    publish_archive(house)
    return published


def publish_or_wait(house: House) -> None:
    """`publish_all` for whoever changed a book; while the index is away MEMORY.md waits with the rows."""
    try:
        publish_all(house)
    except IndexAway as error:
        from lineage.pipeline.behind import fall_behind  # noqa: PLC0415  (servers are there as a rule)

        fall_behind(house, error)


def projected_agents(house: House) -> set[str]:
    """The agents that have a MEMORY.md: one whose last session went has one still."""
    agents = {name for entry in house.canon.store.list(naming.AGENTS) if (name := naming.agent_of(entry.key))}
    if read_or_none(house.canon.store, naming.memory_md_path(DEFAULT_AGENT)):
        agents.add(DEFAULT_AGENT)
    return agents
