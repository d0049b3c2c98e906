"""Privacy removal: tombstone first, then files and entries, rows and projections, then the scrub (format: Removal).

A session's sub-agents go with it, each with a tombstone of its own. An interrupted removal is finished by the next
run: its job lies in the spool until the last step.
"""

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from lineage.core.base import naming
from lineage.core.base.book_paths import BOOKS, parse_book_path
from lineage.core.base.file_names import escape_name
from lineage.core.base.links import to_one_line
from lineage.core.base.naming import DEFAULT_AGENT, TOKEN, derive_session_token
from lineage.core.base.note_paths import FOLDERS, replace_block
from lineage.core.base.project import has_project
from lineage.core.capture.ledger import find_parent
from lineage.core.format import transcript
from lineage.core.format.documents import Artifact, Manifest, Tombstone
from lineage.core.format.job import REMOVAL, Job
from lineage.core.sanitizer.re2_patterns import compile_texts
from lineage.errors import AmbiguousError, FormatError, NotFoundError, WorkspaceError
from lineage.harness.hook_payload import parse_hook_payload
from lineage.pipeline.capture import session as sessions
from lineage.pipeline.maintenance.removal_paths import find_unindexed, list_session_paths
from lineage.pipeline.maintenance.residual_copies import list_residual_copies
from lineage.pipeline.memory.prepared_contexts import prepare_contexts
from lineage.pipeline.memory.session_entries import (
    SessionEntries,
    find_session_entries,
    forget_session_entries,
    select_removed,
    serialize_without_session,
)
from lineage.store import MissingError, Store, map_concurrently, read_or_none
from lineage.workspace.book_folders import BookFolders, find_unused_claim, list_unused_claims
from lineage.workspace.lookup import load_readable_document, resolve_session
from lineage.workspace.publish import list_published_agents, publish_all
from lineage.workspace.removed_sessions import scrub_databases, unlink_session
from lineage.workspace.workspace import Workspace

_AGAIN = "what came back goes with `lineage remove {} --again`"

_LEDGER = naming.memory_md_path(DEFAULT_AGENT)
_MIN_PROBE_CHARS = 24  # shorter lines occur in anybody's text
_MAX_PROBES = 400  # each is looked for in every note of the workspace
_MAX_PROBE_CHARS = 400
_MAX_TEXT_BYTES = 64 << 20  # looked through in a file
_SNIFF_BYTES = 8192  # no text has a NUL in these
_RECORDED = ("agent_id", "reason", "removed_paths", "removed_turns", "imported_from", "was_private")


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovalReceipt:
    """The result of a removal: the things removed, checked and out of reach. With `dry_run`, a forecast.

    `sub_agents` are the ids of those removed with the session; paths and counts hold theirs. `entries` counts the
    entries in all books. `elsewhere` are other sessions' files and any text file with a line of the session, and books
    with a damaged entry of it; `naming_project` are files that name its project: named, not removed.
    """

    session_token: str
    session_id: str | None
    agent_id: str
    harness: str | None
    reason: str
    removed_at: str
    dry_run: bool
    removed_paths: list[str]
    spool_files: list[str]
    rows: int
    turns: int
    entries: int
    checked_files: int
    elsewhere: list[str]
    naming_project: list[str]
    out_of_reach: list[str]
    sub_agents: list[str]


@dataclass(frozen=True, slots=True)
class _RemovalTarget:
    """The session to remove, as its files show it.

    `probes` identify its text, `projects` are the path and repository of its project, `book_folders` have its books.
    """

    token: str
    agent_id: str
    session_id: str | None
    harness: str | None
    paths: list[str]
    turns: list[str]
    probes: frozenset[str]
    projects: tuple[str, ...]
    book_folders: frozenset[str]
    came_from: list[str]
    is_private: bool
    session_entries: SessionEntries


