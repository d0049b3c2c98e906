"""Manifests over a store, changed by compare-and-swap (spec: mutable session manifest; concurrency).

Their stems are claimed: a claim is found by token, without a listing (format: Identity).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lineage.core.base import naming
from lineage.core.base.naming import Identity
from lineage.core.format import manifest as revisions
from lineage.core.format.documents import (
    Artifact,
    Claim,
    Manifest,
    add_unknown_keys,
    build_claim,
    parse_document_as,
    serialize_document,
)
from lineage.core.format.manifest import SessionLinks
from lineage.core.format.resanitization import Replacement
from lineage.store import ExistsError, Store, read_or_none, update


@dataclass(frozen=True, slots=True)
class Manifests:
    """The manifests of a workspace, at claimed stems. A unique `write_id` lets a writer recognise its write."""

    store: Store

    def get(self, stem: str) -> Manifest | None:
        """Return the manifest of a claimed stem, None if there is none yet. Raises FormatError if it is damaged."""
        path = naming.artifact_path(stem, naming.MANIFEST)
        blob = read_or_none(self.store, path)
        return parse_document_as(Manifest, blob.data, path) if blob else None

    def link(
        self,
        stem: str,
        artifacts: Sequence[Artifact],
        write_id: str,
        now: str,
        sub_agents: Iterable[str] = (),
        links: SessionLinks | None = None,
    ) -> bool:
        """Add links to the artifacts of one capture or compaction. Return False if they are there already."""
        return self._update(
            stem, lambda known: revisions.link_artifacts(known, stem, artifacts, write_id, now, sub_agents, links)
        )

    def add_sub_agent(self, stem: str, sub_agent: str, write_id: str, now: str) -> bool:
        """Link a sub-agent in its parent's manifest. Return False without a change, or without the manifest."""
        return self._update(
            stem, lambda known: revisions.add_sub_agent(known, sub_agent, write_id, now) if known else None
        )

    def unlink(self, stem: str, token: str, write_id: str, now: str) -> bool:
        """Take the links to another session out of a manifest. Return False without a change, or the manifest."""
        return self._update(
            stem, lambda known: revisions.unlink_session(known, token, write_id, now) if known else None
        )

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

    def upgrade(self, stem: str, links: SessionLinks, write_id: str, now: str, *, dry_run: bool = False) -> bool:
        """Bring a manifest to today's format and links. Return False if it has them. Raises FormatError if damaged."""
        changes: list[Manifest] = []

        def change(known: Manifest | None) -> Manifest | None:
            changes[:] = filter(None, [revisions.upgrade_manifest(known, links, write_id, now) if known else None])
            return changes[0] if changes and not dry_run else None

        self._update(stem, change)
        return bool(changes)

    def _update(self, stem: str, change: Callable[[Manifest | None], Manifest | None]) -> bool:
        path = naming.artifact_path(stem, naming.MANIFEST)

        def change_file(data: bytes | None) -> bytes | None:
            changed = change(parse_document_as(Manifest, data, path) if data is not None else None)
            return add_unknown_keys(serialize_document(changed), data) if changed else None

        return update(self.store, path, change_file)


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of a workspace."""

    store: Store

    def get_stem(self, token: str) -> str | None:
        """Return the claimed stem of a session, or None without a claim. Raises FormatError for a damaged one."""
        path = naming.claim_path(token)
        blob = read_or_none(self.store, path)
        return parse_document_as(Claim, blob.data, path).stem if blob else None

    def has(self, token: str) -> bool:
        """Return whether the session has a claim, damaged or not."""
        return read_or_none(self.store, naming.claim_path(token)) is not None

    def claim(self, identity: Identity, stem: str) -> str:
        """Claim a stem for a session. Return the stem in force: of many claimants exactly one wins."""
        claim = build_claim(identity, stem)
        try:
            self.store.create(claim.path, serialize_document(claim), frozen=True)
        except ExistsError:
            # Without a stem the winner's claim was deleted since: the session was removed, or a sync undid it.
            return self.get_stem(identity.token) or self.claim(identity, stem)
        return stem

    def move(self, identity: Identity, stem: str) -> None:
        """Claim an older stem: a sync brought a second manifest of the session, and the older one wins."""
        claim = build_claim(identity, stem)
        update(self.store, claim.path, lambda _: serialize_document(claim))
