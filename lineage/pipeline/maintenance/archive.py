"""Archive: artifacts that are out of the window, packed by month.

What is in a bundle stays readable, listed, searched, verified, redacted and removed under the path that it had: that is
`canon.archived_store`, and nothing above it knows. Claims, manifests and tombstones stay in `memory/`, so a session
that is resumed finds its captures as ever, and what it adds lies in `memory/` until it is archived too. Links still
resolve: the month's folder has a note for each artifact whose path ends as the artifact's did, which is how Obsidian
looks for one.

    spool → bundles, each read back → notes → originals deleted, session by session → rows' stamps → spool cleared

A month at a time. A bundle is durable before the first original goes, and an original goes only where the bundle, as it
was read back, holds its very bytes. Cut off at any point, the next command goes on from the spool. What was redacted or
removed meanwhile leaves the bundle again.
"""

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from lineage import __version__
from lineage.core.base import naming
from lineage.core.base.times import to_utc_or_none
from lineage.core.capture.window import WINDOW_DAYS, Window, compute_membership
from lineage.core.format.documents import Artifact, Manifest, parse_document_as
from lineage.core.format.job import ARCHIVAL, Job
from lineage.core.format.manifest import list_artifact_paths
from lineage.core.transfer.archive_paths import is_archivable, month_of
from lineage.core.transfer.bundle import LIMITS, SESSIONS, Bundle, BundledSession
from lineage.documents.archive.archives import format_stamp
from lineage.errors import FormatError, InvalidInput
from lineage.pipeline.capture import session as sessions
from lineage.store import read_or_none
from lineage.workspace.archive_notes import publish_archive_notes
from lineage.workspace.workspace import Workspace

MAX_BUNDLE_BYTES = 8 << 20
"""How large the artifacts of one bundle are together: what is read to read one of them, and rewritten to remove it."""

UNFINISHED, UNNAMED, RECENT, DAMAGED, LARGE = "unfinished", "in no manifest", "ended later", "damaged", "too large"

_MAX_MEMBERS = 2000
_HINT = f"name a day such as 2026-01-01, {WINDOW_DAYS} days ago or more"


@dataclass(slots=True)
class ArchiveResult:
    """What was archived, or would be: artifacts, sessions and bytes; how many artifacts of each month. `left` counts
    artifacts from before the day that stay, by reason; `problems` are (path, what is wrong)."""

    before: str
    dry_run: bool
    artifacts: int = 0
    sessions: int = 0
    bytes: int = 0
    months: dict[str, int] = field(default_factory=dict)
    left: dict[str, int] = field(default_factory=dict)
    problems: list[tuple[str, str]] = field(default_factory=list)

    def count_left(self, why: str) -> None:
        self.left[why] = self.left.get(why, 0) + 1


class _Candidate(NamedTuple):
    """An artifact that is to be archived."""

    artifact: Artifact
    manifest: Manifest
    data: bytes


def archive(ws: Workspace, before: str, *, dry_run: bool = False) -> ArchiveResult:
    """Archives every artifact that was captured, and whose session had ended, before the UTC day `before`.

    Running it again changes nothing. Raises InvalidInput for what is no day, or one inside the window.
    """
    done = ArchiveResult(before, dry_run)
    moment = _parse_day(ws, before)
    tokens = set[str]()
    with sessions.session_lock(ws, moment):  # a time is no token: no session has this mutex
        for month, paths in groupby(_list_candidates(ws, moment, done), key=month_of):
            tokens |= _archive_month(ws, month, list(paths), moment, done)
    done.sessions = len(tokens)
    return done


def finish_archive(ws: Workspace, job: Job) -> None:
    """The steps behind the bundles of a month, from its job alone, however far it had come. The caller holds the mutex
    of the job's token."""
    month = job.token
    publish_archive_notes(ws)
    for token, group in groupby(sorted(_list_unsettled(ws, month), key=_extract_token), key=_extract_token):
        with sessions.session_lock(ws, token):
            _delete_originals(ws, token, list(group))
    members = ws.documents.archives.list_members(month)
    ws.index.update_stamps([(path, format_stamp(member)) for path, member in members.items()])
    publish_archive_notes(ws)
    ws.documents.archives.collect_garbage()
    ws.documents.spool.clear(job)


def _parse_day(ws: Workspace, before: str) -> str:
    moment = to_utc_or_none(f"{before}T00:00:00Z") if len(before) == len("2026-01-01") else None
    if moment is None:
        raise InvalidInput(f"not a day: {before[:40]!r}", hint=_HINT)
    if moment > Window.from_end(ws.now).since:
        raise InvalidInput(f"{before} is within the last {WINDOW_DAYS} days, which the ledger shows", hint=_HINT)
    return moment


