"""What a language model tells of a capture or a compaction: its sentence, its summary's narrative. (format: Sentence)

It is asked before the session's mutex is taken, for it may think for a minute, and what it says counts only where the
turns are the same ones under the mutex. It is not asked about what was signalled before: a job in the spool has its
sentence, and recovery asks nobody. Nor is it shown private sessions, temp and test ones.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from lineage.core import sentence
from lineage.core.digest import Digest
from lineage.core.documents import OK
from lineage.core.identity import is_trial
from lineage.core.job import Job
from lineage.core.request import Request
from lineage.core.sanitizer import Sanitizer
from lineage.core.turns import Turn
from lineage.extract import digest
from lineage.extract.model.port import Model, Proposals
from lineage.pipeline.capture.building import setting_of
from lineage.pipeline.capture.source import Source
from lineage.pipeline.house import House

if TYPE_CHECKING:
    from lineage.extract.model.readings import Account

CAPTURE = "capture"
COMPACTION = "compaction"

_MADE = "The harness kept no summary; a language model wrote this one. The sections after it are extracted by rule."


class Told(NamedTuple):
    """What was said of the turns with these ids before anything of them was written: the sentence with its quality and
    the narrative, None where there is none. `at` is when a model wrote the sentence; `proposals` are what it would
    remember."""

    turns: tuple[str, ...] = ()
    sentenced: tuple[str, str] | None = None
    narrative: str | None = None
    at: str | None = None
    proposals: Proposals = Proposals()

    def of(self, turns: Sequence[Turn]) -> "Told":
        """This, where it is about these very turns."""
        return self if len(self.turns) == len(turns) and self.turns == _ids(turns) else NOTHING


NOTHING = Told()


def adopted(job: Job, sanitizer: Sanitizer) -> Told:
    """What an unfinished flow's job holds: nobody is asked a second time."""
    sentenced = (job.sentence, job.quality) if job.sentence else None
    return Told((), sentenced, sanitizer.optional(job.payload.get("summary")))


def told_of_capture(house: House, request: Request, source: Source, turns: Sequence[Turn]) -> Told:
    """What a model says of a session's new turns, and what of them it would remember."""
    model, uses = model_for(house, request, source), house.settings.language_model
    if model is None or not turns:
        return NOTHING
    told = _narrated(house, model, request, source, turns)
    return told._replace(proposals=_proposed(house, model, turns)) if uses.memory else told


def _proposed(house: House, model: Model, turns: Sequence[Turn]) -> Proposals:
    from lineage.extract.model.proposals import proposed  # noqa: PLC0415  (only who has a model pays for it)

    learns = house.settings.knowledge.extract
    return proposed(turns, model, house.sanitizer().text) if learns else Proposals()


def _narrated(house: House, model: Model, request: Request, source: Source, turns: Sequence[Turn]) -> Told:
    """The sentence and the narrative, which is not asked for where the harness gave a summary."""
    from lineage.extract.model import prompts  # noqa: PLC0415  (only who has a model pays for it)

    uses = house.settings.language_model
    narrated = uses.summaries and not source.summary
    if not (uses.sentences or narrated):
        return Told(_ids(turns))
    subject = _Subject(request, source, digest(turns))
    prompt = prompts.account(turns, subject.names(), model.most_chars, sentence=uses.sentences, narrative=narrated)
    account = subject.account(house, model, CAPTURE, prompt)
    sentenced = (account.sentence, OK) if uses.sentences and account.sentence else None
    narrative = f"{_MADE}\n\n{account.narrative}" if narrated and account.narrative else None
    return Told(_ids(turns), sentenced, narrative, house.now if sentenced else None)


def told_of_compaction(house: House, request: Request, source: Source, turns: Sequence[Turn]) -> Told:
    """What a model says of a compaction, from the summary that came with it; the anchors are those of the turns that
    were compacted."""
    from lineage.extract.model import prompts  # noqa: PLC0415  (only who has a model pays for it)

    model = model_for(house, request, source)
    if model is None or not source.summary or not house.settings.language_model.sentences:
        return NOTHING
    subject = _Subject(request, source, digest(turns))
    prompt = prompts.compaction(source.summary, subject.names(), model.most_chars)
    account = subject.account(house, model, COMPACTION, prompt)
    return Told(_ids(turns), (account.sentence, OK), None, house.now) if account.sentence else NOTHING


def model_for(house: House, request: Request, source: Source) -> Model | None:
    """The model that may be shown a session; None for private, temp and test ones, and where there is none."""
    is_barred = request.private or is_trial(request.identity, source.project)
    return None if is_barred else house.model


class _Subject(NamedTuple):
    """What an account is about."""

    request: Request
    source: Source
    happened: Digest

    def names(self) -> list[str]:
        """The anchors of its sentence that are worth naming, the best first."""
        setting, anchors = setting_of(self.request, self.source), self._anchors()
        project = [sentence.base_name(setting.project)] if setting.project else []
        files = map(sentence.base_name, (*self.happened.edited, *self.happened.read))
        return [name for name in (*project, *files, *self.happened.names, setting.harness) if name in anchors]

    def account(self, house: House, model: Model, task: str, prompt: str) -> "Account":
        from lineage.extract.model import readings  # noqa: PLC0415  (only who has a model pays for it)

        read = partial(readings.account, anchors=self._anchors(), clean=house.sanitizer().text)
        return model.ask(task, prompt, read) or readings.Account()

    def _anchors(self) -> frozenset[str]:
        return sentence.anchors(setting_of(self.request, self.source), self.happened)


def _ids(turns: Sequence[Turn]) -> tuple[str, ...]:
    return tuple(turn.id for turn in turns)
