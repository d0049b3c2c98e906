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
from lineage.core.books.book import UNMERGED
from lineage.core.capture.ledger import Window, build_entries, build_head, build_ledger, find_parent, is_visible
from lineage.core.format.documents import Artifact, Claim, Manifest, find_unknown_keys
from lineage.core.format.manifest import list_artifact_paths
from lineage.core.format.resanitization import Replacement, is_recorded_change
from lineage.core.format.transcript import extract_links
from lineage.documents.artifacts import load_stored_document
from lineage.errors import FormatError, WorkspaceError
from lineage.index import BookRows, EntryRow, build_book_rows, parse_owner_token
from lineage.pipeline.maintenance.findings import (
    MOVE_AWAY,
    MUST,
    RECOVER,
    REINDEX,
    RENDER,
    RESANITIZE,
    RESTORE,
    SHOULD,
    VerifyFinding,
    build_damaged_remedy,
    build_lost_finding,
    build_returned_finding,
)
from lineage.pipeline.maintenance.verify_archive import check_archive
from lineage.pipeline.maintenance.watch import find_original, is_sync_leftover
from lineage.store import read_or_none
from lineage.workspace.book_index import group_by_book, read_books
from lineage.workspace.publish import list_published_agents, render_agent_memory
from lineage.workspace.session_notes import SessionNotes
from lineage.workspace.session_notes import list_notes as list_session_notes
from lineage.workspace.workspace import Workspace

_REBUILD = "delete .lineage/index.db, then lineage reindex"
_BY_HAND = "edit the file: every word of it is still there"
_AT_LINE = "put that line right in an editor, then lineage reindex; till then its words stand there as text of yours"
_UNMERGED_REMEDY = "take git's lines out in an editor, keep of the rest what holds, then lineage reindex"
_UNCLOSED = re.compile(r"entry (\w+): its end is missing(, in place of)?")
_RETURNED = re.compile(r"entry (\w+) was forgotten, and is there again")
_MERGE = "copy what only it says into the book, then delete it"
_LEFT = "a file that a dead writer left"
_LEDGER_NAME = "/MEMORY.md"
_BESIDE = (CURATED_PATH, "MEMORY.md", "lineage.toml")  # what lineage reads and writes at the top
_SIBLING = re.compile(r"\[\[(memory/[^|\]#]+)")


@dataclass(slots=True)
class WorkspaceScan:
    """The documents of a workspace, read once. `claims` are stems by token, None for a damaged claim.

    `damaged` are the files that are there and can't be read as documents: each has its finding.
    """

    removed: frozenset[str]
    claims: dict[str, str | None] = field(default_factory=dict)
    artifacts: dict[str, Artifact] = field(default_factory=dict)
    manifests: dict[str, Manifest] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)
    damaged: set[str] = field(default_factory=set)
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
        *(VerifyFinding(SHOULD, key, _LEFT, RECOVER) for key in ws.documents.store.find_abandoned()),
        *_check_sanitized(ws, scan),
        *_check_replaced(scan),
        *_check_rows(ws, scan),
        *_check_copies(ws),
        *_check_books(ws, scan.removed),
        *_check_ledgers(ws, scan),
        *check_archive(ws),
        *_check_session_notes(ws, scan.removed),
    ]
    return sorted(findings)


def _scan_key(ws: Workspace, path: str, scan: WorkspaceScan) -> None:
    removed = next((token for token in naming.find_tokens(path) if token in scan.removed), None)
    if removed and not path.startswith(naming.TOMBSTONES):
        scan.findings.append(build_returned_finding(path, removed))
    elif naming.parse_path(path) or naming.is_claim_or_tombstone(path):
        _scan_file(ws, path, scan)
    else:
        scan.findings.append(VerifyFinding(SHOULD, path, "not a name of ours: a sync's leftover?", MOVE_AWAY))


def _scan_file(ws: Workspace, path: str, scan: WorkspaceScan) -> None:
    try:
        loaded = load_stored_document(ws.documents.store, path)
        if loaded is None:
            return
        document = loaded.document
    except FormatError as error:
        scan.damaged.add(path)
        # Only a claim can be rebuilt.
        level, mend = (SHOULD, RECOVER) if path.startswith(naming.CLAIMS) else (MUST, build_damaged_remedy(path))
        if level == SHOULD:
            scan.claims.update(dict.fromkeys(naming.find_tokens(path)))
        scan.findings.append(VerifyFinding(level, path, error.message.removeprefix(f"{path}: "), mend))
        return
    parent = find_parent(document) if isinstance(document, Artifact | Manifest) else None
    if parent and parent in scan.removed:
        scan.findings.append(build_returned_finding(path, parent, "a sub-agent's file of a removed session"))
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
        for named in _list_lost(scan, manifest):
            yield build_lost_finding(manifest, named, scan.artifacts)
        for stem in (*manifest.previous, *manifest.related):
            other = stem.rpartition("--")[2]
            if other in scan.removed:
                yield build_returned_finding(path, other, "links to a removed session")
        token = manifest.identity.token
        if token not in scan.claims:
            yield VerifyFinding(SHOULD, path, "the session's claim is missing", REINDEX)
        elif scan.claims[token] not in (None, manifest.stem) and list_artifact_paths(manifest):
            yield VerifyFinding(SHOULD, path, "a second manifest of the session", RECOVER)


