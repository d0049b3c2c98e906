"""The archive run: artifacts older than the window are packed into bundles by month.

An archived artifact keeps its old path for all readers (documents/archive/archived_store.py); claims, manifests and
tombstones stay in `memory/`. The month's folder has a note for each artifact: Obsidian resolves links by it.

    spool → bundles, each read back → notes → originals deleted, session by session → rows' stamps → spool cleared

An original is deleted only if its bundle, as read back, holds the same bytes. The next command finishes an interrupted
run from the spool. An artifact redacted or removed meanwhile leaves the bundle again.
"""

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from lineage import __version__
from lineage.core.base import naming
from lineage.core.base.times import to_utc_or_none
from lineage.core.capture.ledger import WINDOW_DAYS, Window, compute_membership
from lineage.core.format.documents import Artifact, Manifest, parse_document_as
from lineage.core.format.job import ARCHIVAL, Job
from lineage.core.format.manifest import list_artifact_paths
from lineage.core.transfer.archive_paths import is_archivable, month_of
from lineage.core.transfer.bundle import LIMITS, SESSIONS, Bundle, BundledSession
from lineage.documents.archive.archives import format_stamp
from lineage.errors import FormatError, InvalidInput
from lineage.pipeline.capture.session import session_lock
from lineage.store import read_or_none
from lineage.workspace.archive_notes import publish_archive_notes
from lineage.workspace.session_notes import publish_all_notes
from lineage.workspace.workspace import Workspace

MAX_BUNDLE_BYTES = 8 << 20
"""The size of a bundle's artifacts: the bytes to unpack for one of them, and to rewrite for a removal."""

UNFINISHED, UNNAMED, RECENT, DAMAGED, LARGE = "unfinished", "in no manifest", "ended later", "damaged", "too large"

_MAX_MEMBERS = 2000
_HINT = f"name a day such as 2026-01-01, {WINDOW_DAYS} days ago or more"


@dataclass(slots=True)
class ArchiveResult:
    """The artifacts, sessions and bytes archived, or to archive; the artifacts by month.

    `left` counts by reason the artifacts from before the day that stay. `problems` are (path, error message).
    """

    before: str
    dry_run: bool
    artifacts: int = 0
    sessions: int = 0
    bytes: int = 0
    months: dict[str, int] = field(default_factory=dict)
    left: dict[str, int] = field(default_factory=dict)
    problems: list[tuple[str, str]] = field(default_factory=list)

    def count_left(self, reason: str) -> None:
        """Count an artifact that stays."""
        self.left[reason] = self.left.get(reason, 0) + 1


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An artifact to archive, with its manifest and the bytes of its file."""

    artifact: Artifact
    manifest: Manifest
    data: bytes


def archive(ws: Workspace, before: str, *, dry_run: bool = False) -> ArchiveResult:
    """Archive every artifact captured, of a session that ended, before the UTC day `before`.

    A second run changes nothing. Raises InvalidInput for a malformed day and for one inside the window.
    """
    result = ArchiveResult(before, dry_run)
    moment = _parse_day(ws, before)
    tokens = set[str]()
    with session_lock(ws, moment):  # excludes other runs: a time is no token, so no session has this lock
        for month, paths in groupby(_list_candidates(ws, moment, result), key=month_of):
            tokens |= _archive_month(ws, month, list(paths), moment, result)
    result.sessions = len(tokens)
    return result


def finish_archive(ws: Workspace, job: Job) -> None:
    """Run the steps after the bundles of a month, from its job alone. The caller holds the lock of the job's token."""
    month, archives = job.token, ws.documents.archives
    ws.documents.notice_archive()  # the bundles that this process wrote count from here on
    publish_archive_notes(ws)
    removed = ws.documents.tombstones.list_tokens()
    plain = {entry.key for entry in ws.documents.base.list(naming.MEMORY)}
    unsettled = [p for p in archives.list_members(month) if p in plain or _extract_token(p) in removed]
    for token, group in groupby(sorted(unsettled, key=_extract_token), key=_extract_token):
        with session_lock(ws, token):
            _delete_originals(ws, token, list(group))
    ws.index.update_stamps([(path, format_stamp(member)) for path, member in archives.list_members(month).items()])
    publish_archive_notes(ws)  # again, without the artifacts that left the bundles
    publish_all_notes(ws)
    archives.collect_garbage()
    ws.documents.spool.clear(job)


def _parse_day(ws: Workspace, before: str) -> str:
    moment = to_utc_or_none(f"{before}T00:00:00Z") if len(before) == len("2026-01-01") else None
    if moment is None:
        raise InvalidInput(f"not a day: {before[:40]!r}", hint=_HINT)
    if moment > Window.from_end(ws.now).since:
        raise InvalidInput(f"{before} is within the last {WINDOW_DAYS} days, which MEMORY.md lists", hint=_HINT)
    return moment


