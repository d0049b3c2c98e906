"""The offline proof of the MUST/SHOULD list (law 2).

A MUST finding means data lost or leaked; a SHOULD finding needs a rebuild. Every file is read; nothing is changed.
"""

import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from lineage.core.base import naming
from lineage.core.base.book_paths import BOOKS, CURATED_PATH
from lineage.core.base.note_paths import find_block
from lineage.core.base.times import shift_time, to_date
from lineage.core.capture.ledger import Window, build_entries, build_head, build_ledger, find_parent, is_visible
from lineage.core.format.documents import Artifact, Claim, Manifest, find_unknown_keys
from lineage.core.format.manifest import list_artifact_paths
from lineage.core.format.resanitization import Replacement, is_recorded_change
from lineage.core.format.transcript import extract_links
from lineage.core.transfer.archive_paths import ARCHIVE, find_month, month_path, note_to_artifact_path, parse_revision
from lineage.documents.artifacts import load_stored_document
from lineage.documents.bundle_zip import OWN_LIMITS, read_description
from lineage.errors import FormatError, WorkspaceError
from lineage.index import BookRows, EntryRow, build_book_rows, parse_owner_token
from lineage.pipeline.maintenance.watch import is_sync_leftover
from lineage.projection.archive_md import parse_contents_hash
from lineage.store import read_or_none
from lineage.workspace.archive_notes import group_archived_by_month, list_notes, render_month_notes
from lineage.workspace.book_index import group_by_book, read_books
from lineage.workspace.publish import list_published_agents, render_agent_memory
from lineage.workspace.session_notes import SessionNotes
from lineage.workspace.session_notes import list_notes as list_session_notes
from lineage.workspace.workspace import Workspace

MUST = "MUST"
SHOULD = "SHOULD"

_REINDEX = "lineage reindex"
_RENDER = "lineage admin render"
_RECOVER = "lineage admin recover"
_RESANITIZE = "lineage admin resanitize"
_REBUILD = "delete .lineage/index.db, then lineage reindex"
_RESTORE = "restore the file from a backup or git"
_RESTORE_BUNDLE = "restore the bundle from a backup or git"
_MOVE_AWAY = "move it away"
_BY_HAND = "edit the file: every word of it is still there"
_MERGE = "copy what only it says into the book, then delete it"

_LEFT = "a file that a dead writer left"
_SIBLING = re.compile(r"\[\[(memory/[^|\]#]+)")


@dataclass(frozen=True, slots=True, order=True)
class VerifyFinding:
    """A fault, its place, and the command that mends it."""

    level: str
    path: str
    what: str
    mend: str


@dataclass(slots=True)
class WorkspaceScan:
    """The documents of a workspace, read once. `claims` are stems by token, None for a damaged claim."""

    removed: frozenset[str]
    claims: dict[str, str | None] = field(default_factory=dict)
    artifacts: dict[str, Artifact] = field(default_factory=dict)
    manifests: dict[str, Manifest] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)
    findings: list[VerifyFinding] = field(default_factory=list)
    records: list[Replacement] = field(default_factory=list)


def verify(ws: Workspace) -> list[VerifyFinding]:
    """Return every finding, sorted. Without one, each promise of the format holds."""
    scan = WorkspaceScan(ws.documents.tombstones.list_tokens())
    for entry in ws.documents.store.list(naming.MEMORY):
        _scan_key(ws, entry.key, scan)
    findings = [
        *scan.findings,
        *_check_manifests(scan),
        *_check_unnamed(scan),
        *_check_links(scan),
        *_check_spool(ws),
        # the files of dead writers may hold text of any session, a removed one too
        *(VerifyFinding(SHOULD, key, _LEFT, _RECOVER) for key in ws.documents.store.find_abandoned()),
        *_check_sanitized(ws, scan),
        *_check_replaced(scan),
        *_check_rows(ws, scan),
        *_check_books(ws, scan.removed),
        *_check_ledgers(ws, scan),
        *_check_archive(ws),
        *_check_session_notes(ws, scan.removed),
    ]
    return sorted(findings)


