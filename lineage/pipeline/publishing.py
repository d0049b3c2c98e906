"""MEMORY.md from the rows, under the lease. (spec: write ordering 7, concurrency 1)"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass

from lineage.core import naming
from lineage.core.book_paths import GLOBAL
from lineage.core.identity import DEFAULT_AGENT
from lineage.core.ledger import Ledger, Tally
from lineage.core.times import day
from lineage.core.window import Window
from lineage.errors import IndexAway
from lineage.pipeline.archive.notes import publish_archive
from lineage.pipeline.behind import fall_behind
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.projects import project_folder
from lineage.pipeline.knowledge.said import Knowledge, Known, ranked, tasks
from lineage.projection import Curated, Item, Rendered, active_projects, publish, render
from lineage.store import LeaseLost, lease, read_or_none

_MOST_ATTEMPTS = 20
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
    """The right to publish one agent's MEMORY.md. Where the lease passes on, it is taken and rendered again."""

    def __init__(self, house: House, agent_id: str) -> None:
        self._house = house
        self._agent_id = agent_id
        self._leases = ExitStack()

    def __enter__(self) -> "Publication":
        self._lease = self._leases.enter_context(lease(self._house.canon.store, f"memory-md-{self._agent_id}"))
        return self

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
                self.__enter__()
                continue
            self._house.telemetry.mark(f"rendered {self._agent_id}", self._house.now)
            future = self._house.index.future(self._agent_id, self._window())
            return Published(self._agent_id, written, rendered.kept, rendered.total, future)
        raise LeaseLost(f"the lease of MEMORY.md was lost {_MOST_ATTEMPTS} times", hint="run `lineage render`")

    def _rendered(self) -> Rendered:
        return rendered(self._house, self._agent_id, self._house.index.ledger(self._agent_id, self._window()))

    def _window(self) -> Window:
        return Window.ending(self._house.now)


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
    publish_archive(house)
    return published


def publish_or_wait(house: House) -> None:
    """`publish_all` for whoever changed a book; while the index is away MEMORY.md waits with the rows."""
    try:
        publish_all(house)
    except IndexAway as error:
        fall_behind(house, error)


def projected_agents(house: House) -> set[str]:
    """The agents that have a MEMORY.md: one whose last session went has one still."""
    agents = {name for entry in house.canon.store.list(naming.AGENTS) if (name := naming.agent_of(entry.key))}
    if read_or_none(house.canon.store, naming.memory_md_path(DEFAULT_AGENT)):
        agents.add(DEFAULT_AGENT)
    return agents