def _list_candidates(ws: Workspace, moment: str, result: ArchiveResult) -> Iterator[str]:
    """Yield the plain files of artifacts from before a moment, oldest first, of sessions without an unfinished job."""
    removed = ws.documents.tombstones.list_tokens()
    pending = {job.token for job in ws.documents.spool.list_pending()}
    for entry in ws.documents.base.list(naming.MEMORY):
        name = naming.parse_path(entry.key)
        if name is None or not is_archivable(entry.key) or name.captured_at >= moment or name.token in removed:
            continue
        if name.token in pending:
            result.count_left(UNFINISHED)
        else:
            yield entry.key


def _archive_month(ws: Workspace, month: str, paths: list[str], moment: str, result: ArchiveResult) -> set[str]:
    """Archive files of a month, settle plain files of archived ones, and return the tokens of their sessions."""
    job = Job(flow=ARCHIVAL, token=month, captured_at=ws.now, sentence="", quality="", payload={})
    archived = ws.documents.archives.list_members(month)
    has_duplicates, tokens = any(path in archived for path in paths), set[str]()
    if has_duplicates and not result.dry_run:
        ws.documents.spool.put(job)
    candidates = (_load_candidate(ws, path, moment, result) for path in paths if path not in archived)
    for pack in _group_into_packs(filter(None, candidates)):
        result.artifacts += len(pack)
        result.bytes += sum(len(one.data) for one in pack)
        result.months[month] = result.months.get(month, 0) + len(pack)
        tokens |= {one.artifact.identity.token for one in pack}
        if not result.dry_run:
            ws.documents.spool.put(job)
            files = {one.artifact.path: one.data for one in pack}
            ws.documents.archives.write_bundle(month, _build_bundle(pack), files)
    if not result.dry_run and (has_duplicates or tokens):
        finish_archive(ws, job)
    return tokens


def _load_candidate(ws: Workspace, path: str, moment: str, result: ArchiveResult) -> _Candidate | None:
    """Return the artifact in a plain file with its manifest; None, counted by reason, if it stays."""
    blob = read_or_none(ws.documents.base, path)
    if blob is None:
        return None
    try:
        artifact = parse_document_as(Artifact, blob.data, path)
        name = naming.parse_path(artifact.manifest_path)
        manifest = ws.documents.manifests.get(name.stem) if name else None
    except FormatError as error:
        result.count_left(DAMAGED)
        result.problems.append((path, error.message))
        return None
    if manifest is None or path not in list_artifact_paths(manifest):
        result.count_left(UNNAMED)
    elif compute_membership(artifact.ended_at, artifact.captured_at) >= moment:
        result.count_left(RECENT)
    elif len(blob.data) > LIMITS.member_bytes:
        result.count_left(LARGE)
    else:
        return _Candidate(artifact, manifest, blob.data)
    return None


def _group_into_packs(candidates: Iterable[_Candidate]) -> Iterator[list[_Candidate]]:
    """Yield the artifacts of one bundle each, bounded in number and bytes."""
    pack, size = list[_Candidate](), 0
    for one in candidates:
        if pack and (size + len(one.data) > MAX_BUNDLE_BYTES or len(pack) == _MAX_MEMBERS):
            yield pack
            pack, size = [], 0
        pack.append(one)
        size += len(one.data)
    if pack:
        yield pack


def _build_bundle(pack: list[_Candidate]) -> Bundle:
    sessions = {one.artifact.identity.token: BundledSession.from_manifest(one.manifest) for one in pack}
    return Bundle(
        holds=SESSIONS,
        exported_at=max(one.artifact.captured_at for one in pack),
        lineage_version=__version__,
        sanitizer_version=max(one.artifact.sanitizer_version for one in pack),
        private=any(one.artifact.private for one in pack),
        sessions=tuple(sessions[token] for token in sorted(sessions)),
        members=(),
    )


def _delete_originals(ws: Workspace, token: str, paths: list[str]) -> None:
    """Delete the archived originals of a session; drop removed and changed files from the bundle."""
    archives = ws.documents.archives
    if not ws.documents.tombstones.has(token):
        changed = [path for path in paths if not archives.delete_if_archived(path)]
        paths = [path for path in changed if _is_sound(ws, path)]
    archives.remove(paths)


def _is_sound(ws: Workspace, path: str) -> bool:
    """Return whether a plain file holds an artifact that may replace the archived one."""
    with contextlib.suppress(FormatError):
        blob = read_or_none(ws.documents.base, path)
        return blob is not None and parse_document_as(Artifact, blob.data, path).path == path
    return False


def _extract_token(path: str) -> str:
    return naming.find_tokens(path)[0]
