"""Observe what lies there, apply what is missing: the loop under both flows. (architecture: one idea)"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from lineage.core.base import naming
from lineage.core.base.times import to_date
from lineage.core.capture.ledger import is_visible
from lineage.core.capture.planner import CaptureState, CaptureStep, Intent, plan_steps
from lineage.core.capture.window import Window, compute_membership
from lineage.core.format import transcript
from lineage.core.format.body import body_chunks
from lineage.core.format.documents import Artifact, Manifest
from lineage.core.sanitizer import count_redactions
from lineage.errors import IndexUnavailable
from lineage.extraction import Candidate
from lineage.extraction.model.port import MemoryProposals
from lineage.index import ArtifactRow, QueuedCapture, TurnTexts
from lineage.pipeline.memory.learn import LearnResult, learn_from_capture
from lineage.store import ConflictError, map_concurrently, read_or_none
from lineage.workspace.load import load_row, load_row_of_written
from lineage.workspace.publish import Publication, index_and_publish
from lineage.workspace.workspace import Workspace


class Applied(NamedTuple):
    """The steps that were due, none where the intent was true already, and what the capture taught in this run.
    `waits` says why rows, counts and MEMORY.md are still due: then the job is still in the spool."""

    steps: tuple[CaptureStep, ...]
    learn_result: LearnResult
    pending_reason: str | None = None


class CaptureHints(NamedTuple):
    """What the run that captures knows already: what a language model would remember of the turns, the candidates that
    are `found` in them, and what they say by number. Whoever finishes a capture after a crash has none of it."""

    proposals: MemoryProposals = MemoryProposals()
    candidates: Sequence[Candidate] | None = None
    turn_texts: TurnTexts | None = None


_NO_HINTS = CaptureHints()


def apply_plan(ws: Workspace, intent: Intent, hints: CaptureHints = _NO_HINTS) -> Applied:
    """Makes the intent true, step by step. The caller holds the session's mutex.

    While the index is away the files are written, and the job stays in the spool for whoever finds the index back."""
    steps = plan_steps(intent, load_capture_state(ws, intent))
    run = _Applier(ws, intent, steps, hints)
    try:
        for step in steps:
            _ACTIONS[step](run)
    except IndexUnavailable as error:
        from lineage.workspace.stale_index import mark_stale  # noqa: PLC0415  (servers are there as a rule)

        mark_stale(ws, error)
        return Applied(steps, run.learn_result, f"its rows wait: {error.message}")
    return Applied(steps, run.learn_result)


def load_capture_state(ws: Workspace, intent: Intent) -> CaptureState:
    """What lies there of an intent already."""
    canon, first = ws.documents, intent.artifacts[0]
    spooled = any(job.name == intent.job.name for job in canon.spool.list_pending(intent.job.token))
    if intent.is_first:
        return CaptureState(spooled)
    manifest = canon.manifests.get(intent.stem)
    return CaptureState(
        is_spooled=spooled,
        is_claimed=canon.claims.get_stem(intent.job.token) is not None,
        existing_kinds=frozenset(
            artifact.kind for artifact in intent.artifacts if canon.artifacts.has_content(artifact) is not None
        ),
        is_in_manifest=manifest is not None and first.stem in _list_stems(manifest, first.kind),
        is_projected=_is_published(ws, intent.artifacts[-1], manifest),
        is_indexed=_ask_or_false(lambda: ws.index.has_paths(_list_paths(intent))),
        is_counted=_ask_or_false(lambda: ws.telemetry.has_counted(first.stem, intent.job.flow)),
    )


def _ask_or_false(question: Callable[[], bool]) -> bool:
    """Nothing is known while the index is away."""
    try:
        return question()
    except IndexUnavailable:
        return False


class _Applier:
    """One application of a plan."""

    def __init__(self, ws: Workspace, intent: Intent, steps: Sequence[CaptureStep], hints: CaptureHints) -> None:
        self.ws = ws
        self.intent = intent
        self.steps = steps
        self.hints = hints
        self.learn_result = LearnResult()

    def spool(self) -> None:
        self.ws.documents.spool.put(self.intent.job)

    def claim(self) -> None:
        stem = self.ws.documents.claims.claim(self.intent.artifacts[0].identity, self.intent.stem)
        if stem != self.intent.stem:
            raise ConflictError("the session was claimed by another writer in the meantime")

    def write(self, kind: str) -> None:
        for artifact in self.intent.artifacts:
            if artifact.kind == kind:
                self.ws.documents.artifacts.write(artifact)

    def link(self) -> None:
        self.ws.documents.manifests.link(self.intent.stem, self.intent.artifacts, self.ws.new_id(), self.ws.now)

    def learn(self) -> None:
        self.learn_result = learn_from_capture(
            self.ws, self.intent.artifacts[0], self.hints.proposals, self.hints.candidates
        )

    def publish(self) -> None:
        """MEMORY.md shows this run's rows: nobody else sees them before it is there, and then everybody does."""
        if CaptureStep.INDEX in self.steps:
            self._index_and_publish()
        else:
            with Publication(self.ws, self.intent.artifacts[0].agent_id) as publication:
                publication.publish()

    def index(self) -> None:
        """The rows, where they did not come with MEMORY.md."""
        if CaptureStep.PROJECTION not in self.steps:
            self._index_and_publish()

    def _index_and_publish(self) -> None:
        artifact = self.intent.artifacts[-1]
        time = compute_membership(artifact.ended_at, artifact.captured_at)
        capture = QueuedCapture(artifact.agent_id, artifact.identity.token, time, tuple(_list_paths(self.intent)))
        index_and_publish(self.ws, capture, self._build_rows)

    def _build_rows(self) -> list[ArtifactRow]:
        ws, stem = self.ws, self.intent.stem

        def row_of(artifact: Artifact | None) -> ArtifactRow | None:
            if artifact:
                said = self.hints.turn_texts if artifact.kind == naming.TRANSCRIPT else None
                return load_row_of_written(ws, artifact, said)
            manifest = load_row(ws, naming.artifact_path(stem, naming.MANIFEST))
            return manifest[0] if manifest else None

        return list(filter(None, map_concurrently(ws.documents.store, row_of, (*self.intent.artifacts, None))))

    def count(self) -> None:
        """Counts what the file itself shows, so that a run that finishes another one's work counts the same."""
        first, job = self.intent.artifacts[0], self.intent.job
        self.ws.telemetry.count_capture(
            first.stem,
            job.flow,
            job.token,
            at=first.captured_at,
            turns=_count_turns(first),
            redactions=sum(map(count_redactions, body_chunks(first.body))),
        )
        if self.learn_result.dropped:
            self.ws.telemetry.count_drops(to_date(first.captured_at), self.learn_result.dropped)

    def clear(self) -> None:
        self.ws.documents.spool.clear(self.intent.job)


