"""Who is asked: lineage's search over a real workspace, plain FTS5 over whole sessions, words counted as by grep."""

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from evaluation.material import Material, Session
from lineage.app.workspace import open_workspace
from lineage.core.capture.request import SESSION_END, parse_request
from lineage.core.search.query import parse_query
from lineage.index.fts_query import DEFAULT_RANKING, Ranking
from lineage.pipeline.capture.session_end import capture_session
from lineage.pipeline.maintenance.remove import remove
from lineage.workspace.workspace import Workspace

MOST = 10
_NO_BOUND = 1 << 40
_MANY = 100_000  # passages
_WORD = re.compile(r"\w+")


class Ranker(Protocol):
    """Answers a question of a group with the ids of sessions, best first, at most `MAX_PASSAGES`."""

    name: str

    def __call__(self, question: str, group: str) -> list[str]: ...


class Lineage:
    """`lineage search`: each session was captured as at its end, those that are to be gone were removed. Without a
    group every session is searched."""

    def __init__(self, ws: Workspace, name: str = "`lineage search`", ranking: Ranking = DEFAULT_RANKING) -> None:
        self.name = name
        self._ws, self._ranking = ws, ranking

    def __call__(self, question: str, group: str | None) -> list[str]:
        asked = parse_query(question, self._ws.now)
        hits = self._ws.index.search(asked, group, limit=2 * MOST, ranking=self._ranking)
        found = (hit.session_id.removesuffix("-talk") for hit in hits if hit.session_id)
        return list(dict.fromkeys(found))[:MOST]


@contextmanager
def captured(folder: Path, material: Material) -> Iterator[Workspace]:
    """A workspace with the sessions of a set."""
    ws = open_workspace(folder, create=True)
    try:
        for session in material.sessions:
            _capture(ws, session)
        for session in material.sessions:
            if session.removed:
                remove(ws, f"{session.id}-talk", reason="evaluation")
        yield ws
    finally:
        ws.close()


@contextmanager
def lineage(folder: Path, material: Material) -> Iterator[Sequence[Ranker]]:
    """As it is; as it would be if every row with any of the words were ranked; and with the bounds of what is ranked
    scaled down, so that they bind here as they do in a workspace of 100,000 passages."""
    with captured(folder, material) as ws:
        share = _passages(ws) / _MANY
        scaled = replace(
            DEFAULT_RANKING, budget=round(DEFAULT_RANKING.budget * share), common=round(DEFAULT_RANKING.common * share)
        )
        yield (
            Lineage(ws),
            unpruned(ws),
            Lineage(ws, f"`lineage search`, pruned as over {_MANY:,} passages", scaled),
        )


def unpruned(ws: Workspace) -> Lineage:
    """With every row ranked that has any of the words."""
    return Lineage(ws, "`lineage search`, unpruned", replace(DEFAULT_RANKING, budget=_NO_BOUND, common=_NO_BOUND))


def _passages(ws: Workspace) -> int:
    with ws.index.open_vector_search() as engine:
        return sum(1 for path, _ in engine.read_artifact_hashes() for _ in engine.read_passages(path))


def _capture(ws: Workspace, session: Session) -> None:
    payload = {
        "harness": "generic",
        "session_id": f"{session.id}-talk",  # else some would look like trials
        "project": session.project or "/home/ada/talk",
        "transcript": session.turns,
        "started_at": session.at,
        "ended_at": session.at,
        "captured_at": session.at,
    }
    capture_session(ws, parse_request(SESSION_END, payload, agent_id=session.group, now=ws.now))


class PlainFullText:
    """FTS5 as it comes: a row for each session, any word of the question, ranked by bm25."""

    name = "plain FTS5, whole sessions"

    def __init__(self, connection: sqlite3.Connection, material: Material) -> None:
        self._connection = connection
        for group in {session.group for session in material.sessions}:
            connection.execute(f"create virtual table {group} using fts5(id unindexed, body)")
        for session in material.sessions:
            if not session.removed:
                connection.execute(f"insert into {session.group} values (?, ?)", (session.id, session.text))

    def __call__(self, question: str, group: str) -> list[str]:
        words = dict.fromkeys(_WORD.findall(question.lower()))
        expression = " OR ".join(f'"{word}"' for word in words)
        rows = self._connection.execute(
            f"select id from {group} where {group} match ? order by rank limit {MOST}", (expression,)
        )
        return [row[0] for row in rows]


@contextmanager
def plain(folder: Path, material: Material) -> Iterator[Sequence[Ranker]]:
    with closing(sqlite3.connect(folder / "plain.db")) as connection:
        yield (PlainFullText(connection, material),)


class Grep:
    """As one greps: the sessions that hold the most words of the question, then those that hold them oftenest."""

    name = "grep, by words that occur"

    def __init__(self, material: Material) -> None:
        kept = [session for session in material.sessions if not session.removed]
        self._texts = [(session.id, session.group, session.text.lower()) for session in kept]

    def __call__(self, question: str, group: str) -> list[str]:
        words = list(dict.fromkeys(_WORD.findall(question.lower())))
        scored = []
        for name, of_group, text in self._texts:
            counts = [text.count(word) for word in words] if of_group == group else []
            if any(counts):
                scored.append((-sum(map(bool, counts)), -sum(counts), name))
        return [name for *_, name in sorted(scored)[:MOST]]


@contextmanager
def grep(_: Path, material: Material) -> Iterator[Sequence[Ranker]]:
    yield (Grep(material),)


RANKERS: Sequence[Callable[[Path, Material], AbstractContextManager[Sequence[Ranker]]]] = (lineage, plain, grep)
