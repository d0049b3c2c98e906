"""`scripts/bench` runs on a tiny corpus and prints every row. No figure is asserted."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

_SCRIPTS = Path(__file__).parents[2] / "scripts"
_WHAT = (
    "session-end of a 2 MB transcript, in process",
    "`lineage session-end` of it, against a bare script",
    "`lineage session-end` of it, against a bare interpreter",
    "MEMORY.md of 3 sessions in the window, 3 kept",
    "MEMORY.md of 3 sessions in the window, all kept",
    "reindex, cold",
    "reindex, nothing changed",
    "search, ",
    "`lineage status`",
    "`lineage --help`",
)


def bench(*arguments: str) -> str:
    """The program that `scripts/bench` starts, in the environment of the tests."""
    environment = {**os.environ, "PYTHONPATH": str(_SCRIPTS)}
    command = [sys.executable, "-m", "benchmarks", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_every_row_is_printed_and_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    printed = bench("--artifacts", "9", "--runs", "1")
    rows = [line.split("|")[1:-1] for line in printed.splitlines() if line.startswith("| ")]
    for what in _WHAT:
        assert [cells for cells in rows if cells[0].strip().startswith(what)], what
    assert all(len(cells) == 5 for cells in rows)
    assert "cores, " in printed and "SQLite" in printed
    assert printed.count("0 bodies read") == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_one_measurement_can_be_asked_for() -> None:
    printed = bench("--artifacts", "9", "--runs", "1", "--only", "render")
    assert "MEMORY.md of 3 sessions" in printed
    assert "session-end" not in printed
