"""Who is asked: lineage's search over a real workspace, plain FTS5 over whole sessions, words counted as by grep."""

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Protocol

from evaluation.material import Material, Session
from lineage.app import open_house
from lineage.core.query import parsed
from lineage.core.request import SESSION_END, request
from lineage.index.query import RANKING, Ranking
from lineage.pipeline.capture.session_end import session_end
from lineage.pipeline.house import House
from lineage.pipeline.upkeep.removal import remove

MOST = 10
_NO_BOUND = 1 << 40
_MANY = 100_000  # passages
_WORD = re.compile(r"\w+")


class Ranker(Protocol):
    """Answers a question of a group with the ids of sessions, best first, at most `MOST`."""

    name: str

    def __call__(self, question: str, group: str) -> list[str]: ...


class Lineage:
    """`lineage search`: each session was captured as at its end, those that are to be gone were removed. Without a
    group every session is searched."""

    def __init__(self, house: House, name: str = "`lineage search`", ranking: Ranking = RANKING) -> None:
        self.name = name
        self._house, self._ranking = house, ranking

    def __call__(self, question: str, group: str | None) -> list[str]:
        asked = parsed(question, self._house.now)
        hits = self._house.index.search(asked, group, limit=2 * MOST, ranking=self._ranking)
        found = (hit.session_id.removesuffix("-talk") for hit in hits if hit.session_id)
        return list(dict.fromkeys(found))[:MOST]


@contextmanager
def captured(folder: Path, material: Material) -> Iterator[House]:
    """A workspace with the sessions of a set."""
    house = open_house(folder)
    try:
        for session in material.sessions:
            _capture(house, session)
        for session in material.sessions:
            if session.removed:
                remove(house, f"{session.id}-talk", reason="evaluation")
        yield house
    finally:
        house.close()


@contextmanager
def lineage(folder: Path, material: Material) -> Iterator[Sequence[Ranker]]:
    """As it is; as it would be if every row with any of the words were ranked; and with the bounds of what is ranked
    scaled down, so that they bind here as they do in a workspace of 100,000 passages."""
    with captured(folder, material) as house:
        share = _passages(house) / _MANY
        scaled = RANKING._replace(budget=round(RANKING.budget * share), common=round(RANKING.common * share))
        yield (
            Lineage(house),
            unpruned(house),
            Lineage(house, f"`lineage search`, pruned as over {_MANY:,} passages", scaled),
        )


def unpruned(house: House) -> Lineage:
    """With every row ranked that has any of the words."""
    return Lineage(house, "`lineage search`, unpruned", RANKING._replace(budget=_NO_BOUND, common=_NO_BOUND))


def _passages(house: House) -> int:
    with house.index.reading() as engine:
        return sum(1 for path, _ in engine.artifacts() for _ in engine.passages(path))


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
