"""The worker's process: one for a workspace, bounded in time and memory, until the spool is empty."""

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from functools import partial
from pathlib import Path

from lineage.app import clock
from lineage.app.documents import detect_machine
from lineage.app.hooks import read_statuses
from lineage.app.locations import STATE_FOLDER, open_private_store, open_store, require_workspace
from lineage.app.workspace import open_workspace, run_in_workspace
from lineage.core.base import hook_protocol
from lineage.core.base.naming import DEFAULT_AGENT
from lineage.documents import HookQueue
from lineage.extraction.embedding.port import EmbeddingModel
from lineage.harness.adapters import ADAPTERS
from lineage.harness.unread import list_unread_stores
from lineage.pipeline.capture.session import CAPTURED
from lineage.pipeline.ingest.history_sweep import sweep_histories
from lineage.pipeline.ingest.import_sources import ImportRequest
from lineage.pipeline.ingest.worker import IDLE_MINUTES, DrainResult, OpenSession, SweepResult, drain, is_over, sweep
from lineage.pipeline.search.embeddings import embed_pending
from lineage.store import BusyError, LocalStore
from lineage.workspace.workspace import Workspace, find_outage

_MAX_SECONDS = 600  # then a fresh process goes on: a leak or a hang ends here
_MAX_WAIT_SECONDS = 60.0
_MAX_JOBS = 4
_POLL_SECONDS = 0.5
_MAX_MEMORY_BYTES = 4 << 30


def run_worker(root: Path) -> list[DrainResult]:
    """Drain the spool until nothing is due, waiting for near retries; return the result of each round.

    A worker that a hook started then watches the sessions that it knows to be open: each is captured when its process
    is gone, or after ten quiet minutes. One that a user started does not wait for them.

    Does nothing while another worker runs. A hook event that arrives as that one ends is seen by one of the two.
    """
    results: list[DrainResult] = []
    with _limit_memory():
        inherited_lock, private = _take_inherited_lock(root), open_private_store(root)
        is_watching = inherited_lock is not None
        if not is_watching:
            require_workspace(root, open_store(root))
        deadline = time.monotonic() + _MAX_SECONDS
        while time.monotonic() < deadline:
            try:
                with inherited_lock or private.lock(hook_protocol.WORKER_LOCK, wait=False):
                    results += _run_rounds(root, private, deadline, is_watching=is_watching)
                    while results and _wait_for_open(results[-1].waiting, private, deadline):
                        results += _run_rounds(root, private, deadline, is_watching=is_watching)
            except BusyError:
                break
            inherited_lock = None
            # The lock is free now: an event that came since the last round found it held, and started no worker
            if not _is_due(private):
                break
    return results


def _wait_for_open(waiting: Sequence[OpenSession], private: LocalStore, deadline: float) -> bool:
    """Wait until one of the open sessions is over or a hook event is due. Return False if neither comes in time."""
    while waiting and time.monotonic() < deadline:
        if _is_due(private) or any(is_over(session, clock.now()) for session in waiting):
            return True
        time.sleep(_POLL_SECONDS)
    return False


def _take_inherited_lock(root: Path) -> AbstractContextManager[object] | None:
    """Return the worker's lock if the hook took it for this process; None for a command that a user started."""
    # only if the descriptor really is the lock's file: a user's shell may have anything open under this number
    with contextlib.suppress(OSError):
        lock = (root / STATE_FOLDER / "locks" / f"{hook_protocol.WORKER_LOCK}.lock").stat()
        if os.path.samestat(os.fstat(hook_protocol.WORKER_LOCK_FD), lock):
            os.set_inheritable(hook_protocol.WORKER_LOCK_FD, False)
            return open(hook_protocol.WORKER_LOCK_FD, "rb")  # noqa: PTH123  (a descriptor, closed where it is used)
    return None


