"""Rows of sessions that have no files: enough of them, quickly, for what only the index has part in."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from benchmarks.words import Prose
from lineage.core.base import naming
from lineage.core.base.times import shift_time
from lineage.core.search.passages import Passage
from lineage.index import ArtifactRow

_BATCH = 2_000
_DAY = 86_400_000
_WINDOW_DAYS = 29
_SEED = 8

_ROW = ArtifactRow(
    source_path="",
    source_sha256="",
    source_kind=naming.SUMMARY,
    agent_id="default",
    session_id="",
    session_key=None,
    session_token="",
    stem="",
    project="/home/ada/lantern",
    project_key="~/lantern",
    harness="generic",
    captured_at="",
    started_at="",
    ended_at="",
    membership_ts="",
    manifest_path="",
    content_sha256="",
    memory_sentence="",
    memory_sentence_quality="ok",
    title="",
    ask="",
    outcome="",
    checks="",
    files="",
    private=0,
    partial=0,
    visible=1,
    parent_token=None,
    folders="",
    stamp="",
    passages=(),
)


def ledger_rows(now: str, inside: int, outside: int) -> Iterator[list[ArtifactRow]]:
    """Batches of summaries: so many spread over the last 29 days, so many older ones, 50 a day."""
    prose = Prose(_SEED)
    ages = [(number + 1) * _WINDOW_DAYS * _DAY // (inside + 1) for number in range(inside)]
    older = [(_WINDOW_DAYS + 2) * _DAY + number * _DAY // 50 for number in range(outside)]
    return batches(
        row(number, shift_time(now, milliseconds=-age), prose.sentence()) for number, age in enumerate([*ages, *older])
    )


def passage_rows(now: str, sessions: int, passages: int, seed: int) -> Iterator[list[ArtifactRow]]:
    """Batches of transcripts with so many passages each."""
    prose = Prose(seed)
    texts = (tuple(Passage(prose.text(900), 4 * n + 1, 4 * n + 4) for n in range(passages)) for _ in range(sessions))
    return batches(talk(number, now, text, prose.sentence()) for number, text in enumerate(texts))


def talk(number: int, at: str, passages: Sequence[Passage], sentence: str = "") -> ArtifactRow:
    """The row of a made-up session's transcript."""
    return row(number, at, sentence)._replace(source_kind=naming.TRANSCRIPT, passages=tuple(passages))


def row(number: int, at: str, sentence: str = "") -> ArtifactRow:
    """The row of a made-up session that ended then."""
    token = f"{number:016d}"
    stem = naming.build_stem(at, token)
    return _ROW._replace(
        source_path=naming.artifact_path(stem, naming.SUMMARY),
        source_sha256=stem,
        session_id=f"bench-{number:08d}",
        session_token=token,
        stem=stem,
        captured_at=at,
        started_at=at,
        ended_at=at,
        membership_ts=at,
        manifest_path=naming.artifact_path(stem, naming.MANIFEST),
        content_sha256=stem,
        memory_sentence=sentence,
    )


def batches(rows: Iterable[ArtifactRow]) -> Iterator[list[ArtifactRow]]:
    """As many rows at once as are written at once."""
    taken = iter(rows)
    while batch := list(islice(taken, _BATCH)):
        yield batch