def _scan_key(ws: Workspace, path: str, scan: WorkspaceScan) -> None:
    removed = next((token for token in naming.find_tokens(path) if token in scan.removed), None)
    if removed and not path.startswith(naming.TOMBSTONES):
        scan.findings.append(_build_returned_finding(path, removed))
    elif naming.parse_path(path) or naming.is_claim_or_tombstone(path):
        _scan_file(ws, path, scan)
    else:
        scan.findings.append(VerifyFinding(SHOULD, path, "not a name of ours: a sync's leftover?", _MOVE_AWAY))


def _scan_file(ws: Workspace, path: str, scan: WorkspaceScan) -> None:
    try:
        loaded = load_stored_document(ws.documents.store, path)
        if loaded is None:
            return
        document = loaded.document
    except FormatError as error:
        # Only a claim can be rebuilt.
        level, mend = (SHOULD, _RECOVER) if path.startswith(naming.CLAIMS) else (MUST, _RESTORE)
        if level == SHOULD:
            scan.claims.update(dict.fromkeys(naming.find_tokens(path)))
        scan.findings.append(VerifyFinding(level, path, error.message.removeprefix(f"{path}: "), mend))
        return
    parent = find_parent(document) if isinstance(document, Artifact | Manifest) else None
    if parent and parent in scan.removed:
        scan.findings.append(_build_returned_finding(path, parent, "a sub-agent's file of a removed session"))
    elif isinstance(document, Claim):
        scan.claims[document.session_token] = document.stem
    elif isinstance(document, Artifact):
        scan.artifacts[path] = document
        scan.hashes[path] = loaded.sha256
        for key in find_unknown_keys(loaded.head):
            scan.findings.append(VerifyFinding(SHOULD, path, f"a key of no artifact: {key!r}", "remove the key"))
    elif isinstance(document, Manifest):
        scan.manifests[path] = document
        scan.records += document.replacements()
        scan.hashes[path] = loaded.sha256


def _check_manifests(scan: WorkspaceScan) -> Iterator[VerifyFinding]:
    """Check that manifests name existing artifacts, and that the claimed manifest is the session's only one."""
    for path, manifest in scan.manifests.items():
        for named in list_artifact_paths(manifest):
            if named not in scan.artifacts:
                yield VerifyFinding(MUST, path, f"names {named}, which is not there", _RESTORE)
        for stem in (*manifest.previous, *manifest.related):
            other = stem.rpartition("--")[2]
            if other in scan.removed:
                yield _build_returned_finding(path, other, "links to a removed session")
        token = manifest.identity.token
        if token not in scan.claims:
            yield VerifyFinding(SHOULD, path, "the session's claim is missing", _REINDEX)
        elif scan.claims[token] not in (None, manifest.stem) and list_artifact_paths(manifest):
            yield VerifyFinding(SHOULD, path, "a second manifest of the session", _RECOVER)


def _check_unnamed(scan: WorkspaceScan) -> Iterator[VerifyFinding]:
    named = {path for manifest in scan.manifests.values() for path in list_artifact_paths(manifest)}
    for path, artifact in scan.artifacts.items():
        if path not in named:
            yield VerifyFinding(SHOULD, path, "in no manifest", _RECOVER)
        if artifact.manifest_path not in scan.manifests:
            yield VerifyFinding(SHOULD, path, f"its manifest {artifact.manifest_path} is not there", _RECOVER)


def _check_links(scan: WorkspaceScan) -> Iterator[VerifyFinding]:
    """Check that the siblings linked at the head of a file exist; a removed session's may be missing."""
    documents: dict[str, Artifact | Manifest] = {**scan.artifacts, **scan.manifests}
    for path, document in documents.items():
        for target in _SIBLING.findall(extract_links(document.body)):
            name = naming.parse_path(target)
            if target not in scan.hashes and not (name and name.token in scan.removed):
                yield VerifyFinding(SHOULD, path, f"links to {target}, which is not there", _RECOVER)


