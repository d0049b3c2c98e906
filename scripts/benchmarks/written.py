"""The sessions of a generated corpus: real documents of the canonical layer, each made of its own number alone."""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from random import Random

from benchmarks.words import Prose
from lineage.core.base import naming
from lineage.core.base.times import shift_time
from lineage.core.capture.request import SESSION_END, Request, parse_request
from lineage.core.format import manifest as revisions
from lineage.core.format.documents import Document, build_claim, serialize_document
from lineage.core.format.turns import ASSISTANT, TOOL, USER, Turn, assign_ids
from lineage.core.sanitizer import BUILTIN, Sanitizer
from lineage.extraction.digests import build_digest
from lineage.pipeline.capture.artifacts import build_summary, build_transcript, compose_sentence
from lineage.pipeline.capture.source import SessionSource

A_SESSION = 3  # artifacts: transcript, summary, manifest
IN_WINDOW = 1_500  # sessions; the others are older than the ledger's 30 days

_DAY = 86_400_000
_PROJECTS = 12
_MEDIAN_LOG, _SPREAD, _LONGEST = 9.8, 1.0, 400_000  # of a transcript's text, in characters: median 18,000
_DIGESTED = 12  # turns; the sentence and the summary are of realistic sizes with so many
_CHUNK = 100


def write(workspace: Path, sessions: int, seed: int, latest: str, jobs: int) -> None:
    """Writes so many sessions, in `jobs` processes; the files do not depend on how many these are."""
    (workspace / naming.CLAIMS).mkdir(parents=True)
    work = partial(_write, workspace, seed, latest)
    chunks = [range(start, min(start + _CHUNK, sessions)) for start in range(0, sessions, _CHUNK)]
    if jobs == 1 or len(chunks) == 1:
        list(map(work, chunks))
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        list(pool.map(work, chunks))


def documents(seed: int, number: int, latest: str) -> Iterator[Document]:
    """The files of one session; `latest` is the time that no session ends after."""
    prose = _prose(seed)
    prose.random = Random(f"{seed}-{number}")
    return _session(prose, shift_time(latest, milliseconds=-_age(number)))


def _write(workspace: Path, seed: int, latest: str, numbers: range) -> None:
    for number in numbers:
        for document in documents(seed, number, latest):
            (workspace / document.path).write_bytes(serialize_document(document))


@cache
def _prose(seed: int) -> Prose:
    return Prose(seed)


@cache
def _sanitizer() -> Sanitizer:
    return Sanitizer()


def _age(number: int) -> int:
    """Milliseconds since the session ended: the newest 1,500 spread over 29 days, then 50 a day."""
    if number < IN_WINDOW:
        return (number + 1) * 29 * _DAY // (IN_WINDOW + 1)
    return 31 * _DAY + (number - IN_WINDOW) * _DAY // 50


def _session(prose: Prose, ended_at: str) -> Iterator[Document]:
    payload = {
        "harness": "claude-code",
        "session_id": prose.identifier(),
        "project": f"/home/ada/{prose.vocabulary[2_000 + prose.random.randrange(_PROJECTS)]}",
        "transcript": "",
        "ended_at": ended_at,
    }
    asked = parse_request(SESSION_END, payload, agent_id=None, now=ended_at)
    turns = tuple(assign_ids(list(_turns(prose, ended_at)), asked.token))
    source = _source(asked, turns, prose.sentence()[:80])
    stem = naming.build_stem(ended_at, asked.token)
    happened = build_digest(turns[:_DIGESTED])
    sentenced = compose_sentence(asked, source, happened, "ended", _sanitizer())
    transcript = build_transcript(asked, source, turns, stem, sentenced, BUILTIN.version)
    capture = (transcript, build_summary(transcript, happened, None))
    yield from capture
    yield build_claim(asked.identity, stem)
    manifest = revisions.link_artifacts(None, stem, capture, prose.identifier(), ended_at)
    if manifest:
        yield manifest


def _source(asked: Request, turns: tuple[Turn, ...], title: str) -> SessionSource:
    return SessionSource(
        turns=turns,
        project=asked.project,
        title=title,
        started_at=turns[0].at,
        ended_at=asked.ended_at,
        models=["claude-sonnet-4-5"],
        branches=["main"],
        summary=None,
        compactions=(),
        redactions={},
        skipped={},
    )


def _turns(prose: Prose, ended_at: str) -> Iterator[Turn]:
    left = min(_LONGEST, int(prose.random.lognormvariate(_MEDIAN_LOG, _SPREAD)))
    while left > 0:
        asked = prose.text(prose.random.randrange(60, 500))
        result = prose.text(prose.random.randrange(200, 2_000))
        answer = prose.text(prose.random.randrange(200, 1_200))
        yield Turn(USER, asked, ended_at, source_id=prose.identifier())
        yield Turn(ASSISTANT, "", ended_at, name="Edit", input=prose.file_name(), source_id=prose.identifier())
        yield Turn(TOOL, result, ended_at, name="Edit", source_id=prose.identifier())
        yield Turn(ASSISTANT, answer, ended_at, source_id=prose.identifier())
        left -= len(asked) + len(result) + len(answer)
