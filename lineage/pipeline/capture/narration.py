"""The language model's part in a capture: its sentence, its narrative, its memories (format: Sentence).

The model is asked before the session's lock is taken, for it may think for a minute; its answer counts only if the
turns are the same under the lock. Nobody asks twice: a spooled job has its sentence, and recovery asks no model.
Private, temp and test sessions are never shown to a model.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from lineage.core.base.naming import is_test_session
from lineage.core.capture.request import Request
from lineage.core.format import sentence
from lineage.core.format.contract import OK
from lineage.core.format.digest import Digest
from lineage.core.format.job import Job
from lineage.core.format.tool_overlap import Statement, ToolEvidence
from lineage.core.format.turns import Turn
from lineage.core.sanitizer import Sanitizer
from lineage.extraction.digests import build_digest
from lineage.extraction.model import parse_answer, prompts
from lineage.extraction.model.port import MemoryProposals, Model
from lineage.extraction.model.proposals import request_proposals
from lineage.pipeline.capture.artifacts import build_sentence_context
from lineage.pipeline.capture.source import SessionSource
from lineage.pipeline.memory.workspace_evidence import WorkspaceEvidence, gather_evidence
from lineage.workspace.workspace import Workspace

CAPTURE = "capture"
COMPACTION = "compaction"

_GENERATED_NOTE = (
    "The harness kept no summary; a language model wrote this one. The sections after it are extracted by rule."
)


@dataclass(frozen=True, slots=True)
class Narration:
    """A model's or a job's account of some turns.

    `turn_ids` are the turns that it is about. `generated_at` is when a model wrote the sentence, in canonical UTC.
    """

    turn_ids: tuple[str, ...] = ()
    sentence_and_quality: tuple[str, str] | None = None
    narrative: str | None = None
    generated_at: str | None = None
    proposals: MemoryProposals = field(default_factory=MemoryProposals)

    def for_turns(self, turns: Sequence[Turn]) -> "Narration":
        """Return this if it is about these very turns, else `NO_NARRATION`."""
        return self if len(self.turn_ids) == len(turns) and self.turn_ids == _list_ids(turns) else NO_NARRATION


NO_NARRATION = Narration()


def gather_source_evidence(
    ws: Workspace, request: Request, source: SessionSource, turns: Sequence[Turn]
) -> WorkspaceEvidence:
    """Return the evidence about the last `turns` of a source: its tools' whole output, and the captured one."""
    return gather_evidence(
        ws,
        source.turns,
        project=source.project,
        repository=source.repository,
        token=request.token,
        until=request.captured_at,
        offset=len(source.turns) - len(turns),
    )


def choose_sentence(narration: Narration, evidence: ToolEvidence) -> tuple[str, str] | None:
    """Return the sentence of a model or job, None if there is none or it repeats a tool."""
    sentence = narration.sentence_and_quality
    is_repeated = sentence and any(evidence.find_tools([Statement(len(evidence.turns), sentence[0])]))
    return None if is_repeated else sentence


def narration_from_job(job: Job, sanitizer: Sanitizer) -> Narration:
    """Return the sentence and summary in the job of an unfinished flow."""
    sentence_and_quality = (job.sentence, job.quality) if job.sentence else None
    return Narration((), sentence_and_quality, sanitizer.sanitize_optional(job.payload.get("summary")))


def narrate(ws: Workspace, request: Request, source: SessionSource, turns: Sequence[Turn]) -> Narration:
    """Ask the model for the sentence, narrative and memories of a session's new turns, as far as the settings say."""
    model, uses = _select_model(ws, request, source), ws.settings.language_model
    if model is None or not turns:
        return NO_NARRATION
    narration = Narration(_list_ids(turns))
    wants_narrative = uses.summaries and not source.summary  # the harness's own summary is better
    if uses.sentences or wants_narrative:
        digest = build_digest(turns)
        # One call for both: the turns are the larger part of its cost.
        names = _list_names(request, source, digest)
        prompt = prompts.build_summary_prompt(
            turns, names, model.max_chars, sentence=uses.sentences, narrative=wants_narrative
        )
        summary = _request_summary(ws, model, CAPTURE, prompt, request, source, digest)
        if uses.sentences and summary.sentence:
            narration = replace(narration, sentence_and_quality=(summary.sentence, OK), generated_at=ws.now)
        if wants_narrative and summary.narrative:
            narration = replace(narration, narrative=f"{_GENERATED_NOTE}\n\n{summary.narrative}")
    if uses.memory and ws.settings.knowledge.extract:
        evidence = gather_source_evidence(ws, request, source, turns)
        narration = replace(
            narration, proposals=request_proposals(turns, model, ws.build_sanitizer().sanitize, evidence)
        )
    return narration


def narrate_compaction(ws: Workspace, request: Request, source: SessionSource, turns: Sequence[Turn]) -> Narration:
    """Ask the model for a compaction's sentence, from its summary and the anchors of the compacted turns."""
    model = _select_model(ws, request, source)
    if model is None or not source.summary or not ws.settings.language_model.sentences:
        return NO_NARRATION
    digest = build_digest(turns)
    prompt = prompts.build_compaction_prompt(source.summary, _list_names(request, source, digest), model.max_chars)
    summary = _request_summary(ws, model, COMPACTION, prompt, request, source, digest)
    return Narration(_list_ids(turns), (summary.sentence, OK), None, ws.now) if summary.sentence else NO_NARRATION


def _select_model(ws: Workspace, request: Request, source: SessionSource) -> Model | None:
    """Return the model that may see a session; None for private, temp and test sessions."""
    is_barred = request.private or is_test_session(request.identity, source.project)
    return None if is_barred else ws.model


def _request_summary(
    ws: Workspace, model: Model, task: str, prompt: str, request: Request, source: SessionSource, digest: Digest
) -> parse_answer.ModelSummary:
    anchors = sentence.extract_anchors(build_sentence_context(request, source), digest)
    read = partial(parse_answer.parse_summary, anchors=anchors, clean=ws.build_sanitizer().sanitize)
    return model.ask(task, prompt, read) or parse_answer.ModelSummary()


def _list_names(request: Request, source: SessionSource, digest: Digest) -> list[str]:
    """Return the anchors that the sentence may name, best first."""
    context = build_sentence_context(request, source)
    anchors = sentence.extract_anchors(context, digest)
    project = [sentence.base_name(context.project)] if context.project else []
    files = map(sentence.base_name, (*digest.edited_files, *digest.read_files))
    return [name for name in (*project, *files, *digest.names, context.harness) if name in anchors]


def _list_ids(turns: Sequence[Turn]) -> tuple[str, ...]:
    return tuple(turn.id for turn in turns)
