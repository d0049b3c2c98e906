"""Who is asked: lineage's search over a real workspace, and over the same texts what a capable neighbour would build.

The neighbours rank what lineage's full text holds of each transcript, titles and sentences included, by all words of a
question but stop words; FTS5 with the porter stemmer over whole sessions and over passages, words counted as by grep.
"""

import json
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Protocol

from benchmarks.rivals import interpreter

from evaluation.material import Material, Session
from lineage.app.history_import import build_import_request, import_history
from lineage.app.workspace import open_workspace
from lineage.core.base.naming import DEFAULT_AGENT
from lineage.core.capture.request import SESSION_END, parse_request
from lineage.core.search import language
from lineage.core.search.index_sql import MAX_PASSAGES
from lineage.core.search.query import parse_query
from lineage.core.search.segmentation import remove_separators, segment
from lineage.errors import LineageError
from lineage.harness.adapters import ADAPTERS
from lineage.index import SqliteIndex
from lineage.index.fts_query import DEFAULT_RANKING, Ranking
from lineage.pipeline.capture.session_end import capture_session
from lineage.pipeline.maintenance.reindex import reindex
from lineage.pipeline.maintenance.remove import remove
from lineage.pipeline.search.search import LEXICAL, search
from lineage.workspace.workspace import Workspace

MOST = 10
_PASSAGES_FOR_SESSIONS = 200  # that a ranking of passages looks at for its ten sessions
_NO_BOUND = 1 << 40
_MANY = 100_000  # passages
_WORD = re.compile(r"\w+")
_SUFFIX = "-talk"  # of captured ids, else some would look like trials
_SELECT_TEXTS = f"""
    select a.session_id, a.agent_id, s.title || ' ' || s.sentence || ' ' || s.body from artifacts a
    join search s on s.rowid between a.id * {MAX_PASSAGES} and a.id * {MAX_PASSAGES} + {MAX_PASSAGES - 1}
    where a.source_kind = 'transcript' order by s.rowid
"""


class Ranker(Protocol):
    """Answers a question of a group, or of all, with the ids of sessions, best first, at most `MOST`."""

    name: str

    def __call__(self, question: str, group: str | None) -> list[str]: ...


class Words:
    """`lineage search` by words: each session was captured as at its end, those that are to be gone were removed.
    Without a group every session is searched."""

    name = "`lineage search`"

    def __init__(self, ws: Workspace) -> None:
        self._ws = ws

    def __call__(self, question: str, group: str | None) -> list[str]:
        hits = search(self._ws, question, group, 2 * MOST, mode=LEXICAL).hits
        return first_sessions(hit.session_id for hit in hits)


class Lineage:
    """The index alone, with another choice of rows."""

    def __init__(self, ws: Workspace, name: str, ranking: Ranking) -> None:
        self.name = name
        self._ws, self._ranking = ws, ranking

    def __call__(self, question: str, group: str | None) -> list[str]:
        asked = parse_query(question, self._ws.now)
        hits = self._ws.index.search(asked, group, limit=2 * MOST, ranking=self._ranking)
        return first_sessions(hit.session_id for hit in hits)


def first_sessions(ids: Iterator[str | None]) -> list[str]:
    """The first different sessions."""
    return list(dict.fromkeys(one.removesuffix(_SUFFIX) for one in ids if one))[:MOST]


@contextmanager
def captured(folder: Path, material: Material) -> Iterator[Workspace]:
    """A workspace with the sessions of a set; of one that is there already, an index is built in the folder."""
    place, harness = material.history or (None, None)
    is_workspace = place is not None and (place / "memory").is_dir()
    if place and not is_workspace:
        _import(folder, place, harness or _find_harness(place))
    if place and is_workspace:
        ws = open_workspace(place, use_model=False, state=folder)
        reindex(ws)
    else:
        ws = open_workspace(folder, create=True, use_model=False)
    try:
        for session in material.sessions:
            _capture(ws, session)
        for session in material.sessions:
            if session.removed:
                remove(ws, f"{session.id}{_SUFFIX}", reason="evaluation")
        yield ws
    finally:
        ws.close()


def _import(root: Path, place: Path, harness: str) -> None:
    open_workspace(root, create=True, use_model=False).close()
    request = build_import_request(harness, [str(place)], agent_id=DEFAULT_AGENT, jobs=None)
    import_history(root, request, lambda *_: None)


def _find_harness(place: Path) -> str:
    """The harness that reads the first session of a place, the generic form last."""
    for harness in sorted(ADAPTERS, key=lambda name: name == "generic"):
        adapter = ADAPTERS[harness]
        for found in adapter.discover(place):
            try:
                if len(adapter.read(found.path, found.session or None).turns):
                    return harness
            except LineageError:
                break
    raise SystemExit(f"no session at {place} that a harness wrote: see `lineage import --help`")


def lineages(ws: Workspace, passages: int) -> Sequence[Ranker]:
    """As it is; as it would be if every row with any of the words were ranked; and with the bounds of what is ranked
    scaled down, so that they bind here as they do in a workspace of 100,000 passages."""
    share = passages / _MANY
    scaled = replace(
        DEFAULT_RANKING, budget=round(DEFAULT_RANKING.budget * share), common=round(DEFAULT_RANKING.common * share)
    )
    return Words(ws), unpruned(ws), Lineage(ws, f"`lineage search`, pruned as over {_MANY:,} passages", scaled)