def _list_lost(scan: WorkspaceScan, manifest: Manifest) -> list[str]:
    """Return the files that a manifest names and that are not there."""
    return [path for path in list_artifact_paths(manifest) if path not in scan.artifacts and path not in scan.damaged]


def _check_unnamed(scan: WorkspaceScan) -> Iterator[VerifyFinding]:
    named = {path for manifest in scan.manifests.values() for path in list_artifact_paths(manifest)}
    for path, artifact in scan.artifacts.items():
        if artifact.manifest_path in scan.damaged:
            continue
        if path not in named:
            yield VerifyFinding(SHOULD, path, "in no manifest", RECOVER)
        if artifact.manifest_path not in scan.manifests:
            yield VerifyFinding(SHOULD, path, f"its manifest {artifact.manifest_path} is not there", RECOVER)


def _check_links(scan: WorkspaceScan) -> Iterator[VerifyFinding]:
    """Check that the siblings linked at the head of a file exist; a removed session's may be missing.

    One that is damaged, or that the manifest names, has a finding already.
    """
    reported = scan.damaged.union(*(_list_lost(scan, manifest) for manifest in scan.manifests.values()))
    documents: dict[str, Artifact | Manifest] = {**scan.artifacts, **scan.manifests}
    for path, document in documents.items():
        for target in _SIBLING.findall(extract_links(document.body)):
            name = naming.parse_path(target)
            is_removed = name is not None and name.token in scan.removed
            if target not in scan.hashes and target not in reported and not is_removed:
                yield VerifyFinding(SHOULD, path, f"links to {target}, which is not there", RECOVER)


def _check_spool(ws: Workspace) -> Iterator[VerifyFinding]:
    """Check that the spool is private, and report its unfinished jobs, waiting events and damaged files."""
    for key in ws.documents.spool.store.world_readable():
        yield VerifyFinding(MUST, f".lineage/{key}", "raw text that others can read", "chmod 700 .lineage/spool")
    for job in ws.documents.spool.list_pending():
        yield VerifyFinding(SHOULD, f".lineage/spool/{job.name}", f"an unfinished {job.flow}", RECOVER)
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
            yield VerifyFinding(MUST, path, f"holds what the rule {rule!r} redacts", RESANITIZE)


def _check_replaced(scan: WorkspaceScan) -> Iterator[VerifyFinding]:
    """Check that a resanitized artifact has the new hash of its latest record."""
    for record in {record.path: record for record in scan.records}.values():
        digest = scan.hashes.get(record.path)
        if digest == record.old:
            yield VerifyFinding(SHOULD, record.path, "its redaction under new rules was cut off", RESANITIZE)
        elif digest not in (record.new, None):
            yield VerifyFinding(MUST, record.path, "changed since it was redacted under new rules", RESTORE)


def _check_rows(ws: Workspace, scan: WorkspaceScan) -> Iterator[VerifyFinding]:
    known = {item.path: item for item in ws.index.iter_files()}
    for path, digest in scan.hashes.items():
        if path not in known:
            yield VerifyFinding(SHOULD, path, "has no row in the index", REINDEX)
        elif known[path].sha256 != digest:
            is_lawful = path in scan.manifests or is_recorded_change(scan.records, path, known[path].sha256, digest)
            level, mend = (SHOULD, REINDEX) if is_lawful else (MUST, RESTORE)
            yield VerifyFinding(level, path, "changed since it was indexed", mend)
    lost = {path for manifest in scan.manifests.values() for path in _list_lost(scan, manifest)}
    for path in known.keys() - scan.hashes.keys() - scan.damaged - lost:
        yield VerifyFinding(SHOULD, path, "has a row in the index, and no file", REINDEX)