def remove(ws: Workspace, reference: str, *, reason: str, dry_run: bool = False, again: bool = False) -> RemovalReceipt:
    """Remove a session for good. With `again`, delete the returned files of one removed before.

    Raises NotFoundError for an unknown or ambiguous reference, and for a removed session without `again`.
    """
    token = resolve_removal(ws, reference, again=again)
    reason = to_one_line(ws.build_sanitizer().sanitize(reason))
    targets, jobs, spooled, rows = list[_RemovalTarget](), list[Job](), list[str](), 0
    is_told = bool(ws.documents.context_cache.list_names())
    for name in (due := [token]):
        with sessions.session_lock(ws, name):
            targets.append(_load_target(ws, name))
            jobs.append(_build_job(ws, targets[-1], reason))
            if not dry_run:
                ws.documents.spool.put(jobs[-1])
                files, count = _erase(ws, jobs[-1])
                spooled, rows = spooled + files, rows + count
            if name == token:  # after its tombstone: no sub-agent joins it any more
                due += _find_sub_agents(ws, token)
    if not dry_run:
        rows += _settle(ws, jobs)
        if is_told:
            prepare_contexts(ws)  # the next session is told of what is left
    return _build_receipt(ws, targets, jobs, spool_files=spooled, rows=rows, dry_run=dry_run)


def finish_removal(ws: Workspace, job: Job) -> list[Job]:
    """Finish a removal from its job, under the session's lock. Return the jobs for its sub-agents, in the spool now."""
    _erase(ws, job)
    targets = [_load_target(ws, token) for token in _find_sub_agents(ws, job.token)]
    others = [_build_job(ws, target, job.payload["reason"]) for target in targets]
    for other in others:
        ws.documents.spool.put(other)
    _settle(ws, [job])
    return others


def _erase(ws: Workspace, job: Job) -> tuple[list[str], int]:
    """Delete everything of one session, under its lock. Return the deleted spool files and the number of rows."""
    # the tombstone first: no writer brings back a session that is removed by half
    values = {key: job.payload[key] for key in _RECORDED if key in job.payload}
    ws.documents.tombstones.put(
        Tombstone(kind="tombstone", session_token=job.token, removed_at=job.captured_at, **values)
    )
    paths = list_session_paths(ws, job.token)
    unlink_session(ws, job.token)
    ws.documents.archives.remove(paths)  # all at once: each bundle is rewritten once
    for path in paths:
        ws.documents.store.delete(path)
    # what it was given, and what others were given of it: before the index forgets which entries were its own
    names = {seen.session_id for seen in ws.telemetry.list_seen_sessions(job.token)}
    own = {job.token, *(derive_session_token(job.payload["agent_id"], name) for name in names)}
    recalled = ws.documents.recall_log.forget(own, ws.index.find_entries_of_session(job.token))
    forget_session_entries(ws, job.token)
    keys = []
    for event in (*ws.documents.hook_queue.list_pending(), *ws.documents.hook_queue.dead_letters()):
        payload = parse_hook_payload(event.harness, event.payload)
        if payload and payload.identity(event.agent).token == job.token:
            keys.append(event.key)
    spooled = ws.documents.spool.discard(job.token) + ws.documents.hook_queue.discard(keys)
    spooled += ws.documents.checkpoints.discard(job.token) + recalled
    ws.documents.context_cache.clear()  # a cached context may quote the session
    rows = ws.index.delete_session(job.token) + ws.telemetry.forget(job.token)
    for path in list_unused_claims(ws):  # as the rows are now, so that a run after a crash finds them, too
        ws.documents.base.delete(path)
    return spooled, rows


def _settle(ws: Workspace, jobs: Sequence[Job]) -> int:
    """Render without the erased sessions, scrub the databases, clear the jobs. Return the number of vectors dropped."""
    publish_all(ws)
    dropped = scrub_databases(ws)  # deleted rows stay readable in free pages until here
    ws.documents.store.collect_garbage()
    for job in jobs:
        ws.documents.spool.clear(job)
    return dropped


def _find_sub_agents(ws: Workspace, token: str) -> list[str]:
    """Return the tokens of a session's sub-agents and of theirs, from the files: rows may be missing."""
    unfinished = {job.token for job in ws.documents.spool.list_pending()}
    names = [(entry.key, naming.parse_path(entry.key)) for entry in ws.documents.store.list(naming.MEMORY)]
    keys = [key for key, name in names if name and (name.kind == naming.MANIFEST or name.token in unfinished)]
    ties = {tie for tie in map_concurrently(ws.documents.store, partial(_read_tie, ws), keys) if tie}
    found = [token]
    for parent in found:
        found += sorted(child for child, of_child in ties if of_child == parent and child not in found)
    return found[1:]


