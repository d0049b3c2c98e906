"""Claims: which stem a session's manifest has, found by token without listing anything. (format: Identity)"""

from typing import NamedTuple

from lineage.core.base import naming
from lineage.core.base.identity import Identity
from lineage.core.format.documents import Claim, parse_document_as, serialize_document
from lineage.core.format.documents import build_claim as claim_of
from lineage.store import ExistsError, Store, read_or_none, update


class Claims(NamedTuple):
    store: Store

    def get_stem(self, token: str) -> str | None:
        """The claimed stem of a session, None where nothing is claimed yet."""
        path = naming.claim_path(token)
        blob = read_or_none(self.store, path)
        return parse_document_as(Claim, blob.data, path).stem if blob else None

    def has(self, token: str) -> bool:
        """Whether the session is claimed, by a damaged claim too."""
        return read_or_none(self.store, naming.claim_path(token)) is not None

    def claim(self, identity: Identity, stem: str) -> str:
        """Claims a stem for a session. Returns the stem in force: of many claimants exactly one wins."""
        claim = claim_of(identity, stem)
        try:
            self.store.create(claim.path, serialize_document(claim), frozen=True)
        except ExistsError:
            return self.get_stem(identity.token) or self.claim(identity, stem)
        return stem

    def move(self, identity: Identity, stem: str) -> None:
        """Claims an older stem: a sync brought a second manifest of the session, and the older one wins."""
        claim = claim_of(identity, stem)
        update(self.store, claim.path, lambda _: serialize_document(claim))
