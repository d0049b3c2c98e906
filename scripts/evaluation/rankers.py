"""Who is asked: lineage's search over a real workspace, plain FTS5 over whole sessions, words counted as by grep."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Protocol

from evaluation.material import Material, Session
from lineage.app import open_house
from lineage.core.request import SESSION_END, request
from lineage.pipeline.capture.session_end import session_end
from lineage.pipeline.house import House
from lineage.pipeline.lookup import search
from lineage.pipeline.upkeep.removal import remove

MOST = 10
_WORD = re.compile(r"\w+")


class Ranker(Protocol):
    """Answers a question of a group with the ids of sessions, best first, at most `MOST`."""

    name: str

    def __call__(self, question: str, group: str) -> list[str]: ...


class Lineage:
    """`lineage search`: each session was captured as at its end, those that are to be gone were removed."""

    name = "`lineage search`"

    def __init__(self, house: House) -> None:
        self._house = house

    def __call__(self, question: str, group: str) -> list[str]:
        hits = search(self._house, question, group, 2 * MOST)
        found = (hit.session_id.removesuffix("-talk") for hit in hits if hit.session_id)
        return list(dict.fromkeys(found))[:MOST]


@contextmanager
def lineage(folder: Path, material: Material) -> Iterator[Ranker]:
    house = open_house(folder)
    try:
        for session in material.sessions:
            _capture(house, session)
        for session in material.sessions:
            if session.removed:
                remove(house, f"{session.id}-talk", reason="evaluation")
        yield Lineage(house)
    finally:
        house.close()


def _capture(house: House, session: Session) -> None:
    payload = {
        "harness": "generic",
        "session_id": f"{session.id}-talk",  # else some would look like trials
        "project": session.project or "/home/ada/talk",
        "transcript": session.turns,
        "started_at": session.at,
        "ended_at": session.at,
        "captured_at": session.at,
    }
    session_end(house, request(SESSION_END, payload, agent_id=session.group, now=house.now))


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
def plain(folder: Path, material: Material) -> Iterator[Ranker]:
    with closing(sqlite3.connect(folder / "plain.db")) as connection:
        yield PlainFullText(connection, material)


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
def grep(_: Path, material: Material) -> Iterator[Ranker]:
    yield Grep(material)


RANKERS = (lineage, plain, grep)
