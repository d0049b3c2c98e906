"""What a language model tells of a capture or a compaction: its sentence, its summary's narrative. (format: Sentence)

It is asked before the session's mutex is taken, for it may think for a minute, and what it says counts only where the
turns are the same ones under the mutex. It is not asked about what was signalled before: a job in the spool has its
sentence, and recovery asks nobody. Nor is it shown private sessions, temp and test ones.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from lineage.core.base.identity import is_test_session
from lineage.core.capture.request import Request
from lineage.core.format import sentence
from lineage.core.format.digest import Digest
from lineage.core.format.documents import OK
from lineage.core.format.job import Job
from lineage.core.format.turns import Turn
from lineage.core.sanitizer import Sanitizer
from lineage.extraction.digests import build_digest
from lineage.extraction.model.port import MemoryProposals, Model
from lineage.pipeline.capture.artifacts import build_setting
from lineage.pipeline.capture.source import SessionSource
from lineage.workspace.workspace import Workspace

if TYPE_CHECKING:
    from lineage.extraction.model.parse_answer import ModelSummary

CAPTURE = "capture"
COMPACTION = "compaction"

_GENERATED_NOTE = (
    "The harness kept no summary; a language model wrote this one. The sections after it are extracted by rule."
)


class Narration(NamedTuple):
    """What was said of the turns with these ids before anything of them was written: the sentence with its quality and
    the narrative, None where there is none. `at` is when a model wrote the sentence; `proposals` are what it would
    remember."""

    turns: tuple[str, ...] = ()
    sentence_and_quality: tuple[str, str] | None = None
    narrative: str | None = None
    generated_at: str | None = None
    proposals: MemoryProposals = MemoryProposals()

    def for_turns(self, turns: Sequence[Turn]) -> "Narration":
        """This, where it is about these very turns."""
        return self if len(self.turns) == len(turns) and self.turns == _list_ids(turns) else NO_NARRATION


NO_NARRATION = Narration()


def narration_from_job(job: Job, sanitizer: Sanitizer) -> Narration:
    """What an unfinished flow's job holds: nobody is asked a second time."""
    sentenced = (job.sentence, job.quality) if job.sentence else None
    return Narration((), sentenced, sanitizer.sanitize_optional(job.payload.get("summary")))


def narrate(ws: Workspace, request: Request, source: SessionSource, turns: Sequence[Turn]) -> Narration:
    """What a model says of a session's new turns, and what of them it would remember."""
    model, uses = select_model(ws, request, source), ws.settings.language_model
    if model is None or not turns:
        return NO_NARRATION
    told = _narrate_turns(ws, model, request, source, turns)
    return told._replace(proposals=_propose(ws, model, turns)) if uses.memory else told


def _propose(ws: Workspace, model: Model, turns: Sequence[Turn]) -> MemoryProposals:
    from lineage.extraction.model.proposals import request_proposals  # noqa: PLC0415  (only who has a model pays for it)

    learns = ws.settings.knowledge.extract
    return request_proposals(turns, model, ws.build_sanitizer().sanitize) if learns else MemoryProposals()


def _narrate_turns(
    ws: Workspace, model: Model, request: Request, source: SessionSource, turns: Sequence[Turn]
) -> Narration:
    """The sentence and the narrative, which is not asked for where the harness gave a summary."""
    from lineage.extraction.model import prompts  # noqa: PLC0415  (only who has a model pays for it)

    uses = ws.settings.language_model
    narrated = uses.summaries and not source.summary
    if not (uses.sentences or narrated):
        return Narration(_list_ids(turns))
    subject = _Subject(request, source, build_digest(turns))
    prompt = prompts.build_summary_prompt(
        turns, subject.list_names(), model.max_chars, sentence=uses.sentences, narrative=narrated
    )
    account = subject.request_account(ws, model, CAPTURE, prompt)
    sentenced = (account.sentence, OK) if uses.sentences and account.sentence else None
    narrative = f"{_GENERATED_NOTE}\n\n{account.narrative}" if narrated and account.narrative else None
    return Narration(_list_ids(turns), sentenced, narrative, ws.now if sentenced else None)


def narrate_compaction(ws: Workspace, request: Request, source: SessionSource, turns: Sequence[Turn]) -> Narration:
    """What a model says of a compaction, from the summary that came with it; the anchors are those of the turns that
    were compacted."""
    from lineage.extraction.model import prompts  # noqa: PLC0415  (only who has a model pays for it)

    model = select_model(ws, request, source)
    if model is None or not source.summary or not ws.settings.language_model.sentences:
        return NO_NARRATION
    subject = _Subject(request, source, build_digest(turns))
    prompt = prompts.build_compaction_prompt(source.summary, subject.list_names(), model.max_chars)
    account = subject.request_account(ws, model, COMPACTION, prompt)
    return Narration(_list_ids(turns), (account.sentence, OK), None, ws.now) if account.sentence else NO_NARRATION


def select_model(ws: Workspace, request: Request, source: SessionSource) -> Model | None:
    """The model that may be shown a session; None for private, temp and test ones, and where there is none."""
    is_barred = request.private or is_test_session(request.identity, source.project)
    return None if is_barred else ws.model


class _Subject(NamedTuple):
    """What an account is about."""

    request: Request
    source: SessionSource
    digest: Digest

    def list_names(self) -> list[str]:
        """The anchors of its sentence that are worth naming, the best first."""
        setting, anchors = build_setting(self.request, self.source), self._list_anchors()
        project = [sentence.base_name(setting.project)] if setting.project else []
        files = map(sentence.base_name, (*self.digest.edited_files, *self.digest.read_files))
        return [name for name in (*project, *files, *self.digest.names, setting.harness) if name in anchors]

    def request_account(self, ws: Workspace, model: Model, task: str, prompt: str) -> "ModelSummary":
        from lineage.extraction.model import parse_answer  # noqa: PLC0415  (only who has a model pays for it)

        read = partial(parse_answer.parse_summary, anchors=self._list_anchors(), clean=ws.build_sanitizer().sanitize)
        return model.ask(task, prompt, read) or parse_answer.ModelSummary()

    def _list_anchors(self) -> frozenset[str]:
        return sentence.extract_anchors(build_setting(self.request, self.source), self.digest)


def _list_ids(turns: Sequence[Turn]) -> tuple[str, ...]:
    return tuple(turn.id for turn in turns)
