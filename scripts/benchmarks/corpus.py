"""A generated workspace, seeded, of realistic sizes: made once a day, kept in a cache, measured on as a copy."""

import functools
import hashlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import transcripts, written
from benchmarks.rows import passage_rows
from benchmarks.words import Prose
from lineage.app import clock
from lineage.app.locations import STATE_FOLDER
from lineage.app.workspace import open_workspace
from lineage.core.base import naming
from lineage.core.capture.request import SESSION_END, Request, parse_request
from lineage.core.format.documents import serialize_document
from lineage.index import ArtifactRow, SqliteIndex, schema
from lineage.pipeline.maintenance.reindex import sync_rows
from lineage.workspace.publish import publish_all
from lineage.workspace.workspace import Workspace

TRANSCRIPT_BYTES = 2_000_000
SEED = 8

_WORKSPACE = "workspace"
_SAMPLED_AT, _SAMPLED_BYTES = "2026-11-20T00:00:00.000Z", 20_000


@dataclass(frozen=True, slots=True)
class Corpus:
    """A folder with a workspace of about so many artifacts and a transcript that nobody has captured yet. `smaller`
    are the corpora of the same run before it, smallest first: what a cost grows from."""

    folder: Path
    artifacts: int = 0
    smaller: tuple["Corpus", ...] = ()

    @property
    def workspace(self) -> Path:
        return self.folder / _WORKSPACE

    @property
    def memory(self) -> Path:
        return self.workspace / naming.MEMORY

    @property
    def index(self) -> Path:
        return self.workspace / STATE_FOLDER / "index.db"

    @property
    def transcript(self) -> Path:
        return self.folder / "session.jsonl"

    def scratch(self, name: str) -> Path:
        """A folder outside of the workspace, for a floor's own files."""
        path = self.folder / name
        path.mkdir(exist_ok=True)
        return path

    @contextmanager
    def opened(self) -> Iterator[Workspace]:
        ws = open_workspace(self.workspace)
        try:
            yield ws
        finally:
            ws.close()

    def end_request(self, ws: Workspace) -> Request:
        """The end of a session that has never been captured, with the transcript of 2 MB."""
        payload = {
            "harness": "claude-code",
            "session_id": f"bench-{ws.new_id()}",
            "transcript_path": str(self.transcript),
        }
        return parse_request(SESSION_END, payload, agent_id=None, now=ws.now)


@contextmanager
def copied(artifacts: int, smaller: tuple[Corpus, ...] = (), *, seed: int = SEED) -> Iterator[Corpus]:
    """A corpus that may be written to: its artifacts are links to the kept ones, everything else is a copy."""
    kept = _kept(artifacts, seed)
    with tempfile.TemporaryDirectory(prefix="lineage-bench-") as folder:
        corpus = Corpus(Path(folder), artifacts, smaller)
        shutil.copytree(kept.workspace, corpus.workspace, copy_function=_linked_or_copied)
        shutil.copyfile(kept.transcript, corpus.transcript)
        yield corpus


def cache() -> Path:
    """Where corpora are kept: a folder of this user's own under the system's for temporary files."""
    folder = Path(tempfile.gettempdir(), f"lineage-corpora-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to somebody else")
    return folder


@contextmanager
def kept_index(name: str, batches: Callable[[], Iterable[Sequence[ArtifactRow]]]) -> Iterator[SqliteIndex]:
    """An index of rows that have no files, to be read only: made where it is not in the cache, for today."""
    path = cache() / f"{name}-{clock.now()[:10]}-{_fingerprint_of_rows()}" / "index.db"
    with closing(SqliteIndex(path)) as index:
        if index.needs_reindex:
            index.reset()
            for batch in batches():
                index.upsert(batch)
            index.mark_complete()
        yield index


def clean() -> None:
    """Removes every kept corpus."""
    shutil.rmtree(cache())


def generate(folder: Path, artifacts: int, *, seed: int = SEED, jobs: int | None = None, latest: str = "") -> Corpus:
    """A workspace with about so many files in `memory/`, indexed and rendered, and a transcript beside it. The same
    seed and `latest` give the same files, in however many processes; without it the last midnight is taken."""
    corpus = Corpus(folder, artifacts)
    sessions = max(1, artifacts // written.A_SESSION)
    written.write(corpus.workspace, sessions, seed, latest or midnight(), jobs or os.cpu_count() or 1)
    transcripts.write(corpus.transcript, TRANSCRIPT_BYTES, Prose(seed), latest or midnight())
    with corpus.opened() as ws:
        sync_rows(ws, confirmed=True)
        publish_all(ws)
    return corpus


def midnight() -> str:
    """When today began: the time that no generated session ends after."""
    return f"{clock.now()[:10]}T00:00:00.000Z"


@functools.cache
def fingerprint() -> str:
    """Of a sample of the files that are made: another generator makes other files."""
    with tempfile.NamedTemporaryFile() as file:
        transcripts.write(Path(file.name), _SAMPLED_BYTES, Prose(SEED), _SAMPLED_AT)
        files = [serialize_document(document) for document in written.documents(SEED, 0, _SAMPLED_AT)]
        return _digest(file.read(), files)


@functools.cache
def _fingerprint_of_rows() -> str:
    """Of the index and a sample of the rows that are made without files."""
    return _digest(_form_of_new(), next(passage_rows(_SAMPLED_AT, 1, 1, SEED)))


def _digest(*made: object) -> str:
    return hashlib.sha256(repr(made).encode()).hexdigest()[:8]


def _kept(artifacts: int, seed: int) -> Corpus:
    """The corpus in the cache, made where it is not there; those of other days have another window and go."""
    name = f"seed-{seed}-artifacts-{artifacts}"
    corpus = Corpus(cache() / f"{name}-{clock.now()[:10]}-{fingerprint()}", artifacts)
    if not corpus.folder.is_dir():
        for old in cache().glob(f"{name}-*"):
            shutil.rmtree(old)
        making = Path(tempfile.mkdtemp(prefix="making-", dir=cache()))
        try:
            generate(making, artifacts, seed=seed)
            making.rename(corpus.folder)
        finally:
            shutil.rmtree(making, ignore_errors=True)
    elif not _has_this_schema(corpus.index):
        with corpus.opened() as ws:
            ws.index.reset()
            sync_rows(ws, confirmed=True)
    return corpus


def _has_this_schema(index: Path) -> bool:
    """Whether an index was made by this schema, and to its end: another one is made again, without the files."""
    with closing(sqlite3.connect(index)) as connection:
        return _form_of(connection) == _form_of_new()


def _form_of_new() -> list[object]:
    with closing(sqlite3.connect(":memory:")) as connection:
        schema.create_tables(connection)
        schema.mark_complete(connection)
        return _form_of(connection)


def _form_of(connection: sqlite3.Connection) -> list[object]:
    tables = connection.execute("select sql from sqlite_master order by name").fetchall()
    return [schema.read_version(connection), schema.is_complete(connection), tables]


def _linked_or_copied(source: str, target: str) -> None:
    """A link where the file is one that is never written to again."""
    if f"/{naming.MEMORY}" in source:
        os.link(source, target)
    else:
        shutil.copy2(source, target)
