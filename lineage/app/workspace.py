"""Opening a workspace and running use cases in it."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import fields
from functools import cache, partial
from itertools import product
from pathlib import Path
from shutil import copyfile, disk_usage
from tempfile import TemporaryDirectory
from typing import TypeVar

from lineage.app import clock, locations
from lineage.app.databases import INDEX_FILE, TELEMETRY_FILE, open_databases
from lineage.app.log import LOGGER
from lineage.app.models import build_embedding, build_model
from lineage.app.redaction import load_rules
from lineage.config import Settings
from lineage.config.machine import MachineSettings
from lineage.config.workspace import SanitizerSettings
from lineage.core.books.book_edits import find_cap
from lineage.core.sanitizer import Ruleset
from lineage.database.sqlite import delete_database
from lineage.documents import Documents
from lineage.errors import DatabaseDamaged, DiskFull, LineageError, WorkspaceError
from lineage.store import Store
from lineage.store.memory import MemoryStore
from lineage.store.overlay import OverlayStore
from lineage.workspace.removed_sessions import drop_removed_sessions, finish_scrub
from lineage.workspace.workspace import Workspace, list_stale_marks, tolerate_outage

Result = TypeVar("Result")

_SCRATCH_FOLDERS = (os.environ.get("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm")


def run_in_workspace(
    root: Path,
    use_case: Callable[[Workspace], Result],
    *,
    create: bool = False,
    writes: bool = False,
    needs_index: bool = True,
    in_place: bool = False,
    frees_space: bool = False,
) -> Result:
    """Open the workspace, run a use case in it and return its result.

    `create` makes a missing workspace: no command does that for a typed folder. `needs_index` fills a missing index.
    With `writes`, unfinished jobs in the spool run first. If the index turns out to be damaged, it is reset and the use
    case runs a second time: every use case must be repeatable. One that reads, or that failed, also runs again if the
    workspace's first archive appeared meanwhile. Raises WorkspaceError for a missing workspace.

    If nothing can be written (another user's workspace, a mounted backup, a full disk) a use case that only reads
    gets a copy of the index, or one built for it, in a temporary folder; `in_place` says that it doesn't only read. One
    that frees space gets a new index there if the disk is full: the workspace's own gives its space away.
    """
    is_reading = not (create or writes or in_place)
    run = partial(_run_in_open_workspace, root, use_case, create=create, needs_index=needs_index)
    if not is_reading or locations.is_writable(root):
        try:
            return run(writes=writes)
        except DiskFull:
            if not (is_reading or frees_space):
                raise
        except WorkspaceError as error:
            if is_reading or locations.is_writable(root):
                raise
            raise locations.describe_unwritable(root, error) from error
    if not is_reading:
        delete_database(root / locations.STATE_FOLDER / INDEX_FILE)
    LOGGER.debug("nothing can be written there: a copy of its index answers")
    with _copy_databases(root) as state:
        return run(state=state, is_read_only=is_reading)


def _run_in_open_workspace(
    root: Path,
    use_case: Callable[[Workspace], Result],
    *,
    create: bool,
    needs_index: bool,
    writes: bool = False,
    state: Path | None = None,
    is_read_only: bool = False,
) -> Result:
    with closing(open_workspace(root, create=create, state=state, is_read_only=is_read_only)) as ws:
        try:
            result = _run(ws, use_case, writes=writes, needs_index=needs_index)
        except DatabaseDamaged:  # disposable means disposable: begin anew from the files
            LOGGER.debug("the index is damaged: it is built anew")
            ws.index.reset()
        except LineageError:
            if not ws.documents.notice_archive():
                raise
        else:
            # What another process archived in the meantime looks lost to one that reads and began without an archive.
            # What was written stands: a removal, say, finds nothing to remove the second time.
            if writes or not ws.documents.notice_archive():
                return result
        return _run(ws, use_case, writes=writes, needs_index=needs_index)


@contextmanager
def _copy_databases(root: Path) -> Iterator[Path]:
    """Copy the readable databases of a workspace into a temporary folder; a copy that is damaged is built anew."""
    folders = [folder for folder in _SCRATCH_FOLDERS if folder and os.access(folder, os.W_OK)]
    roomiest = max(folders, key=lambda folder: disk_usage(folder).free, default=None)  # None: as the system says
    with TemporaryDirectory(prefix="lineage-", dir=roomiest) as name:
        (Path(name) / locations.STATE_FOLDER).mkdir(0o700)
        for database, part in product((INDEX_FILE, TELEMETRY_FILE), ("", "-wal")):
            file = Path(locations.STATE_FOLDER, database + part)
            with suppress(OSError):
                copyfile(root / file, name / file)
        yield Path(name)


def _run(ws: Workspace, use_case: Callable[[Workspace], Result], *, writes: bool, needs_index: bool) -> Result:
    if needs_index:
        with tolerate_outage(ws):  # a use case that can't do without it gets the error from its own query
            _ensure_indexed(ws)
    if writes:
        from lineage.pipeline.maintenance.finish_pending import finish_pending  # the capture pipeline, 30 ms

        LOGGER.debug("finish what is pending")
        finish_pending(ws)
    LOGGER.debug("run the command")
    return use_case(ws)


def _ensure_indexed(ws: Workspace) -> None:
    """Fill a missing or stale index, and drop rows of sessions that another machine removed."""
    if ws.index.needs_reindex or list_stale_marks(ws.documents):
        from lineage.pipeline.maintenance.reindex import ensure_indexed  # rendering and ledger, 35 ms

        LOGGER.debug("bring the index up to date")
        ensure_indexed(ws)
    if removed := ws.documents.tombstones.list_tokens():
        LOGGER.debug("drop rows of removed sessions")
        drop_removed_sessions(ws, removed)
        finish_scrub(ws)


def open_workspace(
    root: Path, *, create: bool = False, use_model: bool = True, state: Path | None = None, is_read_only: bool = False
) -> Workspace:
    """Return the object graph of one workspace, with this machine's models if configured.

    `state` is a folder in place of `root` for the index. Of a workspace that is read only, it takes all of this
    machine's files, and other writes stay in memory.
    The caller closes it. Raises WorkspaceError for a missing workspace unless `create` is set.
    """
    LOGGER.debug("open %s", locations.format_location(root))
    store: Store = (found := locations.open_store(root))
    if not create:
        locations.require_workspace(root, found)
    settings = locations.load_settings(store)  # first: a wrong value in lineage.toml stops every command alike
    for warning in settings.unknown:
        _warn_once(warning)
    machine = locations.load_machine_settings(os.environ)
    private: Store = locations.open_private_store(root)
    if is_read_only:
        store = OverlayStore(MemoryStore(), store)
        can_read = os.access(root / locations.STATE_FOLDER, os.R_OK | os.X_OK)
        private = OverlayStore(MemoryStore(), private) if can_read else MemoryStore()
    moment, own = clock.now(), (state if state and is_read_only else root)
    place = own / locations.STATE_FOLDER
    index, telemetry = open_databases(own, private, state)
    embedding = build_embedding(machine.embedding)
    caps = {cap.name.removeprefix("max_"): getattr(settings.books, cap.name) for cap in fields(settings.books)}
    vector_file = place / "vectors.db"
    return Workspace(
        documents=Documents(store, private, partial(find_cap, caps)),
        index=index,
        telemetry=telemetry,
        settings=settings,
        now=moment,
        new_id=lambda: os.urandom(16).hex(),
        custom_rules=_load_custom_rules(store, settings, machine),
        model=build_model(machine.model, telemetry, moment[:10]) if use_model else None,
        # An existing file is opened even without a model: removing a session must reach its vectors.
        vector_file=vector_file if embedding or index.may_have_vectors(vector_file) else None,
        embedding=embedding,
        scratch=place,
    )


@cache
def _warn_once(warning: str) -> None:
    sys.stderr.write(f"warning: {warning}\n")


def _load_custom_rules(store: Store, settings: Settings, machine: MachineSettings) -> Ruleset | None:
    """Return the redaction rules that lineage.toml and this machine configure; None for the built-in ones."""
    if settings.sanitizer == SanitizerSettings() and not machine.allow_patterns:
        return None
    return load_rules(store, settings, machine.allow_patterns).ruleset