def _check_spool(ws: Workspace) -> Iterator[VerifyFinding]:
    """Check that the spool is private, and report its unfinished jobs, waiting events and damaged files."""
    for key in ws.documents.spool.store.world_readable():
        yield VerifyFinding(MUST, f".lineage/{key}", "raw text that others can read", "chmod 700 .lineage/spool")
    for job in ws.documents.spool.list_pending():
        yield VerifyFinding(SHOULD, f".lineage/spool/{job.name}", f"an unfinished {job.flow}", _RECOVER)
    for event in ws.documents.hook_queue.list_pending():
        yield VerifyFinding(SHOULD, f".lineage/{event.key}", f"a signal of {event.harness} that waits", "lineage work")
    for event in ws.documents.hook_queue.dead_letters():
        yield VerifyFinding(SHOULD, f".lineage/{event.key}", f"given up: {event.why}", "look at it, then delete it")
    for key in [*ws.documents.spool.list_damaged(), *ws.documents.hook_queue.list_damaged()]:
        yield VerifyFinding(SHOULD, f".lineage/{key}", "no job that can be read", "look at it, then delete it")


def _check_sanitized(ws: Workspace, scan: WorkspaceScan) -> Iterator[VerifyFinding]:
    """Check that today's rules find nothing in committed artifacts: no unsanitized text outside the spool."""
    sanitizer = ws.build_sanitizer()
    for path, artifact in scan.artifacts.items():
        before = Counter(sanitizer.redactions)
        head, body = f"{artifact.title}\n{artifact.memory_sentence}\n", artifact.body
        if isinstance(body, str):
            sanitizer.sanitize(head + body)
        else:
            deque(sanitizer.sanitize_stream(chain([head], body.chunks())), maxlen=0)  # for its counts only
        for rule in sorted(sanitizer.redactions - before):
            yield VerifyFinding(MUST, path, f"holds what the rule {rule!r} redacts", _RESANITIZE)


def _check_replaced(scan: WorkspaceScan) -> Iterator[VerifyFinding]:
    """Check that a resanitized artifact has the new hash of its latest record."""
    for record in {record.path: record for record in scan.records}.values():
        digest = scan.hashes.get(record.path)
        if digest == record.old:
            yield VerifyFinding(SHOULD, record.path, "its redaction under new rules was cut off", _RESANITIZE)
        elif digest not in (record.new, None):
            yield VerifyFinding(MUST, record.path, "changed since it was redacted under new rules", _RESTORE)


def _check_rows(ws: Workspace, scan: WorkspaceScan) -> Iterator[VerifyFinding]:
    known = {item.path: item for item in ws.index.iter_files()}
    for path, digest in scan.hashes.items():
        if path not in known:
            yield VerifyFinding(SHOULD, path, "has no row in the index", _REINDEX)
        elif known[path].sha256 != digest:
            is_lawful = path in scan.manifests or is_recorded_change(scan.records, path, known[path].sha256, digest)
            level, mend = (SHOULD, _REINDEX) if is_lawful else (MUST, _RESTORE)
            yield VerifyFinding(level, path, "changed since it was indexed", mend)
    for path in known.keys() - scan.hashes.keys():
        yield VerifyFinding(SHOULD, path, "has a row but no readable file", _REINDEX)


def _check_books(ws: Workspace, removed: frozenset[str]) -> Iterator[VerifyFinding]:
    """Check books for damage, foreign copies, removed sessions and differing rows."""
    paths = [entry.key for entry in ws.documents.store.list(BOOKS)]
    for path in filter(is_sync_leftover, paths):
        yield VerifyFinding(SHOULD, path, "a sync client's copy: what it says is in no book", _MERGE)
    known = {item.path: item.sha256 for item in ws.index.iter_book_files()}
    unreadable: dict[str, str] = {}
    for (scope, kind), shelves in group_by_book({CURATED_PATH, *paths, *known}).items():
        if (token := parse_owner_token(scope)) in removed:
            for ref in shelves:
                if ref.path in paths:
                    yield _build_returned_finding(ref.path, token, "a removed session's book came back")
        expected = build_book_rows(next(read_books(ws, [shelves], unreadable)))
        for path, what in expected.problems:
            yield VerifyFinding(SHOULD, path, what, _BY_HAND)
        for row in expected.removed_entries:
            what = f"entry {row.id} is what a removed session said"
            yield _build_returned_finding(row.path, row.origin_token, what)
        rows = ws.index.load_entries(scope, kind)
        yield from _check_book_rows(expected, {ref.path: known.get(ref.path) for ref in shelves}, rows)
    for path, what in unreadable.items():
        yield VerifyFinding(SHOULD, path, what.removeprefix(f"{path}: "), _BY_HAND)


