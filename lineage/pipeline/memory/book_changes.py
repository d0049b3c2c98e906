"""A change of books as one: staged in memory, spooled as a job, then merged into the files (format: Books).

A command that is cut off behind its job is finished by the next run of anything; before it, nothing has happened.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import partial
from typing import TypeVar

from lineage.core.base.book_paths import PENDING, BookRef, parse_book_path
from lineage.core.base.naming import DEFAULT_AGENT, derive_session_token
from lineage.core.format.job import BOOKS, Job
from lineage.documents import Documents
from lineage.pipeline.memory.prepared_contexts import refresh_contexts
from lineage.pipeline.memory.session_entries import remove_session
from lineage.store import Blob, ExistsError, MissingError, Store, StoredKey, read_or_none
from lineage.store.memory import MemoryStore
from lineage.store.overlay import OverlayStore
from lineage.workspace.book_index import index_books
from lineage.workspace.publish import publish_or_mark_stale
from lineage.workspace.removed_sessions import scrub_databases
from lineage.workspace.workspace import Workspace, tolerate_outage

Result = TypeVar("Result")
_Text = str | None


class _Snapshot(Store):
    """A store of which each key is read once: what a change began from is what it is merged against."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.blobs: dict[str, Blob | None] = {}

    @property
    def is_remote(self) -> bool:
        return self._store.is_remote

    def read(self, key: str) -> Blob:
        if key not in self.blobs:
            self.blobs[key] = read_or_none(self._store, key)
        if blob := self.blobs[key]:
            return blob
        raise MissingError(f"{key} does not exist")

    def list(self, prefix: str, after: str = "") -> Iterator[StoredKey]:
        return self._store.list(prefix, after)

    def lock(self, name: str, *, wait: bool = True) -> AbstractContextManager[None]:
        return self._store.lock(name, wait=wait)

    def create(self, *_: object, **__: object) -> str:
        raise NotImplementedError

    replace = delete = create  # type: ignore[assignment]  # nothing is written behind an overlay


def change_books(
    ws: Workspace, change: Callable[[Workspace], Result], *, scrub: bool = False, folder: str | None = None
) -> Result:
    """Let `change` edit books of a staged workspace, then write all of it, index it and publish; return its result.

    The next session is told of it; `folder` is that of a project that may have no session yet. With `scrub` no copy of
    removed text is left in the databases.
    """
    result, writes = stage_change(ws, change)
    if writes or scrub:
        told = ws.documents.context_cache.list_names()  # a scrub deletes them
        payload = {"writes": writes, "scrub": scrub}
        token = derive_session_token(DEFAULT_AGENT, json.dumps(payload))
        job = Job(BOOKS, token, ws.now, "", "", payload)
        # The lock of a session's jobs: another process leaves them to whoever holds it.
        with ws.documents.store.lock(f"session-{token[:2]}"):
            ws.documents.spool.put(job)
            finish_book_change(ws, job)
        shelves = {ref.shelf for key in writes if (ref := parse_book_path(key))}
        if scrub or shelves - {PENDING}:
            refresh_contexts(ws, told, folder)
    return result


def stage_change(ws: Workspace, change: Callable[[Workspace], Result]) -> tuple[Result, dict[str, tuple[_Text, _Text]]]:
    """Let `change` edit books of a staged workspace. Return its result, and the texts before and after by key."""
    snapshot, front = _Snapshot(ws.documents.base), MemoryStore()
    staged = Documents(OverlayStore(front, snapshot), ws.documents.spool.store, ws.documents.books.find_cap)
    result = change(replace(ws, documents=staged))
    writes: dict[str, tuple[_Text, _Text]] = {}
    for entry in front.list(""):
        before, after = snapshot.blobs.get(entry.key), front.read(entry.key)
        if before is None or before.data != after.data:
            writes[entry.key] = (_decode(before.data) if before else None, _decode(after.data))
    return result, writes


def finish_book_change(ws: Workspace, job: Job) -> None:
    """Write the books of a job, unless they are there already, index and publish. The caller holds the job's lock."""
    removed, refs = ws.documents.tombstones.list_tokens(), []
    for key, (before, after) in job.payload["writes"].items():
        known, data = _encode(before), _encode(after) or b""
        if ref := parse_book_path(key):
            refs.append(ref)
            ws.documents.books.merge_edit(ref, known, data)
            for token in removed:
                if token.encode() in data:  # a session that was removed since the job was written
                    edit = partial(remove_session, token=token)
                    ws.documents.books.update(ref.scope, ref.kind, edit, ref.shelf)
        else:
            with suppress(ExistsError):  # the note that claims a project's folder
                ws.documents.base.create(key, data)
    publish_books(ws, refs)
    if job.payload["scrub"]:
        ws.documents.context_cache.clear()
        with tolerate_outage(ws, mark_stale=True):
            scrub_databases(ws)
    ws.documents.spool.clear(job)


def publish_books(ws: Workspace, refs: Iterable[BookRef]) -> None:
    """Index changed books, then publish MEMORY.md."""
    index_books(ws, refs)
    publish_or_mark_stale(ws)


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _encode(text: _Text) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogateescape")
