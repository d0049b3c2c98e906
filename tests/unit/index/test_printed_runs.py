"""What tools printed in an import's sessions: found by owner and time, in other sessions alone, readable by no one.

Fails without the owner in the seal, `until`, the token, the key.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from lineage.index.printed_runs import PrintedRuns, PrintedSession, create_printed_runs
from lineage.index.tool_runs import Printed

NOON, LATER = "2026-11-21T12:00:00.000Z", "2026-11-21T13:00:00.000Z"


def test_a_session_finds_what_another_of_its_owner_printed_by_then(tmp_path: Path) -> None:
    with create_printed_runs(tmp_path) as printed:
        printed.add([PrintedSession("demo", "one", NOON, {1, 2}), PrintedSession("demo", "two", LATER, {2, 3})])
        printed.add([PrintedSession("other", "three", NOON, {4}), PrintedSession("demo", "one", NOON, {1, 5})])
        assert printed.find(Printed("demo", LATER, token="four"), {1, 2, 3, 4, 5, 6}) == {1, 2, 3, 5}
        assert printed.find(Printed("demo", NOON, token="four"), {1, 2, 3}) == {1, 2}
        assert printed.find(Printed("demo", LATER, token="one"), {1, 2, 3}) == {2, 3}
        assert printed.find(Printed("other", NOON, token="one"), {1, 4}) == {4}
        assert printed.find(Printed("demo", LATER, token="four"), ()) == set()


@pytest.mark.parametrize("parent", ["here", "anywhere"])
def test_no_hash_can_be_read_from_the_file_and_nothing_stays(tmp_path: Path, parent: str) -> None:
    with create_printed_runs(tmp_path if parent == "here" else None) as printed:
        printed.add([PrintedSession("demo", "one", NOON, range(100))])
        with closing(sqlite3.connect(printed.path)) as connection:
            (rows,) = (connection.execute("select run from runs").fetchall(),)
        assert len(rows) == 100 and not {run for (run,) in rows} & set(range(100))
        assert printed.path.stat().st_mode & 0o077 == 0
        stranger = PrintedRuns(printed.path, b"another key")
        assert stranger.find(Printed("demo", LATER, token="two"), range(100)) == set()
    assert not printed.path.exists() and list(tmp_path.iterdir()) == []