def _read_tie(ws: Workspace, key: str) -> tuple[str, str] | None:
    """Return the tokens of a sub-agent's file and of its parent, None for any other file."""
    blob = read_or_none(ws.documents.store, key)
    if blob is None or b"\nparent_session: null\n" in blob.data:  # most files, without parsing them
        return None
    document = load_readable_document(ws, key)
    parent = find_parent(document) if document else None
    return (document.identity.token, parent) if document and parent else None


def _find_unused_claims(ws: Workspace, token: str, paths: Iterable[str]) -> set[str]:
    """Return the notes in folders of books that the session's removal will leave alone."""
    documents = [document for path in paths if (document := load_readable_document(ws, path))]
    projects = {(document.project, document.repository) for document in documents}
    return set(filter(None, (find_unused_claim(ws, *project, token) for project in projects)))


def resolve_removal(ws: Workspace, reference: str, *, again: bool) -> str:
    """Return the token of a session: indexed, in spool or files only, or removed. Raise as `remove`."""
    tokens = [reference] if TOKEN.fullmatch(reference) else []
    agents = sorted({DEFAULT_AGENT, *ws.index.list_agents(), *list_published_agents(ws)})
    tokens += [derive_session_token(agent, reference) for agent in agents]
    removed = next(filter(ws.documents.tombstones.has, tokens), None)
    if removed and (again or _find_job(ws, removed)):
        return removed
    try:
        return resolve_session(ws, reference).session_token
    except AmbiguousError:
        raise
    except NotFoundError:
        if removed:
            raise NotFoundError(f"{reference!r} was removed already", hint=_AGAIN.format(reference)) from None
        found = find_unindexed(ws, tokens)
        if len(found) > 1:
            raise AmbiguousError(f"{reference!r} is ambiguous: {', '.join(found)}", hint="name one of these") from None
        if not found:
            raise
        return found[0]


def _build_job(ws: Workspace, target: _RemovalTarget, reason: str) -> Job:
    if begun := _find_job(ws, target.token):
        return begun
    return build_removal_job(
        Tombstone(
            kind="tombstone",
            agent_id=target.agent_id,
            session_token=target.token,
            removed_at=ws.now,
            reason=reason,
            removed_paths=target.paths,
            removed_turns=target.turns,
            imported_from=target.came_from,
            was_private=target.is_private,
        )
    )


def _find_job(ws: Workspace, token: str) -> Job | None:
    """Return the job of a removal that a full disk cut off in its middle."""
    return next((job for job in ws.documents.spool.list_pending(token) if job.flow == REMOVAL), None)


def _load_target(ws: Workspace, token: str) -> _RemovalTarget:
    paths = list_session_paths(ws, token)
    documents = [document for path in paths if (document := load_readable_document(ws, path))]
    transcripts = [d for d in documents if isinstance(d, Artifact) and d.kind == naming.TRANSCRIPT]
    turns = [turn for artifact in transcripts for turn in transcript.parse_turns(artifact.body)]
    lines = (line.strip() for turn in turns for line in turn.text.split("\n"))
    first = documents[0] if documents else None
    came_from = next((list(d.imported_from) for d in documents if isinstance(d, Manifest)), [])
    kept_ids = _list_original_turns(ws, came_from)
    names = map(BookFolders(ws).resolve, (d.project for d in documents), (d.repository for d in documents))
    return _RemovalTarget(
        token=token,
        agent_id=first.agent_id if first else _find_agent(ws, token),
        session_id=first.session_id if first else None,
        harness=first.harness if first else None,
        paths=paths,
        turns=[turn for turn in dict.fromkeys(turn.id for turn in turns) if turn not in kept_ids],
        probes=frozenset(sorted({line for line in lines if len(line) >= _MIN_PROBE_CHARS})[:_MAX_PROBES]),
        projects=tuple({name for d in documents for name in (d.project, d.repository) if name and has_project(name)}),
        book_folders=frozenset(escape_name(name) for name in names if name),
        came_from=came_from,
        is_private=sessions.is_private(ws, token),
        session_entries=find_session_entries(ws, token),
    )


def _list_original_turns(ws: Workspace, came_from: Iterable[str]) -> frozenset[str]:
    """Return the turns of the originals that live here: removing a copy keeps them (format: Captures)."""
    turns = set[str]()
    for token in came_from:
        with contextlib.suppress(FormatError):
            turns.update(sessions.list_captured_turn_ids(ws, sessions.load_session(ws, token)))
    return frozenset(turns)


