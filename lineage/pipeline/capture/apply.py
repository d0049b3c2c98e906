"""Apply a plan: observe the state of a capture, then make the missing steps in order (architecture: one idea)."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from lineage.core.base import naming
from lineage.core.base.times import to_date
from lineage.core.capture.ledger import Window, compute_membership, find_parent, is_visible
from lineage.core.capture.planner import CaptureState, CaptureStep, Intent, plan_steps
from lineage.core.format import transcript
from lineage.core.format.body import body_chunks
from lineage.core.format.documents import Artifact, Manifest
from lineage.core.format.tool_overlap import ToolEvidence
from lineage.core.sanitizer import count_redactions
from lineage.extraction.candidates import Candidate
from lineage.extraction.model.port import MemoryProposals
from lineage.index import ArtifactRow, QueuedCapture, TurnTexts, list_edited_files
from lineage.pipeline.memory.entry_writer import LearnResult, learn_from_capture
from lineage.pipeline.memory.judge_memos import judge_memos
from lineage.pipeline.memory.statements import withdraw_statements
from lineage.store import ConflictError, map_concurrently, read_or_none
from lineage.workspace.lookup import MAX_SUB_AGENTS, find_parent_stem, load_row, load_row_of_written
from lineage.workspace.publish import index_and_publish
from lineage.workspace.session_notes import find_session_links
from lineage.workspace.workspace import Workspace, tolerate_outage


@dataclass(frozen=True, slots=True)
class CaptureHints:
    """Values that the capturing run has in memory; a run that finishes it after a crash has none.

    `proposals` are a model's memories of the turns, `candidates` those found by rule, `turn_texts` the texts by number,
    `evidence` what tools said.
    """

    proposals: MemoryProposals = field(default_factory=MemoryProposals)
    candidates: Sequence[Candidate] | None = None
    turn_texts: TurnTexts | None = None
    evidence: ToolEvidence | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """The steps of a plan and their lessons; `pending_reason` says why the job stays: the index is unavailable."""

    steps: tuple[CaptureStep, ...]
    learn_result: LearnResult
    pending_reason: str | None = None


def apply_plan(ws: Workspace, intent: Intent, hints: CaptureHints | None = None) -> Applied:
    """Make the intent true, step by step. The caller holds the session's lock."""
    steps = plan_steps(intent, load_capture_state(ws, intent))
    run = _Applier(ws, intent, hints or CaptureHints())
    # All files are written before the first step that needs the index, and CLEAR comes last: the job stays.
    with tolerate_outage(ws, mark_stale=True) as outage:
        for step in steps:
            run.apply(step)
    return Applied(steps, run.learn_result, f"its rows wait: {outage.reason}" if outage.reason else None)


