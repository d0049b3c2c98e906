"""Today's format for files that may change: manifests, the heads of books, projections (format: Format version).

Artifacts, claims and tombstones never change, and stay valid. Each file is replaced in one step, so a run that was cut
off is gone on with by the next one, and a second run changes nothing.
"""

from collections import Counter
from dataclasses import dataclass, field

from lineage.core.base import naming
from lineage.core.books.book import upgrade_book
from lineage.core.format import frontmatter
from lineage.core.format.documents import FORMAT, read_head
from lineage.errors import FormatError
from lineage.pipeline.capture.linking import upgrade_manifest
from lineage.pipeline.maintenance.reindex import sync_rows
from lineage.workspace.publish import publish_all
from lineage.workspace.workspace import Workspace


@dataclass(slots=True)
class UpgradeReport:
    """The paths that came, or would come, to today's format; the field names are JSON keys.

    `immutable` counts the files of each older format that stay as they are, `unchanged` the mutable ones that have
    today's. `problems` are (path, reason) of files that can't be read, left alone.
    """

    format: int = FORMAT
    manifests: list[str] = field(default_factory=list)
    books: list[str] = field(default_factory=list)
    projections: list[str] = field(default_factory=list)
    unchanged: int = 0
    immutable: Counter[str] = field(default_factory=Counter)
    problems: list[tuple[str, str]] = field(default_factory=list)


def upgrade(ws: Workspace, *, dry_run: bool) -> UpgradeReport:
    """Bring manifests, books and projections to today's format."""
    report = UpgradeReport()
    if not dry_run:
        sync_rows(ws)  # manifests link what the rows know
    for entry in ws.documents.store.list(naming.MEMORY):
        name = naming.parse_path(entry.key)
        try:
            if name and name.kind == naming.MANIFEST:
                changed = upgrade_manifest(ws, name.token, name.stem, dry_run=dry_run)
                _note(report, report.manifests, entry.key, changed=changed)
            elif name or naming.is_claim_or_tombstone(entry.key):
                number = _read_format(ws, entry.key)
                report.immutable.update([str(number)] if number < FORMAT else [])
        except FormatError as error:
            report.problems.append((entry.key, error.message))
    for ref in ws.documents.books.list():
        book = ws.documents.books.read(ref)
        try:
            changed = upgrade_book(book) != book
            if changed and not dry_run:
                changed = ws.documents.books.update(ref.scope, ref.kind, upgrade_book, ref.shelf)
            _note(report, report.books, ref.path, changed=changed)
        except FormatError as error:
            report.problems.append((ref.path, error.message))
    if not dry_run:
        sync_rows(ws)
        report.projections = [naming.memory_md_path(p.agent_id) for p in publish_all(ws) if p.written]
    return report


def _note(report: UpgradeReport, paths: list[str], path: str, *, changed: bool) -> None:
    if changed:
        paths.append(path)
    else:
        report.unchanged += 1


def _read_format(ws: Workspace, path: str) -> int:
    with ws.documents.store.open(path) as stream:
        head = read_head(stream.chunks).decode("utf-8", "replace")
    number = frontmatter.load(head).metadata.get("format", 1)
    return number if isinstance(number, int) else 1
