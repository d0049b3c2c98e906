"""Counted work: a store that notes what is read and written, and the plan of a floor made of it."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.corpus import Corpus
from lineage.app.locations import STATE_FOLDER
from lineage.core.base import naming
from lineage.core.search.index_sql import MAX_PASSAGES
from lineage.documents import Documents
from lineage.pipeline.capture.session_end import capture_session
from lineage.store import Blob, BlobStream, Data, LocalStore, iter_chunks
from lineage.workspace.workspace import Workspace


@dataclass(slots=True)
class Log:
    """What a use case did, in order: (`read`, path), (`write`, bytes) and (`delete`, empty)."""

    steps: list[tuple[str, str]] = field(default_factory=list)

    def count(self, verb: str) -> int:
        return sum(done == verb for done, _ in self.steps)

    @property
    def bodies(self) -> int:
        """How many artifacts and manifests were read."""
        paths = (Path(value) for verb, value in self.steps if verb == "read")
        return sum(naming.parse_path(f"{naming.MEMORY}{path.name}") is not None for path in paths)


class RecordingStore(LocalStore):
    """A local store that notes every whole read and durable write."""

    def __init__(self, root: Path, log: Log, *, locks: Path | None = None, private: bool = False) -> None:
        super().__init__(root, locks=locks, private=private)
        self._log = log

    def create(self, key: str, data: Data, *, frozen: bool = False) -> str:
        version = super().create(key, data, frozen=frozen)
        self._log.steps.append(("write", str(sum(map(len, iter_chunks(data))))))
        return version

    def read(self, key: str) -> Blob:
        blob = super().read(key)
        self._log.steps.append(("read", str(self.root / key)))
        return blob

    @contextmanager
    def open(self, key: str) -> Iterator[BlobStream]:
        with super().open(key) as found:
            self._log.steps.append(("read", str(self.root / key)))
            yield found

    def replace(self, key: str, data: bytes, version: str, *, frozen: bool = False) -> str:
        replaced = super().replace(key, data, version, frozen=frozen)
        self._log.steps.append(("write", str(len(data))))
        return replaced

    def delete(self, key: str) -> None:
        super().delete(key)
        self._log.steps.append(("delete", ""))


def recorded(ws: Workspace, corpus: Corpus) -> tuple[Workspace, Log]:
    """The same workspace over stores that note what they do."""
    log, state = Log(), corpus.workspace / STATE_FOLDER
    store = RecordingStore(corpus.workspace, log)
    private = RecordingStore(state, log, locks=state / "locks", private=True)
    return replace(ws, documents=Documents(store, private)), log


def capture_plan(ws: Workspace, corpus: Corpus, folder: Path) -> Log:
    """Captures once and writes what was done as a plan for `plain_capture`."""
    watched, log = recorded(ws, corpus)
    outcome = capture_session(watched, corpus.end_request(ws))
    steps = [f"read {corpus.transcript}"]
    steps += [" ".join(step) for step in log.steps if step[0] != "read" or Path(step[1]).exists()]
    (folder / "steps").write_text("\n".join(steps), encoding="utf-8")
    with closing(sqlite3.connect(corpus.index)) as connection:
        connection.execute("pragma wal_checkpoint(truncate)")
        sql = "select body from search join artifacts a on search.rowid between a.id * ?2 and (a.id + 1) * ?2 - 1"
        rows = connection.execute(
            f"{sql} where source_path = ?1 order by search.rowid", (outcome.transcript_path, MAX_PASSAGES)
        )
        text = "\n".join(body for (body,) in rows)
    (folder / "text").write_text(text, encoding="utf-8")
    shutil.copyfile(corpus.index, folder / "index.db")
    return log
