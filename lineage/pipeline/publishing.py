"""MEMORY.md from the rows, under the lease. (spec: write ordering 7, concurrency 1)"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass

from lineage.core import naming
from lineage.core.book_paths import GLOBAL
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
from lineage.projection import Curated, Item, Rendered, active_projects, publish, render
from lineage.store import LeaseLost, LeaseUnneeded, lease, read_or_none

_MOST_ATTEMPTS = 20
_MOST_TAKEN_IN = 64
_REMEMBERED = ("preference", "decision", "note")


@dataclass(frozen=True, slots=True)
class Published:
    """What MEMORY.md of one agent shows now. `future` captures claim a time after now and are left out."""

    agent_id: str
    written: bool
    kept: int
    total: int
    future: int


class Publication(AbstractContextManager["Publication"]):
    """The right to publish one agent's MEMORY.md. Where the lease passes on, it is taken and rendered again.

    Entering raises LeaseUnneeded where `unless`, which is asked while it has to wait, says that it need not any more.
    """

    def __init__(self, house: House, agent_id: str, unless: Callable[[], bool] | None = None) -> None:
        self._house = house
        self._agent_id = agent_id
        self._unless = unless
        self._leases = ExitStack()

    def __enter__(self) -> "Publication":
        self._take_lease(self._unless)
        return self

    def _take_lease(self, unless: Callable[[], bool] | None = None) -> None:
        name = f"memory-md-{self._agent_id}"
        self._lease = self._leases.enter_context(lease(self._house.canon.store, name, unless=unless))

    def __exit__(self, *_: object) -> None:
        self._leases.close()

    def publish(self) -> Published:
        """Renders the window from the rows, this run's staged ones too, and replaces the file. Raises IndexAway while
        there are no rows to be had."""
        for _ in range(_MOST_ATTEMPTS):
            rendered = self._rendered()
            try:
                written = publish(self._house.canon.store, self._lease, self._agent_id, rendered.text)
            except LeaseLost:
                self._leases.close()
                self._take_lease()
                continue
            self._house.telemetry.mark(f"rendered {self._agent_id}", self._house.now)
            future = self._house.index.future(self._agent_id, self._window())
            return Published(self._agent_id, written, rendered.kept, rendered.total, future)
        raise LeaseLost(f"the lease of MEMORY.md was lost {_MOST_ATTEMPTS} times", hint="run `lineage render`")

    def _rendered(self) -> Rendered:
        return rendered(self._house, self._agent_id, self._house.index.ledger(self._agent_id, self._window()))

    def _window(self) -> Window:
        return Window.ending(self._house.now)


def take_in(house: House, capture: Waiting, own: Callable[[], Sequence[Row]]) -> None:
    """MEMORY.md shows the capture, then the index has its rows; nobody else sees these before.

    One render takes in all captures that wait for it: who has to wait for the lease says so, and returns as soon as
    somebody else's render has what it captured. `own` gives the capture's rows as the files are; the caller holds the
    session's mutex.
    """
    queue, tickets = house.index.queue, list[int]()

    def is_taken() -> bool:
        if not tickets:
            tickets.append(queue.enlist(capture))
        return queue.is_taken(tickets[0])

    try:
        with Publication(house, capture.agent_id, unless=is_taken) as publication:
            waiting = queue.first(capture.agent_id, house.now, _MOST_TAKEN_IN)
            rows = {row.source_path: row for row in own()}
            taken = {ticket for ticket, other in waiting if ticket in tickets or _add_rows(house, other, rows)}
            with house.index.staged(rows.values()):
                publication.publish()
            queue.take(taken.union(tickets))
    except LeaseUnneeded:
        return


def _add_rows(house: House, other: Waiting, rows: dict[str, Row]) -> bool:
    """Adds the rows of a capture that another process waits for, or died of waiting for; whether it is taken in. One
    that is damaged is left to its own process, which says so; a removed session has no rows."""
    if house.canon.tombstones.has(other.token):
        return True
    try:
        found = [row_at(house, path) for path in other.paths]
    except FormatError:
        return False
    rows.update({row.source_path: row for row, _ in filter(None, found)})
    return True


def rendered(house: House, agent_id: str, ledger: Ledger) -> Rendered:
    """MEMORY.md of an agent with this ledger, and the head that its books make now."""
    settings = house.settings.ledger
    curated = _curated(house, agent_id, ledger.tallies)
    return render(ledger, curated, max_bytes=settings.max_bytes, row_style=settings.row_style)


def _curated(house: House, agent_id: str, tallies: Sequence[Tally]) -> Curated:
    """What is remembered for every session and for the agent, and the open tasks, those of active projects too."""
    knowledge = Knowledge(house, agent_id)
    scopes = (GLOBAL, f"agent/{agent_id}")
    remembered = ranked(known for scope in scopes for known in knowledge.said(scope, *_REMEMBERED))
    folders = {project_folder(house, path) for path in active_projects(tallies)}
    projects = [f"project/{folder}" for folder in sorted(filter(None, folders))]
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
            published.append(publication.publish())
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