def _list_candidates(ws: Workspace, moment: str, done: ArchiveResult) -> Iterator[str]:
    """The plain files of artifacts from before a moment, oldest first, but for sessions with something unfinished."""
    removed = ws.documents.tombstones.list_tokens()
    waiting = {job.token for job in ws.documents.spool.list_pending()}
    for entry in ws.documents.base.list(naming.MEMORY):
        name = naming.parse_path(entry.key)
        if name is None or not is_archivable(entry.key) or name.captured_at >= moment or name.token in removed:
            continue
        if name.token in waiting:
            done.count_left(UNFINISHED)
        else:
            yield entry.key


def _archive_month(ws: Workspace, month: str, paths: list[str], moment: str, done: ArchiveResult) -> set[str]:
    """Archives these files of a month; the tokens of the sessions. A file whose artifact is archived already, as after
    a sync, is settled with the others."""
    job = Job(flow=ARCHIVAL, token=month, captured_at=ws.now, sentence="", quality="", payload={})
    archived = ws.documents.archives.list_members(month)
    is_due, tokens = any(path in archived for path in paths), set[str]()
    if is_due and not done.dry_run:
        ws.documents.spool.put(job)
    found = (_load_candidate(ws, path, moment, done) for path in paths if path not in archived)
    for pack in _group_into_packs(filter(None, found)):
        done.artifacts += len(pack)
        done.bytes += sum(len(one.data) for one in pack)
        done.months[month] = done.months.get(month, 0) + len(pack)
        tokens |= {one.artifact.identity.token for one in pack}
        if not done.dry_run:
            ws.documents.spool.put(job)
            ws.documents.archives.write_bundle(
                month, _build_bundle(pack), {one.artifact.path: one.data for one in pack}
            )
    if not done.dry_run and (is_due or tokens):
        finish_archive(ws, job)
    return tokens


def _load_candidate(ws: Workspace, path: str, moment: str, done: ArchiveResult) -> _Candidate | None:
    """The artifact in a plain file with its manifest, None where it stays: counted by why."""
    blob = read_or_none(ws.documents.base, path)
    if blob is None:
        return None
    try:
        artifact = parse_document_as(Artifact, blob.data, path)
        manifest = _load_manifest(ws, artifact)
    except FormatError as error:
        done.count_left(DAMAGED)
        done.problems.append((path, error.message))
        return None
    if manifest is None or path not in list_artifact_paths(manifest):
        done.count_left(UNNAMED)
    elif compute_membership(artifact.ended_at, artifact.captured_at) >= moment:
        done.count_left(RECENT)
    elif len(blob.data) > LIMITS.member_bytes:
        done.count_left(LARGE)
    else:
        return _Candidate(artifact, manifest, blob.data)
    return None


def _load_manifest(ws: Workspace, artifact: Artifact) -> Manifest | None:
    name = naming.parse_path(artifact.manifest_path)
    return ws.documents.manifests.get(name.stem) if name else None


def _group_into_packs(candidates: Iterable[_Candidate]) -> Iterator[list[_Candidate]]:
    """What goes into one bundle each: no more than is read at once."""
    pack: list[_Candidate] = []
    size = 0
    for one in candidates:
        if pack and (size + len(one.data) > MAX_BUNDLE_BYTES or len(pack) == _MAX_MEMBERS):
            yield pack
            pack, size = [], 0
        pack.append(one)
        size += len(one.data)
    if pack:
        yield pack


def _build_bundle(candidates: list[_Candidate]) -> Bundle:
    held = {one.artifact.identity.token: BundledSession.from_manifest(one.manifest) for one in candidates}
    return Bundle(
        holds=SESSIONS,
        exported_at=max(one.artifact.captured_at for one in candidates),
        lineage_version=__version__,
        sanitizer_version=max(one.artifact.sanitizer_version for one in candidates),
        private=any(one.artifact.private for one in candidates),
        sessions=tuple(held[token] for token in sorted(held)),
        members=(),
    )


def _list_unsettled(ws: Workspace, month: str) -> list[str]:
    """The archived artifacts of a month that have a plain file still, or whose session was removed."""
    removed = ws.documents.tombstones.list_tokens()
    plain = {entry.key for entry in ws.documents.base.list(naming.MEMORY)}
    return [
        path for path in ws.documents.archives.list_members(month) if path in plain or _extract_token(path) in removed
    ]


def _delete_originals(ws: Workspace, token: str, paths: list[str]) -> None:
    """The originals of a session go where the bundle holds them; what was removed, or has other sound content by now,
    leaves the bundle instead."""
    is_removed = ws.documents.tombstones.has(token)
    left = [path for path in paths if is_removed or not ws.documents.archives.delete_if_archived(path)]
    ws.documents.archives.remove([path for path in left if is_removed or _is_sound(ws, path)])


def _is_sound(ws: Workspace, path: str) -> bool:
    """Whether a plain file holds an artifact that may stand for the archived one."""
    with contextlib.suppress(FormatError):
        blob = read_or_none(ws.documents.base, path)
        return blob is not None and parse_document_as(Artifact, blob.data, path).path == path
    return False


def _extract_token(path: str) -> str:
    return naming.find_tokens(path)[0]
