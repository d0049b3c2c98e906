"""Learning from captures: turns → candidates → policy → books (format: Books).

Learning is a function of the transcript artifact. Finishing an interrupted capture learns the same again, and entries
that exist already are known by their ids. Compactions teach nothing: they repeat what turns say.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lineage.core.base.book_paths import GLOBAL, PENDING, is_allowed_in_scope
from lineage.core.capture.capture import DATA_TAG
from lineage.core.capture.ledger import is_visible
from lineage.core.format import transcript
from lineage.core.format.documents import Artifact
from lineage.extraction.admission_policy import CandidateContext, admit_all
from lineage.extraction.candidates import HEURISTIC, MODEL, Candidate, extract_candidates
from lineage.extraction.model.port import MemoryProposals
from lineage.pipeline.memory.entry_writer import write_entries
from lineage.workspace.project_folders import resolve_project_folder
from lineage.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class LearnResult:
    """The number of entries that a capture wrote, of those that wait for the user, and of dropped ones by reason."""

    written: int = 0
    pending: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return the counts as a JSON object."""
        return {"kept": self.written, "pending": self.pending, "dropped": dict(sorted(self.dropped.items()))}


def learn_from_capture(
    ws: Workspace, artifact: Artifact, proposals: MemoryProposals, known_candidates: Sequence[Candidate] | None = None
) -> LearnResult:
    """Learn from the transcript of a capture and from a language model's proposals about it.

    The caller holds the session's lock. `known_candidates` are those of the transcript's turns, if the caller has them.
    Temp, test and removed sessions teach nothing, and nothing is learned if `knowledge.extract` is off.
    """
    token = artifact.identity.token
    if not (ws.settings.knowledge.extract and is_visible(artifact)) or ws.documents.tombstones.has(token):
        return LearnResult()
    if known_candidates is None:
        known_candidates = extract_candidates(transcript.parse_turns(artifact.body))
    finders = ((HEURISTIC, known_candidates), (MODEL, proposals.candidates))
    results = [_write_candidates(ws, artifact, via, candidates) for via, candidates in finders if candidates]
    written, pending = sum(result.written for result in results), sum(result.pending for result in results)
    return LearnResult(written, pending, sum((Counter(one.dropped) for one in results), Counter(proposals.dropped)))


def _write_candidates(ws: Workspace, artifact: Artifact, via: str, candidates: Sequence[Candidate]) -> LearnResult:
    token = artifact.identity.token
    # A private session must not even claim a project's folder: the claim would tell that the session took place.
    may_leave = is_allowed_in_scope(GLOBAL, private=artifact.private, token=token)
    project = resolve_project_folder(ws, artifact.project, claim=True) if may_leave else None
    context = CandidateContext(token, artifact.agent_id, project, artifact.private, has_data=DATA_TAG in artifact.tags)
    admissions, dropped = admit_all(candidates, context, via)
    result = write_entries(ws, admissions, at=artifact.captured_at, origin=artifact.path, tags=(via,))
    pending = sum(ref.shelf == PENDING for ref, _ in result.entries)
    return LearnResult(len(result.entries) - pending, pending, dropped + result.dropped)
