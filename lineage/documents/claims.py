"""Claims over a store: the stem of a session's manifest, by token and without a listing (format: Identity)."""

from dataclasses import dataclass

from lineage.core.base import naming
from lineage.core.base.naming import Identity
from lineage.core.format.documents import Claim, build_claim, parse_document_as, serialize_document
from lineage.store import ExistsError, Store, read_or_none, update


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