class _Applier:
    """The steps of one plan, as actions."""

    def __init__(self, ws: Workspace, intent: Intent, hints: CaptureHints) -> None:
        self.ws = ws
        self.intent = intent
        self.hints = hints
        self.first = intent.artifacts[0]
        self.learn_result = LearnResult()

    def apply(self, step: CaptureStep) -> None:
        documents, intent = self.ws.documents, self.intent
        match step:
            case CaptureStep.SPOOL:
                documents.spool.put(intent.job)
            case CaptureStep.CLAIM:
                # The session's lock does not reach other machines: a shared folder or bucket may have another writer.
                if documents.claims.claim(self.first.identity, intent.stem) != intent.stem:
                    raise ConflictError("the session was claimed by another writer in the meantime")
            case CaptureStep.TRANSCRIPT | CaptureStep.SUMMARY | CaptureStep.COMPACTION:
                documents.artifacts.write(next(a for a in intent.artifacts if a.kind == step.value))
            case CaptureStep.MANIFEST:
                self._link()
            case CaptureStep.LEARN:
                settled = withdraw_statements(self.ws, intent.job.token)
                known, evidence = self.hints.candidates, self.hints.evidence
                learned = learn_from_capture(self.ws, self.first, self.hints.proposals, known, evidence, settled)
                self.learn_result = learned
                judge_memos(self.ws, self.first, evidence)
            case CaptureStep.PUBLISH:
                self._publish()
            case CaptureStep.TELEMETRY:
                self._count()
            case CaptureStep.CLEAR:
                documents.spool.clear(intent.job)

    def _link(self) -> None:
        """Link the capture in the manifest, with the session's sub-agents; and a sub-agent in its parent's manifest."""
        ws, stem, sub_agents = self.ws, self.intent.stem, set[str]()
        with tolerate_outage(ws):
            rows = ws.index.list_sessions(None, parent=self.intent.job.token, limit=MAX_SUB_AGENTS)
            names = (naming.parse_path(row.manifest_path) for row in rows)
            sub_agents = {name.stem for name in names if name}
        # A transcript quotes what it likes, and may be too large for memory.
        summaries = [one for one in self.intent.artifacts if one.kind == naming.SUMMARY]
        files = [file for one in summaries for file in list_edited_files(one).splitlines()]
        links = find_session_links(ws, self.first, stem, files)
        ws.documents.manifests.link(stem, self.intent.artifacts, ws.new_id(), ws.now, sub_agents, links)
        if parent := find_parent_stem(ws, self.first):
            ws.documents.manifests.add_sub_agent(parent, stem, ws.new_id(), ws.now)

    def _publish(self) -> None:
        # MEMORY.md first: nobody reads a row of a capture before MEMORY.md shows it.
        artifact = self.intent.artifacts[-1]
        time = compute_membership(artifact.ended_at, artifact.captured_at)
        paths = tuple(_list_paths(self.ws, self.intent))
        capture = QueuedCapture(artifact.agent_id, artifact.identity.token, time, paths)
        index_and_publish(self.ws, capture, self._build_rows)

    def _build_rows(self) -> list[ArtifactRow]:
        def build_row(path: str) -> ArtifactRow | None:
            if artifact := artifacts.get(path):
                texts = self.hints.turn_texts if artifact.kind == naming.TRANSCRIPT else None
                return load_row_of_written(self.ws, artifact, texts)
            manifest = load_row(self.ws.documents.store, path)
            return manifest[0] if manifest else None

        artifacts = {artifact.path: artifact for artifact in self.intent.artifacts}
        rows = map_concurrently(self.ws.documents.store, build_row, _list_paths(self.ws, self.intent))
        return list(filter(None, rows))

    def _count(self) -> None:
        # Counted from the file alone: a run that finishes another one's work must count the same.
        first, job = self.first, self.intent.job
        number = transcript.find_first_number(first.body) if first.kind == naming.TRANSCRIPT else None
        self.ws.telemetry.count_capture(
            first.stem,
            job.flow,
            job.token,
            at=first.captured_at,
            turns=first.watermark[0] - number + 1 if number else 0,  # numbered without a gap
            redactions=sum(map(count_redactions, body_chunks(first.body))),
        )
        if self.learn_result.dropped:
            self.ws.telemetry.count_drops(to_date(first.captured_at), self.learn_result.dropped)


def load_capture_state(ws: Workspace, intent: Intent) -> CaptureState:
    """Return the state of an intent: its job, its files, its rows."""
    documents, first = ws.documents, intent.artifacts[0]
    is_spooled = any(job.name == intent.job.name for job in documents.spool.list_pending(intent.job.token))
    if intent.is_first:  # nothing can exist: save the reads
        return CaptureState(is_spooled)
    manifest = documents.manifests.get(intent.stem)
    stems = (manifest.compactions if first.kind == naming.COMPACTION else manifest.captures) if manifest else []
    is_indexed = is_counted = False
    with tolerate_outage(ws):
        is_indexed = ws.index.has_paths(_list_paths(ws, intent))
    with tolerate_outage(ws):
        is_counted = ws.telemetry.has_counted(first.stem, intent.job.flow)
    return CaptureState(
        is_spooled=is_spooled,
        is_claimed=documents.claims.get_stem(intent.job.token) is not None,
        existing_kinds=frozenset(a.kind for a in intent.artifacts if documents.artifacts.has_content(a) is not None),
        is_in_manifest=first.stem in stems,
        is_projected=_is_projected(ws, intent.artifacts[-1], manifest),
        is_indexed=is_indexed,
        is_counted=is_counted,
    )


def _list_paths(ws: Workspace, intent: Intent) -> list[str]:
    """Return the files with rows that a capture changes: artifacts, its manifest, and that of a sub-agent's parent."""
    stems = filter(None, (intent.stem, find_parent_stem(ws, intent.artifacts[0])))
    manifests = (naming.artifact_path(stem, naming.MANIFEST) for stem in stems)
    return [*(artifact.path for artifact in intent.artifacts), *manifests]


def _is_projected(ws: Workspace, artifact: Artifact, manifest: Manifest | None) -> bool:
    """Return whether MEMORY.md exists and shows the artifact, if it has to."""
    blob = read_or_none(ws.documents.store, naming.memory_md_path(artifact.agent_id))
    if blob is None:
        return False
    is_in_window = Window.from_end(ws.now).contains(compute_membership(artifact.ended_at, artifact.captured_at))
    is_sub_agent = find_parent(artifact) or (manifest and find_parent(manifest))
    if is_sub_agent or not (is_visible(artifact) and is_in_window):
        return True
    # Every capture but a sub-agent's has a ledger row; a session that was only compacted has its newest compaction's.
    is_superseded = (
        artifact.kind == naming.COMPACTION
        and manifest is not None
        and (bool(manifest.captures) or manifest.compactions[-1:] != [artifact.stem])
    )
    return is_superseded or f"[[{artifact.path}|".encode() in blob.data