def _check_copies(ws: Workspace) -> Iterator[VerifyFinding]:
    """Check for a sync client's copies of what lies beside memory and books: nobody reads them."""
    own = {*SessionNotes(ws).list_keys(), *_BESIDE}
    for entry in ws.documents.store.list(""):
        name, original = entry.key, find_original(entry.key)
        is_ours = original in own or (original.startswith(naming.AGENTS) and original.endswith(_LEDGER_NAME))
        if is_ours and name not in own and original != name:
            yield VerifyFinding(SHOULD, name, "a sync client's copy: nobody reads what only it says", MOVE_AWAY)


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
                    yield build_returned_finding(ref.path, token, "a removed session's book came back")
        expected = build_book_rows(next(read_books(ws, [shelves], unreadable)))
        for path, what in expected.problems:
            yield VerifyFinding(SHOULD, path, what, _build_book_remedy(what))
        for row in expected.removed_entries:
            what = f"entry {row.id} is what a removed session said"
            yield build_returned_finding(row.path, row.origin_token, what)
        rows = ws.index.load_entries(scope, kind)
        yield from _check_book_rows(expected, {ref.path: known.get(ref.path) for ref in shelves}, rows)
    for path, what in unreadable.items():
        yield VerifyFinding(SHOULD, path, what.removeprefix(f"{path}: "), _BY_HAND)


def _build_book_remedy(what: str) -> str:
    """Return what mends a problem of a book's file."""
    if entry := _UNCLOSED.match(what):
        place = "there" if entry[2] else "below its text"
        return f"write that line {place} (`lineage memory edit {entry[1]}` opens it), then lineage reindex"
    if entry := _RETURNED.match(what):
        return f"lineage memory forget {entry[1]} drops it, lineage memory restore {entry[1]} keeps it"
    if what.endswith(UNMERGED):
        return _UNMERGED_REMEDY
    return _AT_LINE if what.startswith("line ") else _BY_HAND


def _check_book_rows(
    expected: BookRows, known: Mapping[str, str | None], rows: Sequence[EntryRow]
) -> Iterator[VerifyFinding]:
    """Check that every entry has its row. `known` are the hashes of the files as indexed."""
    files = dict.fromkeys(known) | dict(expected.files)
    changed = [path for path, digest in files.items() if digest != known.get(path)]
    for path in changed:
        yield VerifyFinding(SHOULD, path, "its entries aren't those of the index", REINDEX)
    differ = {row.path for row in {*rows}.symmetric_difference(expected.rows)} if not changed else set()
    for path in differ:
        yield VerifyFinding(SHOULD, path, "its entries aren't those of the index, though it didn't change", _REBUILD)


def _check_ledgers(ws: Workspace, scan: WorkspaceScan) -> Iterator[VerifyFinding]:
    """Check that each agent's MEMORY.md matches the files, as of its last render.

    Where a file is damaged or gone, which has its finding, nobody knows what it should say: only of no removed session.
    """
    marks, artifacts = ws.telemetry.read_marks(), scan.artifacts.values()
    whole = {a.identity.token for a in artifacts if a.kind == naming.TRANSCRIPT and not a.partial}
    documents: Iterator[Artifact | Manifest] = chain(artifacts, scan.manifests.values())
    sub_agents = {document.identity.token for document in documents if find_parent(document)}
    shown = [a for a in artifacts if not (a.partial and a.identity.token in whole) and is_visible(a)]
    named = ((manifest.agent_id, list_artifact_paths(manifest)) for manifest in scan.manifests.values())
    incomplete = {agent for agent, paths in named if not scan.artifacts.keys() >= {*paths}}
    for agent in sorted({artifact.agent_id for artifact in scan.artifacts.values()} | list_published_agents(ws)):
        path = naming.memory_md_path(agent)
        blob = read_or_none(ws.documents.store, path)
        window = Window.from_end(marks.get(f"rendered {agent}", ws.now))
        heads = (build_head(a) for a in shown if a.agent_id == agent and a.identity.token not in sub_agents)
        ledger = build_ledger([entry for entry in build_entries(heads) if window.contains(entry.membership)])
        text = render_agent_memory(ws, agent, ledger).text
        if (
            blob
            and agent in incomplete
            and scan.removed.isdisjoint(naming.find_tokens(blob.data.decode("utf-8", "replace")))
        ):
            continue
        if blob is None or blob.data != text.encode():
            yield VerifyFinding(SHOULD, path, "is not what the files say" if blob else "is missing", RENDER)


def _check_session_notes(ws: Workspace, removed: frozenset[str]) -> Iterator[VerifyFinding]:
    """Check the blocks in the notes of projects and days. A note without one is a person's."""
    notes = SessionNotes(ws)
    for key in sorted({*notes.list_keys(), *list_session_notes(ws)}):
        text = notes.render(key)
        try:
            blob = read_or_none(ws.documents.store, key)
        except WorkspaceError as error:
            yield VerifyFinding(SHOULD, key, error.message, MOVE_AWAY)
            continue
        block = find_block(blob.data) if blob else None
        if blob is None and text is not None:
            yield VerifyFinding(SHOULD, key, "is missing", RENDER)
        elif block is not None and block.decode("utf-8", "replace") != text:
            returned = removed.intersection(naming.find_tokens(block.decode("utf-8", "replace")))
            yield (
                build_returned_finding(key, min(returned), "names a removed session")
                if returned
                else VerifyFinding(SHOULD, key, "is not what the files say", RENDER)
            )