def _check_book_rows(
    expected: BookRows, known: Mapping[str, str | None], rows: Sequence[EntryRow]
) -> Iterator[VerifyFinding]:
    """Check that every entry has its row. `known` are the hashes of the files as indexed."""
    files = dict.fromkeys(known) | dict(expected.files)
    changed = [path for path, digest in files.items() if digest != known.get(path)]
    for path in changed:
        yield VerifyFinding(SHOULD, path, "its entries aren't those of the index", _REINDEX)
    differ = {row.path for row in {*rows}.symmetric_difference(expected.rows)} if not changed else set()
    for path in differ:
        yield VerifyFinding(SHOULD, path, "its entries aren't those of the index, though it didn't change", _REBUILD)


def _build_returned_finding(path: str, token: str, what: str = "a removed session's file came back") -> VerifyFinding:
    return VerifyFinding(MUST, path, what, f"lineage remove {token} --again")


def _check_ledgers(ws: Workspace, scan: WorkspaceScan) -> Iterator[VerifyFinding]:
    """Check that each agent's MEMORY.md matches the files, as of its last render."""
    marks, artifacts = ws.telemetry.read_marks(), scan.artifacts.values()
    whole = {a.identity.token for a in artifacts if a.kind == naming.TRANSCRIPT and not a.partial}
    documents: Iterator[Artifact | Manifest] = chain(artifacts, scan.manifests.values())
    sub_agents = {document.identity.token for document in documents if find_parent(document)}
    shown = [a for a in artifacts if not (a.partial and a.identity.token in whole) and is_visible(a)]
    for agent in sorted({artifact.agent_id for artifact in scan.artifacts.values()} | list_published_agents(ws)):
        path = naming.memory_md_path(agent)
        blob = read_or_none(ws.documents.store, path)
        window = Window.from_end(marks.get(f"rendered {agent}", ws.now))
        heads = (build_head(a) for a in shown if a.agent_id == agent and a.identity.token not in sub_agents)
        ledger = build_ledger([entry for entry in build_entries(heads) if window.contains(entry.membership)])
        text = render_agent_memory(ws, agent, ledger).text
        if blob is None or blob.data != text.encode():
            yield VerifyFinding(SHOULD, path, "is not what the files say" if blob else "is missing", _RENDER)


def _check_session_notes(ws: Workspace, removed: frozenset[str]) -> Iterator[VerifyFinding]:
    """Check the blocks in the notes of projects and days. A note without one is a person's."""
    notes = SessionNotes(ws)
    for key in sorted({*notes.list_keys(), *list_session_notes(ws)}):
        text = notes.render(key)
        try:
            blob = read_or_none(ws.documents.store, key)
        except WorkspaceError as error:
            yield VerifyFinding(SHOULD, key, error.message, _MOVE_AWAY)
            continue
        block = find_block(blob.data) if blob else None
        if blob is None and text is not None:
            yield VerifyFinding(SHOULD, key, "is missing", _RENDER)
        elif block is not None and block.decode("utf-8", "replace") != text:
            returned = removed.intersection(naming.find_tokens(block.decode("utf-8", "replace")))
            yield (
                _build_returned_finding(key, min(returned), "names a removed session")
                if returned
                else VerifyFinding(SHOULD, key, "is not what the files say", _RENDER)
            )


