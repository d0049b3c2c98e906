"""A generated workspace: real documents of the canonical layer, seeded, of realistic sizes."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import transcripts
from benchmarks.words import Prose
from lineage.app import now, open_house
from lineage.core import manifest as revisions
from lineage.core import naming
from lineage.core.documents import Document, claim, serialized
from lineage.core.request import SESSION_END, Request, request
from lineage.core.sanitizer import VERSION, Sanitizer
from lineage.core.times import shifted
from lineage.core.turns import ASSISTANT, TOOL, USER, Turn, identified
from lineage.extract import digest
from lineage.pipeline.capture.building import memory_sentence, summary_of, transcript_of
from lineage.pipeline.capture.source import Source
from lineage.pipeline.house import House
from lineage.pipeline.publishing import publish_all
from lineage.pipeline.upkeep.reindexing import synchronize

IN_WINDOW = 1_500  # sessions; the others are older than the ledger's 30 days
TRANSCRIPT_BYTES = 2_000_000
SEED = 8

_A_SESSION = 3  # transcript, summary, manifest
_DAY = 86_400_000
_PROJECTS = 12
_MEDIAN_LOG, _SPREAD, _LONGEST = 9.8, 1.0, 400_000  # of a transcript's text, in characters: median 18,000


@dataclass(frozen=True, slots=True)
class Corpus:
    """A folder with a workspace and a transcript that nobody has captured yet."""

    folder: Path

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    @property
    def index(self) -> Path:
        return self.workspace / ".lineage" / "index.db"

    @property
    def transcript(self) -> Path:
        return self.folder / "session.jsonl"

    def scratch(self, name: str) -> Path:
        """A folder outside of the workspace, for a floor's own files."""
        path = self.folder / name
        path.mkdir(exist_ok=True)
        return path

    @contextmanager
    def opened(self) -> Iterator[House]:
        house = open_house(self.workspace)
        try:
            yield house
        finally:
            house.close()

    def end_request(self, house: House) -> Request:
        """The end of a session that has never been captured, with the transcript of 2 MB."""
        payload = {
            "harness": "claude-code",
            "session_id": f"bench-{house.new_id()}",
            "transcript_path": str(self.transcript),
        }
        return request(SESSION_END, payload, agent_id=None, now=house.now)


def generate(folder: Path, artifacts: int) -> Corpus:
    """A workspace with about so many files in `memory/`, indexed and rendered, and a transcript beside it."""
    corpus = Corpus(folder)
    (corpus.workspace / naming.CLAIMS).mkdir(parents=True)
    transcripts.write(corpus.transcript, TRANSCRIPT_BYTES, SEED)
    prose, latest = Prose(SEED), now()
    for number in range(max(1, artifacts // _A_SESSION)):
        for document in _session(prose, shifted(latest, milliseconds=-_age(number))):
            (corpus.workspace / document.path).write_bytes(serialized(document))
    with corpus.opened() as house:
        synchronize(house, confirmed=True)
        publish_all(house)
    return corpus


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
    asked = request(SESSION_END, payload, agent_id=None, now=ended_at)
    turns = identified(list(_turns(prose, ended_at)), asked.token)
    source = _source(asked, turns, prose.sentence()[:80])
    stem = naming.stem(ended_at, asked.token)
    happened = digest(turns)
    sentenced = memory_sentence(asked, source, happened, "ended", Sanitizer())
    transcript = transcript_of(asked, source, turns, stem, sentenced, VERSION)
    capture = (transcript, summary_of(transcript, happened, None))
    yield from capture
    yield claim(asked.identity, stem)
    manifest = revisions.linked(None, stem, capture, prose.identifier(), ended_at)
    if manifest:
        yield manifest


def _source(asked: Request, turns: tuple[Turn, ...], title: str) -> Source:
    return Source(
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
