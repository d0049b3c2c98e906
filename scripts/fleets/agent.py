"""One agent's process. Its clock is wrong by what its machine's is, and ticks on from the fleet's beginning.

python -m fleets.agent DO PLACE     ends and removes what is its share, from where the last process came to
python -m fleets.agent SETTLE PLACE finishes what is unfinished on the machine
python -m fleets.agent VIEW PLACE   notes what the machine sees
"""

import hashlib
import json
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from loads.sessions import AGENT, NOON, End, request_of

from fleets.plan import END, END_AGAIN, Fleet, Task
from lineage.app import open_house, workspace_root
from lineage.core import naming
from lineage.core.identity import session_token
from lineage.core.times import shifted
from lineage.errors import IndexAway, LineageError, NotFoundError, RemovedError
from lineage.pipeline.behind import marks
from lineage.pipeline.house import REFUSED, House
from lineage.pipeline.upkeep.reindexing import ensure_indexed
from lineage.pipeline.upkeep.removal import remove
from lineage.pipeline.upkeep.resuming import resume, run
from lineage.store import StoreAway, lease, read_or_none

DO, SETTLE, VIEW = "do", "settle", "view"
REMOVED, WAITING = "removed", ", its rows wait"
_MOST_ATTEMPTS = 20
_PAUSE = 0.25
_EVERYTHING = 1_000_000
_SEARCHED = ("reader", "loop ends early", "tests pass")


@dataclass(frozen=True)
class Place:
    """Where an agent works: its number on the machine, the machine's number and home, the bucket, and when the fleet
    began by the real clock."""

    fleet: Fleet
    machine: int
    agent: int
    home: str
    url: str
    began: float

    @property
    def journal(self) -> Path:
        """A line for each task that is done: how it came out."""
        return Path(self.home, f"journal-{self.agent}")

    @property
    def troubles(self) -> Path:
        """A line for each attempt that failed: why."""
        return Path(self.home, f"troubles-{self.agent}")

    @property
    def view(self) -> Path:
        return Path(self.home, "view.json")

    @property
    def now(self) -> str:
        elapsed = int((time.time() - self.began) * 1000)
        return shifted(NOON, milliseconds=self.fleet.drift(self.machine) + elapsed)

    def as_text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, text: str) -> "Place":
        found = json.loads(text)
        return cls(**{**found, "fleet": Fleet(**found["fleet"])})


class Worker:
    """An opened workspace, opened again when a server was away: one that found it away doesn't ask it again."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._house: House | None = None

    def house(self) -> House:
        """The workspace at this time, with an index that is as far as the files where that can be had."""
        if self._house is None or marks(self._house.canon):
            self.close()
            self._house = open_house(workspace_root(self._place.url), create=True)._replace(now=self._place.now)
            with suppress(IndexAway):
                ensure_indexed(self._house)
        return self._house._replace(now=self._place.now)

    def close(self) -> None:
        if self._house:
            self._house.close()
            self._house = None

    def persevere(self, task: Callable[[House], str]) -> str:
        """What comes of a task, tried again while servers are away, and a few times after any other error."""
        attempts = 0
        while True:
            try:
                return task(self.house())
            except LineageError as error:
                attempts += not isinstance(error, StoreAway | IndexAway)
                self._note(error)
                self.close()
                if attempts >= _MOST_ATTEMPTS:
                    return f"error: {error.message}"
            time.sleep(_PAUSE)

    def _note(self, error: LineageError) -> None:
        with self._place.troubles.open("a") as file:
            file.write(f"{type(error).__name__}: {error.message}\n")


def main(mode: str, place: Place) -> None:
    _be_another_machine(place)
    worker = Worker(place)
    try:
        {DO: _work, SETTLE: _settle, VIEW: _look}[mode](place, worker)
    finally:
        worker.close()


def _be_another_machine(place: Place) -> None:
    """All machines of a fleet are processes of one: none may tell from here whether another's process is alive."""
    name = f"machine-{place.machine}"
    sys.modules[lease.__module__].__dict__["machine"] = lambda: name


def _work(place: Place, worker: Worker) -> None:
    done = len(place.journal.read_text().splitlines()) if place.journal.exists() else 0
    for task in place.fleet.tasks(place.machine, place.agent)[done:]:
        came_out = worker.persevere(lambda house, task=task: _done(house, task))  # type: ignore[misc]
        with place.journal.open("a") as file:
            file.write(f"{came_out}\n")


def _done(house: House, task: Task) -> str:
    tombstone = naming.tombstone_path(session_token(AGENT, task.session_id))
    while task.what == END_AGAIN and read_or_none(house.canon.store, tombstone) is None:
        time.sleep(_PAUSE)
    if task.what in (END, END_AGAIN):
        try:
            outcome = run(house, request_of(End(task.session_id, house.now)))
            return outcome.status + (WAITING if marks(house.canon) else "")
        except RemovedError:
            return REFUSED
    resume(house)
    if read_or_none(house.canon.store, tombstone):
        return REMOVED
    with suppress(NotFoundError):
        remove(house, task.session_id, reason="the fleet removes it")
        return REMOVED
    return "error: a session that was captured is not found"


def _settle(_: Place, worker: Worker) -> None:
    def settled(house: House) -> str:
        waiting = resume(house, wait=True).waiting
        if waiting or house.canon.spool.pending():
            raise LineageError(f"unfinished: {waiting}")
        return ""

    worker.persevere(settled)


def _look(place: Place, worker: Worker) -> None:
    place.view.write_text(json.dumps(view_of(worker.house()), sort_keys=True))


def view_of(house: House) -> dict[str, Any]:
    """What somebody sees here: the sessions, how many rows there are, what searches find, and MEMORY.md."""
    blob = read_or_none(house.canon.store, naming.memory_md_path(AGENT))
    found = {query: house.index.search(query, AGENT, limit=20) for query in _SEARCHED}
    return {
        "sessions": [row.session_id for row in house.index.sessions(AGENT, limit=_EVERYTHING)],
        "rows": house.index.counts(),
        "found": {query: [hit.session_id for hit in hits] for query, hits in found.items()},
        "memory_md": hashlib.sha256(blob.data).hexdigest() if blob else None,
        "unfinished": len(house.canon.spool.pending()) + len(marks(house.canon)),
    }


if __name__ == "__main__":
    main(sys.argv[1], Place.of(sys.argv[2]))
