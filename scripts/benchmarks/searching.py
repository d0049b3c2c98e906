"""Search over many passages, by the corpus's artifacts: beside its own SQL, the bare OR of all words, and tantivy."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from functools import cache, partial
from pathlib import Path
from random import Random

from benchmarks import floors
from benchmarks.corpus import SEED, Corpus, kept_index
from benchmarks.pairing import Pair
from benchmarks.rivals import Tantivy
from benchmarks.rows import passage_rows
from benchmarks.words import Prose
from lineage.core.search.index_sql import MAX_PASSAGES
from lineage.index import SqliteIndex, build_match_expression
from lineage.pipeline.search.search import search
from lineage.workspace.workspace import Workspace

_AGENT = "default"
_FOUND = 10
_A_SESSION = 8  # passages
_QUESTIONS, _OF_WORKSPACE = 40, 5
_FIRST = 5  # results that are looked at for an answer
_SHORTEST, _LONGEST = 3, 8  # words
_AT = "2026-11-20T10:30:00.000Z"
_TURNS = 4  # of a passage of `passage_rows`
_SAID = "select body from search where rowid = (select id from artifacts where source_path = ?) * ? + ?"
_BARE = "select body from search where search match ? order by rank limit ?"


@contextmanager
def workspace(corpus: Corpus) -> Iterator[Pair]:
    """The use case over the corpus itself."""
    asked = questions(_OF_WORKSPACE)
    expressions = [build_match_expression(question) or "" for question in asked]
    with corpus.opened() as ws, closing(_read_only(corpus.index)) as connection:
        yield Pair(
            what=f"search of the workspace, {len(asked)} questions of 3 to 8 words, against the OR of all words",
            floor=partial(floors.search, connection, expressions),
            subject=partial(_search, ws, asked),
        )


@contextmanager
def passages(corpus: Corpus) -> Iterator[list[Pair]]:
    """One contest over as many passages as the corpus has artifacts."""
    asked = questions(_QUESTIONS)
    count = corpus.artifacts
    expressions = [build_match_expression(question) or "" for question in asked]
    with opened_passages(count) as index, closing(_read_only(index.path)) as connection:
        subject = partial(_ask, index, asked)
        what = f"search of {count:,} passages, {len(asked)} questions of 3 to 8 words, against"
        own = partial(_replayed, connection, _statements(index, asked))
        bare = partial(floors.search, connection, expressions)
        pairs = [
            Pair(row="search-sql", what=f"{what} its own SQL", floor=own, subject=subject),
            Pair(
                row="search-any",
                what=f"{what} the OR of all words",
                floor=bare,
                subject=subject,
                counted=_answered(connection, index),
            ),
        ]
        with Tantivy.opened(index.path) as rival:
            if rival:
                floor = partial(rival.search, asked, _FOUND)
                pairs.append(
                    Pair(row="search-tantivy", what=f"{what} tantivy {rival.version}", floor=floor, subject=subject)
                )
            yield pairs


def opened_passages(count: int) -> AbstractContextManager[SqliteIndex]:
    """An index of so many passages, kept for the day."""
    return kept_index(f"passages-{count}", partial(passage_rows, _AT, max(1, count // _A_SESSION), _A_SESSION, SEED))


def questions(count: int) -> list[str]:
    """Words out of one sentence of the corpus each: common and rare ones mixed, as people ask."""
    return [question for question, _ in answered_questions(count)]


@cache
def answered_questions(count: int) -> Sequence[tuple[str, str]]:
    """Questions, each with the sentence that answers it."""
    prose = Prose(SEED)
    random = Random(SEED)
    drawn: list[tuple[str, str]] = []
    while len(drawn) < count:
        sentence = prose.sentence()
        words = list(dict.fromkeys(sentence.lower().rstrip(".").split()))
        if len(words) >= _LONGEST:
            drawn.append((" ".join(random.sample(words, random.randint(_SHORTEST, _LONGEST))), sentence))
    return drawn


def _answered(connection: sqlite3.Connection, index: SqliteIndex) -> str:
    """How many questions have their answer among the first results."""
    return (
        f"{_answers(connection, index)} of {_QUESTIONS} answered among the first {_FIRST},"
        f" {_bare_answers(connection)} by the OR of all words; on real questions: scripts/eval --among"
    )


def _answers(connection: sqlite3.Connection, index: SqliteIndex) -> int:
    found = 0
    for question, sentence in answered_questions(_QUESTIONS):
        hits = index.search(question, _AGENT, limit=_FIRST)
        at = [(hit.path, MAX_PASSAGES, hit.turns[0] // _TURNS) for hit in hits if hit.turns]
        found += any(sentence in connection.execute(_SAID, one).fetchone()[0] for one in at)
    return found


def _bare_answers(connection: sqlite3.Connection) -> int:
    found = 0
    for question, sentence in answered_questions(_QUESTIONS):
        texts = connection.execute(_BARE, (build_match_expression(question), _FIRST))
        found += any(sentence in text for (text,) in texts.fetchall())
    return found


def _search(ws: Workspace, asked: Sequence[str]) -> None:
    for question in asked:
        search(ws, question, _AGENT, _FOUND)


def _ask(index: SqliteIndex, asked: Sequence[str]) -> None:
    for question in asked:
        index.search(question, _AGENT, limit=_FOUND)


def _statements(index: SqliteIndex, asked: Sequence[str]) -> list[str]:
    """The statements that the questions come to, with their values."""
    statements: list[str] = []
    with index.trace_statements(statements.append):
        _ask(index, asked)
    return statements


def _replayed(connection: sqlite3.Connection, statements: Sequence[str]) -> None:
    for statement in statements:
        connection.execute(statement).fetchall()


def _read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True)