def drain_and_sweep(root: Path, *, idle_minutes: int) -> SweepResult:
    """Drain the hook queue, then capture sessions that ended without an event or that no hook ever told of.

    Those come from the histories of all harnesses but the ones whose hooks name another workspace. The worker only
    looks after what hooks told of: a whole history would keep their events waiting.
    """
    machine = detect_machine()

    def run_both(ws: Workspace) -> SweepResult:
        drain(ws, machine)
        done = sweep(ws, detect_machine(), idle_minutes=idle_minutes)
        opened = partial(open_workspace, root, use_model=False)
        for request in [] if find_outage(ws) else _build_sweep_requests(root):
            sweep_histories(ws, opened, request, done, idle_minutes=idle_minutes)
        return done

    result = run_in_workspace(root, run_both, writes=True)
    result.unread += list_unread_stores(machine.home, machine.environment)
    return result


def _build_sweep_requests(root: Path) -> list[ImportRequest]:
    """Return a request for each agent with sessions in this workspace; harnesses without hooks are default's."""
    agents = dict.fromkeys(ADAPTERS, DEFAULT_AGENT)
    for status in read_statuses(root, DEFAULT_AGENT, ()):
        if status.workspace and Path(status.workspace) != root:
            del agents[status.harness]
        elif status.agent:
            agents[status.harness] = status.agent
    machine, jobs = detect_machine(), min(os.cpu_count() or 1, _MAX_JOBS)
    return [
        ImportRequest(
            harnesses=tuple(sorted(name for name in agents if agents[name] == agent)),
            agent_id=agent,
            histories=machine,
            jobs=jobs,
            with_prompts=False,
        )
        for agent in sorted(set(agents.values()))
    ]


def _run_rounds(root: Path, private: LocalStore, deadline: float, *, is_watching: bool) -> list[DrainResult]:
    results: list[DrainResult] = []
    run_round = partial(_run_round, deadline=deadline, private=private, is_watching=is_watching)
    while time.monotonic() < deadline:
        results.append(run_in_workspace(root, run_round, create=True))
        due = results[-1].next_due
        if not due or datetime.fromisoformat(due).timestamp() - time.time() > _MAX_WAIT_SECONDS:
            break
        while not _is_due(private) and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
    return results


def _is_due(private: LocalStore) -> bool:
    moment = clock.now()
    return any(event.not_before <= moment for event in HookQueue(private).list_pending())


def _run_round(ws: Workspace, *, deadline: float, private: LocalStore, is_watching: bool) -> DrainResult:
    result = drain(ws, detect_machine(), should_continue=lambda: time.monotonic() < deadline)
    if result.started or is_watching:
        swept = sweep(ws, detect_machine(), idle_minutes=IDLE_MINUTES)
        result.outcomes.update({CAPTURED: len(swept.captured)} if swept.captured else {})
        result.put_off += swept.failed
        result.waiting += swept.waiting if is_watching else []
    if ws.embedding is not None:
        _embed(ws, ws.embedding, deadline, private, result)
    return result


def _embed(ws: Workspace, embedding: EmbeddingModel, deadline: float, private: LocalStore, result: DrainResult) -> None:
    """Embed pending passages within the bounds of a run; a waiting hook event ends it, captures come first."""
    until = min(deadline, time.monotonic() + embedding.max_seconds)
    embedded = embed_pending(
        ws,
        max_passages=embedding.max_passages,
        should_continue=lambda: time.monotonic() < until and not _is_due(private),
    )
    result.embedded, result.unembedded = embedded.embedded, embedded.failed


@contextlib.contextmanager
def _limit_memory() -> Iterator[None]:
    """Limit this process's memory until the block ends, as far as the system can: transcripts may be huge."""
    with contextlib.ExitStack() as undo:
        with contextlib.suppress(ImportError, ValueError, OSError):
            import resource  # not on Windows

            before = resource.getrlimit(resource.RLIMIT_AS)
            resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY_BYTES, before[1]))
            undo.callback(resource.setrlimit, resource.RLIMIT_AS, before)
        yield
