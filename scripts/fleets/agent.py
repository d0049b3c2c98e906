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
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from loads.sessions import AGENT, NOON, End, request_of

from fleets.plan import END, END_AGAIN, Fleet, Task
from lineage.app.locations import resolve_workspace_root
from lineage.app.workspace import open_workspace
from lineage.core.base import naming
from lineage.core.base.naming import derive_session_token
from lineage.core.base.times import shift_time
from lineage.errors import IndexUnavailable, LineageError, NotFoundError, RemovedError
from lineage.pipeline.capture.session import REFUSED
from lineage.pipeline.maintenance.finish_pending import finish_pending, run_capture
from lineage.pipeline.maintenance.reindex import ensure_indexed
from lineage.pipeline.maintenance.remove import remove
from lineage.store import StoreUnavailable, acquire_lease, read_or_none
from lineage.workspace.workspace import Workspace, list_stale_marks

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
        return shift_time(NOON, milliseconds=self.fleet.drift(self.machine) + elapsed)

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
        self._ws: Workspace | None = None

    def ws(self) -> Workspace:
        """The workspace at this time, with an index that is as far as the files where that can be had."""
        if self._ws is None or list_stale_marks(self._ws.documents):
            self.close()
            self._ws = replace(
                open_workspace(resolve_workspace_root(self._place.url), create=True), now=self._place.now
            )
            with suppress(IndexUnavailable):
                ensure_indexed(self._ws)
        return replace(self._ws, now=self._place.now)

    def close(self) -> None:
        if self._ws:
            self._ws.close()
            self._ws = None

    def persevere(self, task: Callable[[Workspace], str]) -> str:
        """What comes of a task, tried again while servers are away, and a few times after any other error."""
        attempts = 0
        while True:
            try:
                return task(self.ws())
            except LineageError as error:
                attempts += not isinstance(error, StoreUnavailable | IndexUnavailable)
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
    sys.modules[acquire_lease.__module__].__dict__["machine"] = lambda: name


def _work(place: Place, worker: Worker) -> None:
    done = len(place.journal.read_text().splitlines()) if place.journal.exists() else 0
    for task in place.fleet.tasks(place.machine, place.agent)[done:]:
        came_out = worker.persevere(lambda ws, task=task: _done(ws, task))  # type: ignore[misc]
        with place.journal.open("a") as file:
            file.write(f"{came_out}\n")


def _done(ws: Workspace, task: Task) -> str:
    tombstone = naming.tombstone_path(derive_session_token(AGENT, task.session_id))
    while task.what == END_AGAIN and read_or_none(ws.documents.store, tombstone) is None:
        time.sleep(_PAUSE)
    if task.what in (END, END_AGAIN):
        try:
            outcome = run_capture(ws, request_of(End(task.session_id, ws.now)))
            return outcome.status + (WAITING if list_stale_marks(ws.documents) else "")
        except RemovedError:
            return REFUSED
    finish_pending(ws)
    if read_or_none(ws.documents.store, tombstone):
        return REMOVED
    with suppress(NotFoundError):
        remove(ws, task.session_id, reason="the fleet removes it")
        return REMOVED
    return "error: a session that was captured is not found"


def _settle(_: Place, worker: Worker) -> None:
    def settled(ws: Workspace) -> str:
        waiting = finish_pending(ws, wait=True).waiting
        if waiting or ws.documents.spool.list_pending():
            raise LineageError(f"unfinished: {waiting}")
        return ""

    worker.persevere(settled)


def _look(place: Place, worker: Worker) -> None:
    place.view.write_text(json.dumps(view_of(worker.ws()), sort_keys=True))


def view_of(ws: Workspace) -> dict[str, Any]:
    """What somebody sees here: the sessions, how many rows there are, what searches find, and MEMORY.md."""
    blob = read_or_none(ws.documents.store, naming.memory_md_path(AGENT))
    found = {query: ws.index.search(query, AGENT, limit=20) for query in _SEARCHED}
    return {
        "sessions": [row.session_id for row in ws.index.list_sessions(AGENT, limit=_EVERYTHING)],
        "rows": ws.index.count_by_kind(),
        "found": {query: [hit.session_id for hit in hits] for query, hits in found.items()},
        "memory_md": hashlib.sha256(blob.data).hexdigest() if blob else None,
        "unfinished": len(ws.documents.spool.list_pending()) + len(list_stale_marks(ws.documents)),
    }


if __name__ == "__main__":
    main(sys.argv[1], Place.of(sys.argv[2]))
