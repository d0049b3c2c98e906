"""The cost of a render's queries, in steps of SQLite's machine: independent of sessions outside the window, and next to
nothing for those inside that are not shown.

Fails without the index `entries_agent`, with counts made of entries, if all heads are read, and if the entries of a
batch are made session by session.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

import pytest

from lineage.core.base import naming
from lineage.core.base.times import shift_time
from lineage.core.capture.ledger import Window
from lineage.index import ArtifactRow, SqliteIndex
from lineage.index.ledger import load_tallies, read_heads
from lineage.projection.memory_md import render_memory_md
from tests.contracts.test_index import row

pytestmark = pytest.mark.slow

NOW = "2026-11-22T12:00:00.000Z"
WINDOW = Window.from_end(NOW)
SHOWN = 50
MINUTE = 60_000


def session(number: int, at: str) -> ArtifactRow:
    token = f"{number:016d}"
    stem = naming.build_stem(at, token)
    return row()._replace(
        source_path=naming.artifact_path(stem, naming.SUMMARY),
        source_kind=naming.SUMMARY,
        session_token=token,
        stem=stem,
        membership_ts=at,
        manifest_path=naming.artifact_path(stem, naming.MANIFEST),
    )


def index(path: Path, *, inside: int, outside: int) -> SqliteIndex:
    found = SqliteIndex(path)
    ages = [(number + 1) * 20 * MINUTE for number in range(inside)]
    older = [31 * 24 * 60 * MINUTE + number * MINUTE for number in range(outside)]
    found.upsert(session(number, shift_time(NOW, milliseconds=-age)) for number, age in enumerate([*ages, *older]))
    return found


def steps(path: Path) -> int:
    """The steps for a window's counts and its newest rows."""
    taken = 0

    def step() -> None:
        nonlocal taken
        taken += 1

    with closing(sqlite3.connect(path)) as connection:
        connection.set_progress_handler(step, 1)
        load_tallies(connection, "default", WINDOW)
        assert len(list(islice(read_heads(connection, "default", WINDOW), SHOWN))) == SHOWN
    return taken


def read(found: SqliteIndex) -> Iterator[int]:
    """How many entries a render takes, and how many it shows."""
    ledger, taken = found.load_ledger("default", WINDOW), 0

    def entries() -> Iterator[object]:
        nonlocal taken
        for entry in ledger.entries:
            taken += 1
            yield entry

    shown = render_memory_md(ledger._replace(entries=entries()), max_bytes=16_000)  # type: ignore[arg-type]
    yield from (taken, shown.row_count, shown.window_count)


def test_sessions_outside_of_the_window_cost_a_render_nothing(tmp_path: Path) -> None:
    with (
        closing(index(tmp_path / "few.db", inside=200, outside=0)) as few,
        closing(index(tmp_path / "many.db", inside=200, outside=2000)) as many,
    ):
        assert steps(many.path) == steps(few.path)
        assert list(read(many)) == list(read(few))


def test_sessions_that_are_not_shown_cost_a_render_their_counts(tmp_path: Path) -> None:
    """Twenty days of 72 sessions against three: a line for each day, and those of the days that the window cuts."""
    with (
        closing(index(tmp_path / "few.db", inside=200, outside=0)) as few,
        closing(index(tmp_path / "many.db", inside=1440, outside=0)) as many,
    ):
        assert steps(many.path) < 1.5 * steps(few.path)
        (taken, kept, total), (taken_of_few, *_) = list(read(many)), list(read(few))
        assert total == 1440
        assert taken == taken_of_few < 1.5 * kept


@pytest.mark.parametrize("sessions", [1, 100])
def test_a_batch_s_entries_take_as_many_statements_as_one_session_s(tmp_path: Path, sessions: int) -> None:
    made: list[str] = []
    with closing(SqliteIndex(tmp_path / "index.db")) as index:
        with index.trace_statements(made.append):
            index.upsert(session(number, NOW) for number in range(sessions))
        found = list(index.load_ledger("default", WINDOW).entries)
    assert len(found) == sessions
    asked = {sql for sql in made if "entries" in sql and "json_each" in sql}  # told again for each row by a trigger
    assert len(asked) == 3