_ACTIONS: Mapping[CaptureStep, Callable[[_Applier], None]] = {
    CaptureStep.SPOOL: _Applier.spool,
    CaptureStep.CLAIM: _Applier.claim,
    CaptureStep.TRANSCRIPT: lambda run: run.write(naming.TRANSCRIPT),
    CaptureStep.SUMMARY: lambda run: run.write(naming.SUMMARY),
    CaptureStep.COMPACTION: lambda run: run.write(naming.COMPACTION),
    CaptureStep.MANIFEST: _Applier.link,
    CaptureStep.MEMORY: _Applier.learn,
    CaptureStep.PROJECTION: _Applier.publish,
    CaptureStep.INDEX: _Applier.index,
    CaptureStep.TELEMETRY: _Applier.count,
    CaptureStep.CLEAR: _Applier.clear,
}


def _count_turns(artifact: Artifact) -> int:
    """How many turns a transcript holds: they are numbered without a gap, up to its watermark."""
    first = transcript.find_first_number(artifact.body) if artifact.kind == naming.TRANSCRIPT else None
    return artifact.watermark[0] - first + 1 if first else 0


def _list_paths(intent: Intent) -> list[str]:
    return [artifact.path for artifact in intent.artifacts] + [naming.artifact_path(intent.stem, naming.MANIFEST)]


def _list_stems(manifest: Manifest, kind: str) -> list[str]:
    return manifest.compactions if kind == naming.COMPACTION else manifest.captures


def _is_published(ws: Workspace, artifact: Artifact, manifest: Manifest | None) -> bool:
    """Whether MEMORY.md exists and shows the artifact, where it has to show it at all."""
    blob = read_or_none(ws.documents.store, naming.memory_md_path(artifact.agent_id))
    if blob is None:
        return False
    due = is_visible(artifact) and Window.from_end(ws.now).contains(
        compute_membership(artifact.ended_at, artifact.captured_at)
    )
    return not (due and _has_row(artifact, manifest)) or f"[[{artifact.path}|".encode() in blob.data


def _has_row(artifact: Artifact, manifest: Manifest | None) -> bool:
    """Every capture has a row in the ledger; a session that was only compacted so far has its newest compaction's."""
    if artifact.kind != naming.COMPACTION or manifest is None:
        return True
    return not manifest.captures and manifest.compactions[-1:] == [artifact.stem]
