"""What the spool says is unfinished is finished before anything else is done. (spec: partial-failure states)

The spool is empty as a rule: what finishes a removal, an import or an archive is imported where there is one.
"""

from lineage.core.job import ARCHIVING, IMPORT, REMOVAL, RESANITIZE, Job
from lineage.core.request import COMPACTION, Request, request
from lineage.errors import EngineMissing, FormatError, IndexAway, LineageError
from lineage.pipeline.capture import session as sessions
from lineage.pipeline.capture.session_end import session_end
from lineage.pipeline.house import House, Outcome
from lineage.store import BusyError

UNSENTENCED = ("", "")
"""The sentence of a job that nobody has looked into yet."""

_WITHOUT_ENGINE = "run `pip install google-re2`, then `lineage recover`"


class Resumed:
    """What was finished: artifacts by path; `waiting` are jobs whose source cannot be read, with the reason."""

    def __init__(self) -> None:
        self.finished: list[str] = []
        self.removals: list[str] = []
        self.resanitized: list[str] = []
        self.waiting: list[tuple[str, str]] = []


def run(house: House, asked: Request) -> Outcome:
    """One of the spec's two flows as commands run it: first what others left unfinished, then what is asked.

    Where the redaction engine is missing nothing is captured and nothing is lost: what was asked waits in the spool.
    """
    try:
        resume(house, spare=asked.token)
        return _flow(house, asked)
    except EngineMissing as error:
        house.canon.spool.put(sessions.job_of(asked, UNSENTENCED))
        raise EngineMissing(f"{error.message}; the session waits in the spool", hint=_WITHOUT_ENGINE) from error


def resume(house: House, done: Resumed | None = None, *, wait: bool = False, spare: str | None = None) -> Resumed:
    """Finishes what the spool says is unfinished: cheap where it is empty. Sessions that somebody works on right now
    are left to them, unless `wait` says otherwise; so is the session whose token is `spare`. While the index is away,
    all of it waits."""
    done = done or Resumed()
    pending = house.canon.spool.pending()
    unreachable = _away(house) if pending else None
    if unreachable:
        done.waiting += [(job.name, unreachable.message) for job in pending]
        return done
    for job in pending:
        if job.token == spare and job.flow not in (REMOVAL, RESANITIZE, IMPORT):
            continue
        try:
            with sessions.exclusively(house, job.token, wait=wait):
                _finish_job(house, job, done)
            _replay(house, job, done)
        except BusyError:
            continue
        except FormatError as error:
            done.waiting.append((job.name, error.message))
    return done


def _away(house: House) -> IndexAway | None:
    from lineage.pipeline.behind import away  # noqa: PLC0415

    return away(house)


def _finish_job(house: House, job: Job, done: Resumed) -> None:
    """What a job has written already is completed from the files."""
    if job.flow == REMOVAL:
        from lineage.pipeline.upkeep.removal import finish_removal  # noqa: PLC0415

        finish_removal(house, job)
        done.removals.append(job.token)
        return
    if job.flow == IMPORT:
        from lineage.pipeline.bundles.bundling import finish_import  # noqa: PLC0415

        done.finished += finish_import(house, job)
        return
    if job.flow == ARCHIVING:
        from lineage.pipeline.archive.archiving import finish_archiving  # noqa: PLC0415

        finish_archiving(house, job)
        return
    if house.canon.tombstones.has(job.token):
        house.canon.spool.clear(job)
        return
    if job.flow == RESANITIZE:
        from lineage.pipeline.upkeep.resanitizing import finish_resanitizing  # noqa: PLC0415

        finish_resanitizing(house, job)
        done.resanitized.append(job.token)
        return
    session = sessions.observed(house, job.token)
    done.finished += [artifact.path for artifact in sessions.finish_interrupted(house, session)]


def _replay(house: House, job: Job, done: Resumed) -> None:
    """A job that had written nothing yet is run again from its payload. Where its source is gone, it waits."""
    if job.name not in {known.name for known in house.canon.spool.pending(job.token)}:
        return
    try:
        asked = request(job.flow, job.payload, agent_id=None, now=job.captured_at)
        outcome = _flow(house, asked)
    except LineageError as error:
        done.waiting.append((job.name, error.message))
        return
    done.finished += [path for path in (outcome.transcript_path, outcome.compaction_path) if path]


def _flow(house: House, asked: Request) -> Outcome:
    if asked.flow == COMPACTION:
        from lineage.pipeline.capture.compaction import compaction  # noqa: PLC0415

        return compaction(house, asked)
    return session_end(house, asked)
