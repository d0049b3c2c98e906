"""Manifests over a store, changed by compare-and-swap (spec: mutable session manifest; concurrency)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lineage.core.base import naming
from lineage.core.format import manifest as revisions
from lineage.core.format.documents import Artifact, Manifest, parse_document_as, serialize_document
from lineage.core.format.resanitization import Replacement
from lineage.store import Store, read_or_none, update


@dataclass(frozen=True, slots=True)
class Manifests:
    """The manifests of a workspace, at claimed stems. A unique `write_id` lets a writer recognise its write."""

    store: Store

    def get(self, stem: str) -> Manifest | None:
        """Return the manifest of a claimed stem, None if there is none yet. Raises FormatError if it is damaged."""
        path = naming.artifact_path(stem, naming.MANIFEST)
        blob = read_or_none(self.store, path)
        return parse_document_as(Manifest, blob.data, path) if blob else None

    def link(self, stem: str, artifacts: Sequence[Artifact], write_id: str, now: str) -> bool:
        """Add links to the artifacts of one capture or compaction. Return False if they are there already."""
        return self._update(stem, lambda known: revisions.link_artifacts(known, stem, artifacts, write_id, now))

    def record_replacements(
        self, stem: str, records: Sequence[Replacement], clean: Callable[[str], str], write_id: str, now: str
    ) -> bool:
        """Record replacements of artifacts under new redaction rules. Return False if they are recorded already."""

        def change(known: Manifest | None) -> Manifest | None:
            if known is None or {record.as_text() for record in records} <= set(known.resanitized):
                return None
            return revisions.record_replacements(known, records, clean, write_id, now)

        return self._update(stem, change)

    def retire(self, stem: str, successor: str, write_id: str, now: str) -> bool:
        """Empty a second manifest of a session, after the one at `successor` got its captures."""

        def change(known: Manifest | None) -> Manifest | None:
            if known is None or not (known.captures or known.compactions):
                return None
            return revisions.retire(known, successor, write_id, now)

        return self._update(stem, change)

    def _update(self, stem: str, change: Callable[[Manifest | None], Manifest | None]) -> bool:
        path = naming.artifact_path(stem, naming.MANIFEST)

        def change_file(data: bytes | None) -> bytes | None:
            changed = change(parse_document_as(Manifest, data, path) if data is not None else None)
            return serialize_document(changed) if changed else None

        return update(self.store, path, change_file)
