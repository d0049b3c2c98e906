"""What a capture teaches: turns → candidates → policy → books. (format: Books)

A function of the transcript artifact, so that whoever finishes a capture that died learns the same; entries that are
there already are known by their ids. Compactions teach nothing: what they tell of was said in turns.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from lineage.core.base.book_paths import PENDING
from lineage.core.base.privacy import GLOBAL, is_allowed_in_scope
from lineage.core.capture.capture import DATA_TAG
from lineage.core.capture.ledger import is_visible
from lineage.core.format import transcript
from lineage.core.format.documents import Artifact
from lineage.extraction.candidates import HEURISTIC, MODEL, Candidate, extract_candidates
from lineage.extraction.model.port import MemoryProposals
from lineage.workspace.workspace import Workspace


class LearnResult(NamedTuple):
    """How many entries a capture left in books that are in use, how many wait for the user, and what was found and not
    kept, by reason."""

    written: int = 0
    pending: int = 0
    dropped: Mapping[str, int] = {}

    def as_json(self) -> dict[str, Any]:
        return {"kept": self.written, "pending": self.pending, "dropped": dict(sorted(self.dropped.items()))}


def learn_from_capture(
    ws: Workspace, artifact: Artifact, proposals: MemoryProposals, known_candidates: Sequence[Candidate] | None = None
) -> LearnResult:
    """Learns from the transcript of a capture, and from what a language model proposed of it. The caller holds the
    session's mutex; who made the transcript knows the candidates that are `found` in its turns.

    Nothing is learned of temp and test sessions, of one that was removed, and where `knowledge.extract` is off.
    """
    token = artifact.identity.token
    if not (ws.settings.knowledge.extract and is_visible(artifact)) or ws.documents.tombstones.has(token):
        return LearnResult()
    if known_candidates is None:
        known_candidates = extract_candidates(transcript.parse_turns(artifact.body))
    learned = LearnResult(dropped=proposals.dropped)
    for via, candidates in ((HEURISTIC, known_candidates), (MODEL, proposals.candidates)):
        if candidates:
            learned = _add_results(learned, _write_candidates(ws, artifact, via, candidates))
    return learned


def _write_candidates(ws: Workspace, artifact: Artifact, via: str, candidates: Sequence[Candidate]) -> LearnResult:
    # the policy's tables cost a capture that finds nothing more than all the rest of this module
    from lineage.extraction.admission_policy import CandidateContext, admit_all  # noqa: PLC0415
    from lineage.pipeline.memory.entry_writer import write_entries  # noqa: PLC0415
    from lineage.workspace.project_folders import resolve_project_folder  # noqa: PLC0415

    token = artifact.identity.token
    goes_out = is_allowed_in_scope(GLOBAL, private=artifact.private, token=token)
    setting = CandidateContext(
        token=token,
        agent_id=artifact.agent_id,
        project=resolve_project_folder(ws, artifact.project, claim=True) if goes_out else None,
        private=artifact.private,
        has_data=DATA_TAG in artifact.tags,
    )
    admitted, dropped = admit_all(candidates, setting, via)
    kept = write_entries(ws, admitted, at=artifact.captured_at, origin=artifact.path, tags=(via,))
    pending = sum(ref.shelf == PENDING for ref, _ in kept.entries)
    return LearnResult(len(kept.entries) - pending, pending, dropped + kept.dropped)


def _add_results(one: LearnResult, other: LearnResult) -> LearnResult:
    dropped = Counter(one.dropped) + Counter(other.dropped)
    return LearnResult(one.written + other.written, one.pending + other.pending, dropped)