def _check_archive(ws: Workspace) -> Iterator[VerifyFinding]:
    """Yield the faults of bundles, catalogs, archived artifacts with a plain file, file names and notes."""
    archives = ws.documents.archives
    for path, message in archives.find_damaged().items():
        yield VerifyFinding(MUST, path, message, _RESTORE_BUNDLE)
    removed = ws.documents.tombstones.list_tokens()
    for revision in archives.find_superseded():
        yield _check_superseded(ws, revision.path, removed)
    for catalog in archives.iter_catalogs():
        blob = read_or_none(ws.documents.base, catalog.revision.path)
        if blob and read_description(blob.data, OWN_LIMITS) not in (None, catalog.bundle):
            path = catalog.revision.catalog_path
            yield VerifyFinding(MUST, path, "is not what its bundle holds", f"delete it, then {_RECOVER}")
    yield from _check_names(ws)
    yield from _check_duplicates(ws)
    yield from _check_notes(ws, removed)


def _check_superseded(ws: Workspace, path: str, removed: frozenset[str]) -> VerifyFinding:
    blob = read_or_none(ws.documents.base, path)
    bundle = read_description(blob.data, OWN_LIMITS) if blob else None
    for session in bundle.sessions if bundle else ():
        if session.session_token in removed:
            return _build_returned_finding(path, session.session_token)
    return VerifyFinding(SHOULD, path, "an older revision: left behind, or brought back", _RECOVER)


def _check_names(ws: Workspace) -> Iterator[VerifyFinding]:
    keys = [entry.key for entry in ws.documents.base.list(ARCHIVE)]
    files = {parsed for key in keys if (parsed := parse_revision(key))}
    for key in keys:
        parsed, month = parse_revision(key), find_month(key)
        if parsed and (parsed[0], True) not in files:
            yield VerifyFinding(SHOULD, key, "lists a bundle that is not there", _RECOVER)
        elif not parsed and month and not note_to_artifact_path(key) and key != month_path(month):
            yield VerifyFinding(SHOULD, key, "not a name of ours: a sync's leftover?", _MOVE_AWAY)
    for catalog in ws.documents.archives.iter_catalogs():
        if (catalog.revision, False) not in files:
            yield VerifyFinding(SHOULD, catalog.revision.path, "its catalog is missing", _RECOVER)


def _check_duplicates(ws: Workspace) -> Iterator[VerifyFinding]:
    """Yield a fault for each archived artifact with a plain file."""
    for path in ws.documents.archives.list_members():
        plain = read_or_none(ws.documents.base, path)
        try:
            archived = ws.documents.archives.read(path) if plain else None
        except FormatError:  # reported with the bundle's members
            continue
        if plain and archived and plain.data != archived.data:
            remedy = "restore the right one from a backup or git"
            yield VerifyFinding(MUST, path, "is archived with other content", remedy)
        elif plain and archived:
            name = naming.parse_path(path)
            next_day = to_date(shift_time(name.captured_at, days=1)) if name else ""
            yield VerifyFinding(SHOULD, path, "is archived, and there still", f"lineage archive --before {next_day}")


def _check_notes(ws: Workspace, removed: frozenset[str]) -> Iterator[VerifyFinding]:
    months, notes = group_archived_by_month(ws), list_notes(ws)
    for month in sorted({*months, *notes}):
        members = months.get(month, {})
        expected = dict(render_month_notes(ws, month, members))
        for key in sorted({*expected, *notes.get(month, ())}):
            blob = read_or_none(ws.documents.base, key)
            # a damaged artifact has no note to compare; `verify` reports the artifact itself
            is_damaged = key not in expected and note_to_artifact_path(key) in members
            if expected.get(key) != (blob.data if blob else None) and not is_damaged:
                yield _build_note_finding(key, blob.data if blob else None, removed)


def _build_note_finding(key: str, data: bytes | None, removed: frozenset[str]) -> VerifyFinding:
    path = note_to_artifact_path(key)
    name = naming.parse_path(path or "")
    if name and name.token in removed:
        return _build_returned_finding(key, name.token)
    if data is None:
        return VerifyFinding(SHOULD, key, "is missing", _REINDEX)
    if path is None and parse_contents_hash(data) is None:
        what = "somebody else's note, where the list of a month belongs"
        return VerifyFinding(SHOULD, key, what, f"{_MOVE_AWAY}, then {_REINDEX}")
    return VerifyFinding(SHOULD, key, "is not what the bundles say", f"delete it, then {_REINDEX}")
