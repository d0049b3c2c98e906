"""The runs of words that the tools of a project's sessions printed: hashes by artifact (reliability: overlap).

A look-up costs a few steps in a tree for each hash, however many sessions there are. A hash is stored with a few bits
of its owner before it: the project, of a session without one the session. So hashes that every project has, of licences
for instance, are not read through. Nothing leads from an artifact to its hashes in SQLite: that would double the table,
and they are deleted for removals and repairs alone, many at once.
"""

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple

from lineage.core.base import naming
from lineage.core.base.word_runs import RUN_MASK, mark_owner
from lineage.core.format.tool_overlap import hash_sentences
from lineage.core.search.index_sql import OWNER
from lineage.index.rows import ArtifactRow

TABLE = "tool_runs"
TABLES = (
    f"create table if not exists {TABLE} (run integer, artifact integer, primary key (run, artifact)) without rowid",
)
COLUMNS = ("run", "artifact")

_OWNER_SQL = OWNER.format("a")
INSERT = f"insert into {TABLE} values (?, ?)"
SELECT_RUNS = f"""
    select value from json_each(:keys) where exists (
        select 1 from {TABLE} t join artifacts a on a.id = t.artifact
        where t.run = cast(value as bigint) and {_OWNER_SQL} = :owner and a.captured_at <= :until
          and a.stem <> :stem{{}})
"""
"""Selects those of the keys that another artifact of the owner has, captured by then."""
OF_SESSION = " and a.session_token = :token"
SELECT_OUTCOMES = f"select a.id, a.outcome, {_OWNER_SQL}, a.captured_at, a.stem from artifacts a where a.outcome <> ''"
OF_ARTIFACTS = " and a.id in (select cast(value as bigint) from json_each(:numbers))"
BLANK_OUTCOMES = """
    update artifacts set outcome = '' where id in (select cast(value as bigint) from json_each(:numbers)) returning id
"""
MOVE_RUNS = f"""
    update {TABLE} set run = (run & {RUN_MASK}) | :mark
    where artifact in (select id from artifacts where project_key = :old and project = :path)
"""
"""Gives the runs of a project's artifacts, before their rows change, to the owner with `mark`."""

Select = Callable[..., Iterable[Any]]


class Printed(NamedTuple):
    """The place of a look-up: the owner, and up to when; the capture `stem` is left out. `token` is its session's."""

    owner: str
    until: str
    stem: str = ""
    token: str = ""


def find_runs(select: Select, place: Printed, runs: Collection[int], *, of_session: bool = False) -> set[int]:
    """Return those of these hashes that a tool of the place printed, or of its session alone."""
    mark = mark_owner(place.owner)
    sql = SELECT_RUNS.format(OF_SESSION if of_session else "")
    found = select(sql, keys=[mark | run for run in runs], **place._asdict())
    return {int(key) & RUN_MASK for (key,) in found}


def list_repeated_outcomes(select: Select, rows: Iterable[tuple[Any, ...]]) -> list[int]:
    """Return the numbers of the artifacts with an outcome that repeats a tool's output in an earlier capture.

    `rows` are those of `SELECT_OUTCOMES`.
    """
    repeated = []
    for number, outcome, owner, at, stem in rows:
        (runs,) = hash_sentences([outcome])
        if runs.hashes and runs.are_in(find_runs(select, Printed(owner, at, stem), runs.hashes)):
            repeated.append(number)
    return repeated


def build_rows(number: int, row: ArtifactRow) -> Iterator[tuple[int, int]]:
    """Yield the rows of an artifact with this number, in the order of the tree."""
    mark = mark_owner(row.project_key or row.session_token)
    return ((mark | run, number) for run in sorted(row.tool_runs))


def delete_rows(connection: sqlite3.Connection, rows: Iterable[tuple[int, str]]) -> None:
    """Delete the rows of artifacts in SQLite, given by their numbers and kinds: it reads the whole table."""
    if numbers := [number for number, kind in rows if kind == naming.TRANSCRIPT]:
        sql = f"delete from {TABLE} where artifact in (select value from json_each(?))"
        connection.execute(sql, (json.dumps(numbers),))