def _find_agent(ws: Workspace, token: str) -> str:
    """Return the agent of a session without a readable file, from its tombstone or a spooled job."""
    with contextlib.suppress(FormatError):
        if tombstone := ws.documents.tombstones.get(token):
            return tombstone.agent_id
    agents = (job.payload.get("agent_id") for job in ws.documents.spool.list_pending(token))
    return next(filter(None, agents), DEFAULT_AGENT)


def build_removal_job(tombstone: Tombstone) -> Job:
    """Return the job of the removal that a tombstone records."""
    payload = {key: getattr(tombstone, key) for key in _RECORDED}
    token, at = tombstone.session_token, tombstone.removed_at
    return Job(flow=REMOVAL, token=token, captured_at=at, sentence="", quality="", payload=payload)


def _build_receipt(
    ws: Workspace,
    targets: Sequence[_RemovalTarget],
    jobs: Sequence[Job],
    *,
    spool_files: list[str],
    rows: int,
    dry_run: bool,
) -> RemovalReceipt:
    target, *others = targets
    paths = list(dict.fromkeys(path for job in jobs for path in job.payload["removed_paths"]))
    # the files of others: another session's, a book, whatever the vault's owner keeps there
    keys = [entry.key for entry in ws.documents.store.list("") if entry.key not in paths]
    if dry_run:  # these are written again, or go too
        unused = {path for one in targets for path in _find_unused_claims(ws, one.token, one.paths)}
        keys = [key for key in keys if f"/{key}".rpartition("/")[2] != _LEDGER and key not in unused]
    probes = compile_texts({line[:_MAX_PROBE_CHARS] for one in targets for line in one.probes})
    found = map_concurrently(ws.documents.store, partial(_find_traces, ws, targets, probes), keys)
    traces = {key: trace for key, trace in zip(keys, found, strict=True) if trace}
    return RemovalReceipt(
        session_token=target.token,
        session_id=target.session_id,
        agent_id=target.agent_id,
        harness=target.harness,
        reason=jobs[0].payload["reason"],
        removed_at=jobs[0].captured_at,
        dry_run=dry_run,
        removed_paths=paths,
        spool_files=spool_files,
        rows=rows,
        turns=sum(len(job.payload["removed_turns"]) for job in jobs),
        entries=len(select_removed({one.token: one.session_entries for one in targets})),
        checked_files=len(traces),
        elsewhere=[key for key, trace in traces.items() if trace.holds_text],
        naming_project=[key for key, trace in traces.items() if trace.names_project],
        out_of_reach=list_residual_copies(ws, target.harness, target.session_id, has_sub_agents=bool(others)),
        sub_agents=[one.session_id or one.token for one in others],
    )


class _Trace(NamedTuple):
    """Whether a file holds, or may hold, a line of removed sessions outside of their entries, or names a project."""

    holds_text: bool
    names_project: bool


def _find_traces(ws: Workspace, targets: Sequence[_RemovalTarget], probes: Sequence[Any], key: str) -> _Trace | None:
    """Return a file without the sessions' parts, None for one that is no text."""
    holds_text = any(key in target.session_entries.damaged_paths for target in targets)
    names = [name for target in targets for name in target.projects]
    names_project = any(name.rpartition("/")[2] in key.split("/") for name in names)
    if key.startswith(f"{BOOKS}project/"):  # another project of the name has another folder
        names_project = any(key.split("/")[2] in target.book_folders for target in targets)
    with contextlib.suppress(MissingError, WorkspaceError, FormatError):  # an unreadable file cannot be compared
        data = _read_text(ws.documents.store, key)
        if data is None:
            return None
        ref = parse_book_path(key)
        if key.startswith(FOLDERS) and (own := replace_block(data, None)) is not None:
            if not own.strip():  # no word of a person's: lineage's block is written again, or goes
                return None
            data = own
        for target in targets:
            if ref and target.token.encode() in data:
                data = serialize_without_session(data, ref, target.token)
        holds_text = holds_text or any(probe.search(data) for probe in probes)
        names_project = names_project or any(name.encode() in data for name in names)
    return _Trace(holds_text, names_project)


def _read_text(store: Store, key: str) -> bytes | None:
    """Return the first part of a file, None if it is no text."""
    data = bytearray()
    with store.open(key) as stream:
        for chunk in stream.chunks:
            data += chunk
            if b"\0" in data[:_SNIFF_BYTES]:
                return None
            if len(data) >= _MAX_TEXT_BYTES:
                break
    return bytes(data)