def unpruned(ws: Workspace) -> Lineage:
    """With every row ranked that has any of the words."""
    return Lineage(ws, "`lineage search`, unpruned", replace(DEFAULT_RANKING, budget=_NO_BOUND, common=_NO_BOUND))


def _capture(ws: Workspace, session: Session) -> None:
    payload = {
        "harness": "generic",
        "session_id": f"{session.id}{_SUFFIX}",
        "project": session.project or "/home/ada/talk",
        "transcript": session.turns,
        "started_at": session.at,
        "ended_at": session.at,
        "captured_at": session.at,
    }
    capture_session(ws, parse_request(SESSION_END, payload, agent_id=session.group, now=ws.now))


@dataclass(frozen=True, slots=True)
class Text:
    """What full text holds of a session's transcript."""

    session: str
    group: str
    passages: list[str] = field(default_factory=list)


def read_texts(ws: Workspace) -> list[Text]:
    """The texts of all sessions; none where rows are in PostgreSQL."""
    texts: dict[str, Text] = {}
    if isinstance(ws.index, SqliteIndex):
        with closing(sqlite3.connect(ws.index.path)) as connection:
            for session, group, passage in connection.execute(_SELECT_TEXTS):
                (name,) = first_sessions(iter([session]))
                texts.setdefault(name, Text(name, group)).passages.append(passage)
    return list(texts.values())


def content_words(question: str) -> list[str]:
    """The different words of a question, as an index has them, without stop words unless there are no others."""
    words = list(dict.fromkeys(_WORD.findall(segment(question.lower()))))
    said_in = language.detect_language(words)
    return [word for word in words if not language.is_stop_word(word, said_in)] or words


class PlainFullText:
    """FTS5 with the porter stemmer: a row for each text, any content word of the question, ranked by bm25. A group has
    a table of its own, so that its words are as rare as they are in it."""

    def __init__(self, connection: sqlite3.Connection, texts: Sequence[Text], *, by_passage: bool) -> None:
        self.name = f"FTS5, porter and stop words, {'passages' if by_passage else 'whole sessions'}"
        self._connection, self._texts, self._by_passage = connection, texts, by_passage
        self._tables: dict[str | None, str] = {}

    def __call__(self, question: str, group: str | None) -> list[str]:
        if group not in self._tables:
            self._tables[group] = self._fill(group)
        table, words = self._tables[group], " OR ".join(f'"{word}"' for word in content_words(question))
        statement = f"select id from {table} where {table} match ? order by rank limit {_PASSAGES_FOR_SESSIONS}"
        return first_sessions(row[0] for row in self._connection.execute(statement, (words,)))

    def _fill(self, group: str | None) -> str:
        table = f"{'passages' if self._by_passage else 'sessions'}_{len(self._tables)}"
        self._connection.execute(
            f"create virtual table {table} using fts5(id unindexed, body, tokenize = 'porter unicode61')"
        )
        for text in self._texts:
            if group in (None, text.group):
                bodies = text.passages if self._by_passage else ["\n".join(text.passages)]
                rows = [(text.session, body) for body in bodies]
                self._connection.executemany(f"insert into {table} values (?, ?)", rows)
        return table


class Tantivy:
    """tantivy over the same passages, in a process of the bench's environment."""

    name = "tantivy, English stemmer and stop words, passages"

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def __call__(self, question: str, group: str | None) -> list[str]:
        _stream(self._process.stdin).write(json.dumps([group, content_words(question)]) + "\n")
        _stream(self._process.stdin).flush()
        return first_sessions(iter(json.loads(_stream(self._process.stdout).readline())))


@contextmanager
def tantivy(texts: Sequence[Text]) -> Iterator[Sequence[Ranker]]:
    """None where no interpreter has the package: `scripts/environment bench` makes one."""
    python = interpreter("tantivy")
    if python is None:
        print("tantivy is left out: run `scripts/environment bench`", file=sys.stderr)
        yield ()
        return
    command = [python, str(Path(__file__).with_name("tantivy_program.py"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        for one in texts:
            for passage in one.passages:
                _stream(process.stdin).write(json.dumps([one.group, one.session, passage]) + "\n")
        _stream(process.stdin).write("\n")
        yield (Tantivy(process),)
        _stream(process.stdin).close()


def _stream(stream: IO[str] | None) -> IO[str]:
    assert stream
    return stream


class Grep:
    """As one greps: the sessions that hold the most words of the question, then those that hold them oftenest."""

    name = "grep, by words that occur"

    def __init__(self, texts: Sequence[Text]) -> None:
        self._texts = [(one.session, one.group, remove_separators("\n".join(one.passages)).lower()) for one in texts]

    def __call__(self, question: str, group: str | None) -> list[str]:
        words = list(dict.fromkeys(_WORD.findall(question.lower())))
        scored = []
        for name, of_group, text in self._texts:
            counts = [text.count(word) for word in words] if group in (None, of_group) else []
            if any(counts):
                scored.append((-sum(map(bool, counts)), -sum(counts), name))
        return [name for *_, name in sorted(scored)[:MOST]]


@contextmanager
def neighbours(texts: Sequence[Text]) -> Iterator[Sequence[Ranker]]:
    """All but lineage; none without texts."""
    if not texts:
        yield ()
        return
    with closing(sqlite3.connect(":memory:")) as connection, tantivy(texts) as others:
        by_rows = [PlainFullText(connection, texts, by_passage=by_passage) for by_passage in (False, True)]
        yield (*by_rows, *others, Grep(texts))
