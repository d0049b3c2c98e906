"""Questions over many passages: search beside the bare full-text query for any of their words.

Usage: PYTHONPATH=scripts .venv/bin/python -m benchmarks.questions [PASSAGES]
"""

import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks.corpus import SEED
from benchmarks.words import Prose
from lineage.core.passages import Passage
from lineage.index import Row, SqliteIndex, match_expression

_PASSAGES = 100_000
_A_SESSION = 8  # passages
_BATCH = 1_000
_QUESTIONS = 100
_AT = "2026-11-20T10:30:00.000Z"
_BARE = "select rowid from search where search match ? order by rank limit 10"


def main(arguments: Sequence[str]) -> None:
    passages = int(arguments[0]) if arguments else _PASSAGES
    with (
        TemporaryDirectory(prefix="lineage-bench-") as folder,
        closing(SqliteIndex(Path(folder) / "index.db")) as index,
    ):
        prose = Prose(SEED)
        rows = (_row(prose, number) for number in range(passages // _A_SESSION))
        while batch := list(islice(rows, _BATCH)):
            index.upsert(batch)
        print("| questions of | search, median / p95 ms | any word, median / p95 ms | ratio |")
        print("| --- | ---: | ---: | ---: |")
        for shortest, longest in ((3, 8), (5, 12)):
            print(
                _line(index, list(_questions(prose, shortest, longest)), f"{shortest} to {longest} words"), flush=True
            )


def _line(index: SqliteIndex, questions: Sequence[str], what: str) -> str:
    with closing(sqlite3.connect(f"file:{index.path}?mode=ro", uri=True)) as connection:
        found = _milliseconds(lambda text: index.search(text, "default", limit=10), questions)
        bare = _milliseconds(lambda text: connection.execute(_BARE, (match_expression(text),)).fetchall(), questions)
    cells = [f"{median(times):.1f} / {quantiles(times, n=20)[-1]:.1f}" for times in (found, bare)]
    return f"| {what} | {cells[0]} | {cells[1]} | {median(found) / median(bare):.2f} |"


def _milliseconds(ask: Callable[[str], object], questions: Sequence[str]) -> list[float]:
    times = []
    for question in questions:
        began = perf_counter()
        ask(question)
        times.append((perf_counter() - began) * 1000)
    return times


def _questions(prose: Prose, shortest: int, longest: int) -> Iterator[str]:
    """Words out of one sentence each: common and rare ones mixed, as people ask."""
    made = 0
    while made < _QUESTIONS:
        words = list(dict.fromkeys(prose.sentence().lower().rstrip(".").split()))
        count = prose.random.randint(shortest, longest)
        if len(words) >= count:
            made += 1
            yield " ".join(prose.random.sample(words, count))


def _row(prose: Prose, number: int) -> Row:
    text = [Passage(prose.text(900), 4 * place + 1, 4 * place + 4) for place in range(_A_SESSION)]
    stem = f"bench-{number:08d}"
    return Row(
        source_path=f"memory/{stem}.md",
        source_sha256=stem,
        source_kind="transcript",
        agent_id="default",
        session_id=stem,
        session_key=None,
        session_token=stem,
        stem=stem,
        project=None,
        harness="generic",
        captured_at=_AT,
        started_at=_AT,
        ended_at=_AT,
        membership_ts=_AT,
        manifest_path=f"memory/{stem}.md",
        content_sha256=stem,
        memory_sentence=prose.sentence(),
        memory_sentence_quality="ok",
        title="",
        private=0,
        visible=1,
        stamp="",
        passages=tuple(text),
    )


if __name__ == "__main__":
    main(sys.argv[1:])
