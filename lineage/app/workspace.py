"""Opening a workspace and running use cases in it."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from lineage.app import clock, locations
from lineage.app.databases import open_databases
from lineage.app.models import build_embedding, build_model
from lineage.config import Settings
from lineage.config.machine import MachineSettings
from lineage.config.workspace import SanitizerSettings
from lineage.documents import Documents
from lineage.errors import DatabaseDamaged, LineageError, WorkspaceError
from lineage.store import Store
from lineage.workspace.removed_sessions import drop_removed_sessions, finish_scrub
from lineage.workspace.workspace import Workspace, list_stale_marks, tolerate_outage

if TYPE_CHECKING:  # the rules cost 40 ms to import: a command that only reads does without
    from lineage.core.sanitizer import Ruleset

Result = TypeVar("Result")


def run_in_workspace(
    root: Path,
    use_case: Callable[[Workspace], Result],
    *,
    create: bool = False,
    writes: bool = False,
    needs_index: bool = True,
) -> Result:
    """Open the workspace, run a use case in it and return its result.

    `create` makes a missing workspace. `needs_index` fills a missing index. With `writes`, unfinished jobs in the
    spool run first. If the index turns out to be damaged, it is reset and the use case runs a second time: every use
    case must be repeatable. It also runs again if the workspace's first archive appeared meanwhile. Raises
    WorkspaceError for a missing workspace.

    Where nothing can be written (another user's workspace, a mounted backup) a use case that only reads gets a copy of
    the index, or one built for it, in a temporary folder.
    """
    with ExitStack() as stack:
        is_read_only = not (create or writes or locations.is_writable(root))
        state = stack.enter_context(_copy_databases(root)) if is_read_only else None
        ws = stack.enter_context(closing(open_workspace(root, create=create, state=state)))
        try:
            result = _run(ws, use_case, writes=writes, needs_index=needs_index)
        except DatabaseDamaged:  # disposable means disposable: begin anew from the files
            ws.index.reset()
        except LineageError:
            if not ws.documents.notice_archive():
                raise
        else:
            # what another process archived in the meantime looks lost to a use case that began without an archive
            if not ws.documents.notice_archive():
                return result
        return _run(ws, use_case, writes=writes, needs_index=needs_index)


@contextmanager
def _copy_databases(root: Path) -> Iterator[Path]:
    """Copy what can be read of a workspace's index into a folder of its own; what is damaged by that is built anew."""
    from shutil import copyfile  # few workspaces need these
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="lineage-") as name:
        (Path(name) / locations.STATE_FOLDER).mkdir(0o700)
        for database in ("index.db", "index.db-wal"):
            file = Path(locations.STATE_FOLDER, database)
            with suppress(OSError):
                copyfile(root / file, name / file)
        yield Path(name)


def _run(ws: Workspace, use_case: Callable[[Workspace], Result], *, writes: bool, needs_index: bool) -> Result:
    if needs_index:
        with tolerate_outage(ws):  # a use case that can't do without it gets the error from its own query
            _ensure_indexed(ws)
    if writes:
        from lineage.pipeline.maintenance.finish_pending import finish_pending  # the capture pipeline, 30 ms

        finish_pending(ws)
    return use_case(ws)


def _ensure_indexed(ws: Workspace) -> None:
    """Fill a missing or stale index, and drop rows of sessions that another machine removed."""
    if ws.index.needs_reindex or list_stale_marks(ws.documents):
        from lineage.pipeline.maintenance.reindex import ensure_indexed  # rendering and ledger, 35 ms

        ensure_indexed(ws)
    if removed := ws.documents.tombstones.list_tokens():
        drop_removed_sessions(ws, removed)
        finish_scrub(ws)


def open_workspace(root: Path, *, create: bool = False, use_model: bool = True, state: Path | None = None) -> Workspace:
    """Return the object graph of one workspace, with this machine's models if configured.

    With `state`, a folder in place of `root` for this machine's files, the workspace is only read: writes stay in
    memory.
    The caller closes it. Raises WorkspaceError for a missing workspace unless `create` is set.
    """
    store: Store = (found := locations.open_store(root))
    if not create and not found.exists():
        name = locations.format_location(root)
        raise WorkspaceError(
            f"no workspace at {name}", hint=f"run `lineage init {name}`, or name another with `--workspace`"
        )
    settings = locations.load_settings(store)  # first: a wrong value in lineage.toml stops every command alike
    for warning in settings.unknown:
        _warn_once(warning)
    machine = locations.load_machine_settings(os.environ)
    private: Store = locations.open_private_store(root)
    if state:
        from lineage.store.memory import MemoryStore
        from lineage.store.overlay import OverlayStore

        store = OverlayStore(MemoryStore(), store)
        can_read = os.access(root / locations.STATE_FOLDER, os.R_OK | os.X_OK)
        private = OverlayStore(MemoryStore(), private) if can_read else MemoryStore()
    moment, place = clock.now(), (state or root) / locations.STATE_FOLDER
    index, telemetry = open_databases(state or root, private)
    embedding = build_embedding(machine.embedding)
    vector_file = place / "vectors.db"
    return Workspace(
        documents=Documents(store, private),
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


def _load_custom_rules(store: Store, settings: Settings, machine: MachineSettings) -> "Ruleset | None":
    """Return the redaction rules that lineage.toml and this machine configure; None for the built-in ones."""
    if settings.sanitizer == SanitizerSettings() and not machine.allow_patterns:
        return None
    from lineage.app.redaction import load_rules

    return load_rules(store, settings, machine.allow_patterns).ruleset
