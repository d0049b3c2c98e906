"""The one mutable file of a session, changed by compare-and-swap. (spec: mutable session manifest; concurrency)"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from lineage.core.base import naming
from lineage.core.format import manifest as revisions
from lineage.core.format.documents import Artifact, Manifest, parse_document_as, serialize_document
from lineage.core.format.resanitization import Replacement
from lineage.store import Store, read_or_none, update

if TYPE_CHECKING:
    from lineage.core.sanitizer import Sanitizer


class Manifests(NamedTuple):
    store: Store

    def get(self, stem: str) -> Manifest | None:
        """The manifest of a claimed stem, None where there is none yet. Raises FormatError where it is damaged."""
        path = naming.artifact_path(stem, naming.MANIFEST)
        blob = read_or_none(self.store, path)
        return parse_document_as(Manifest, blob.data, path) if blob else None

    def link(self, stem: str, artifacts: Sequence[Artifact], write_id: str, now: str) -> bool:
        """Names the artifacts of one capture or compaction in the manifest. False where it names them already.

        `write_id` is unique for this write: an answer that was lost is recognised by reading it back.
        """
        path = naming.artifact_path(stem, naming.MANIFEST)

        def change(data: bytes | None) -> bytes | None:
            current = parse_document_as(Manifest, data, path) if data is not None else None
            changed = revisions.link_artifacts(current, stem, artifacts, write_id, now)
            return serialize_document(changed) if changed else None

        return update(self.store, path, change)

    def record_replacements(
        self, stem: str, records: Sequence[Replacement], sanitizer: "Sanitizer", write_id: str, now: str
    ) -> bool:
        """Records that artifacts are replaced under new redaction rules. False where that is recorded already."""
        path = naming.artifact_path(stem, naming.MANIFEST)

        def change(data: bytes | None) -> bytes | None:
            current = parse_document_as(Manifest, data, path) if data is not None else None
            if current is None or {record.as_text() for record in records} <= set(current.resanitized):
                return None
            return serialize_document(revisions.record_replacements(current, records, sanitizer, write_id, now))

        return update(self.store, path, change)

    def retire(self, stem: str, successor: str, write_id: str, now: str) -> bool:
        """Empties a second manifest of a session, whose captures the one at `successor` names by now."""
        path = naming.artifact_path(stem, naming.MANIFEST)

        def change(data: bytes | None) -> bytes | None:
            current = parse_document_as(Manifest, data, path) if data is not None else None
            is_due = current is not None and bool(current.captures or current.compactions)
            return (
                serialize_document(revisions.retire(current, successor, write_id, now)) if current and is_due else None
            )

        return update(self.store, path, change)
