"""The questions of a set asked among many passages of other text: what is found, and how fast beside the bare query.

Other text is of the files of a folder, else words of the set's own sessions, drawn at random with a seed: each is then
as common among many passages as it is in the set, which is what a ranking that leaves out common words has to stand.
No question is asked as an agent: every session takes part.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks.rows import batches, talk

from evaluation.material import Material, Question
from evaluation.measures import Measures, judge, measure, p95
from evaluation.rankers import MOST, Lineage, Text, Words, captured, first_sessions, read_texts, unpruned
from lineage.core.search import passages
from lineage.core.search.index_sql import MAX_PASSAGES
from lineage.core.search.passages import Passage
from lineage.errors import InvalidInput
from lineage.index import ArtifactRow, SqliteIndex, build_match_expression
from lineage.workspace.workspace import Workspace

_SEED = 8
_WORDS = 155  # of a passage
_A_SESSION = 8  # passages
_ROUNDS = 3
_AT = "2023-06-20T10:30:00.000Z"
_LENGTHS = ((3, 8), (5, 12))
_SUFFIXES = {".md", ".rst", ".txt", ".py"}
_BARE = f"""
    with found as (select rowid as id, rank from search where search match ? order by rank limit {MOST})
    select a.session_id from found join artifacts a on a.id = found.id / {MAX_PASSAGES} where found.id > 0
    order by found.rank
"""
_HEAD = """
| {name}, among {passages:,} passages of {text} | hit@1 | hit@5 | MRR | recall@10 |{lengths}
| --- | ---: | ---: | ---: | ---: |{rule}"""


class Bare:
    """The bare full-text query for any of a question's words, over the same passages."""

    name = "any word, bare FTS5"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __call__(self, question: str, group: str | None) -> list[str]:
        rows = self._connection.execute(_BARE, (build_match_expression(question),))
        return first_sessions(row[0] for row in rows)


Asked = Words | Lineage | Bare


def lines(material: Material, count: int, folder: Path | None) -> Iterator[str]:
    """The table: shares of all questions, then the median and the 95th percentile of those of so many words, the best
    of some rounds, and their ratios to the bare query's. Every ranker is asked each question in turn."""
    with TemporaryDirectory(prefix="lineage-eval-") as place, _asked(Path(place), material, count, folder) as rankers:
        questions = [question for question in material.questions if question.answers]
        found, times = _rounds(rankers, questions)
        lengths = "".join(f" {least} to {most} words, ms: median / p95 | × bare |" for least, most in _LENGTHS)
        text = f"files of {folder.name}" if folder else "its own words"
        rule = " ---: | ---: |" * len(_LENGTHS)
        yield _HEAD.format(name=material.name, passages=count, text=text, lengths=lengths, rule=rule)
        bare = times[-1]
        for ranker, measures, taken in zip(rankers, found, times, strict=True):
            yield _line(ranker.name, measures, questions, taken, bare)


@contextmanager
def _asked(place: Path, material: Material, count: int, folder: Path | None) -> Iterator[Sequence[Asked]]:
    """As it is, unpruned and the bare query, over the set's sessions and so many other passages."""
    with captured(place, material) as ws, closing(_connection(ws)) as connection:
        _widen(ws, _of_folder(folder) if folder else _drawn(read_texts(ws)), count)
        yield Words(ws), unpruned(ws), Bare(connection)


def _connection(ws: Workspace) -> sqlite3.Connection:
    """The bare query's. Raises InvalidInput where there is no full text of SQLite's to be asked."""
    if not isinstance(ws.index, SqliteIndex):
        raise InvalidInput("--among compares with a bare query of SQLite's", hint="leave out --index and LINEAGE_INDEX")
    return sqlite3.connect(ws.index.path)


def _rounds(rankers: Sequence[Asked], questions: Sequence[Question]) -> tuple[list[Measures], list[list[float]]]:
    """What each ranker finds and its best milliseconds for each question; every other question is asked of the last
    ranker first."""
    times = [[float("inf")] * len(questions) for _ in rankers]
    results: list[list[Sequence[str]]] = [[()] * len(questions) for _ in rankers]
    order = list(range(len(rankers)))
    for number in range(_ROUNDS):
        for place, question in enumerate(questions):
            for one in order if (number + place) % 2 else reversed(order):
                began = perf_counter()
                results[one][place] = rankers[one](question.text, None)
                times[one][place] = min(times[one][place], (perf_counter() - began) * 1000)
    measures = [measure(judge(questions, *each, frozenset())) for each in zip(results, times, strict=True)]
    return measures, times


def _line(
    name: str, found: Measures, questions: Sequence[Question], times: Sequence[float], bare: Sequence[float]
) -> str:
    shares = (found.hit1, found.hit5, found.reciprocal_rank, found.recall10)
    cells = [name, *(f"{share:.3f}" for share in shares)]
    for least, most in _LENGTHS:
        chosen = [place for place, one in enumerate(questions) if least <= len(one.text.split()) <= most]
        taken, floor = ([of[place] for place in chosen] for of in (times, bare))
        if not chosen:
            cells += ["–", "–"]
            continue
        ratios = (median(taken) / median(floor), p95(taken) / p95(floor))
        cells += [f"{median(taken):.1f} / {p95(taken):.1f}", " / ".join(f"{ratio:.3f}" for ratio in ratios)]
    return f"| {' | '.join(cells)} |"


def _widen(ws: Workspace, texts: Iterator[str], count: int) -> None:
    """Adds rows that have no files. Raises SystemExit where there is too little text."""
    added = 0
    for batch in batches(_rows(islice(texts, count))):
        ws.index.upsert(batch)
        added += sum(len(tuple(row.passages)) for row in batch)
    if added < count:
        raise SystemExit(f"only {added:,} passages of other text: give a folder with more, or a smaller number")


def _rows(texts: Iterator[str]) -> Iterator[ArtifactRow]:
    number = 0
    while found := list(islice(texts, _A_SESSION)):
        yield talk(number, _AT, [Passage(text, place, place) for place, text in enumerate(found, 1)])
        number += 1


def _drawn(texts: Sequence[Text]) -> Iterator[str]:
    words = [word for one in texts for passage in one.passages for word in passage.split()]
    random = Random(_SEED)
    while True:
        yield " ".join(random.choices(words, k=_WORDS))


def _of_folder(folder: Path) -> Iterator[str]:
    """The different passages of a folder's text files, in the order of their paths."""
    seen: set[str] = set()
    for path in sorted(folder.rglob("*")):
        if path.suffix in _SUFFIXES and path.is_file():
            for passage in passages.split_text(path.read_text(encoding="utf-8", errors="replace")):
                if passage.text not in seen:
                    seen.add(passage.text)
                    yield passage.text
