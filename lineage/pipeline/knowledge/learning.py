"""What a capture teaches: turns → candidates → policy → books. (format: Books)

A function of the transcript artifact, so that whoever finishes a capture that died learns the same; entries that are
there already are known by their ids. Compactions teach nothing: what they tell of was said in turns.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from lineage.core import transcript
from lineage.core.book_paths import PENDING
from lineage.core.capture import DATA
from lineage.core.documents import Artifact
from lineage.core.ledger import is_visible
from lineage.core.privacy import GLOBAL, may_reach
from lineage.extract import HEURISTIC, MODEL, Candidate, extract
from lineage.extract.model.port import Proposals
from lineage.pipeline.house import House


class Learned(NamedTuple):
    """How many entries a capture left in books that are in use, how many wait for the user, and what was found and not
    kept, by reason."""

    kept: int = 0
    pending: int = 0
    dropped: Mapping[str, int] = {}

    def as_json(self) -> dict[str, Any]:
        return {"kept": self.kept, "pending": self.pending, "dropped": dict(sorted(self.dropped.items()))}


def learn(house: House, artifact: Artifact, proposals: Proposals, found: Sequence[Candidate] | None = None) -> Learned:
    """Learns from the transcript of a capture, and from what a language model proposed of it. The caller holds the
    session's mutex; who made the transcript knows the candidates that are `found` in its turns.

    Nothing is learned of temp and test sessions, of one that was removed, and where `knowledge.extract` is off.
    """
    token = artifact.identity.token
    if not (house.settings.knowledge.extract and is_visible(artifact)) or house.canon.tombstones.has(token):
        return Learned()
    if found is None:
        found = extract(transcript.parsed(artifact.body))
    learned = Learned(dropped=proposals.dropped)
    for via, candidates in ((HEURISTIC, found), (MODEL, proposals.candidates)):
        if candidates:
            learned = _together(learned, _kept(house, artifact, via, candidates))
    return learned


def _kept(house: House, artifact: Artifact, via: str, candidates: Sequence[Candidate]) -> Learned:
    # the policy's tables cost a capture that finds nothing more than all the rest of this module
    from lineage.extract.admission import Setting, admit_all  # noqa: PLC0415
    from lineage.pipeline.knowledge.keeping import keep  # noqa: PLC0415
    from lineage.pipeline.knowledge.projects import project_folder  # noqa: PLC0415

    token = artifact.identity.token
    goes_out = may_reach(GLOBAL, private=artifact.private, token=token)
    setting = Setting(
        token=token,
        agent_id=artifact.agent_id,
        project=project_folder(house, artifact.project, claims=True) if goes_out else None,
        private=artifact.private,
        has_data=DATA in artifact.tags,
    )
    admitted, dropped = admit_all(candidates, setting, via)
    kept = keep(house, admitted, at=artifact.captured_at, origin=artifact.path, tags=(via,))
    pending = sum(ref.shelf == PENDING for ref, _ in kept.entries)
    return Learned(len(kept.entries) - pending, pending, dropped + kept.dropped)


def _together(one: Learned, other: Learned) -> Learned:
    dropped = Counter(one.dropped) + Counter(other.dropped)
    return Learned(one.kept + other.kept, one.pending + other.pending, dropped)
