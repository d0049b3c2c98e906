"""`scripts/bench` runs on tiny corpora and prints every row. No figure is asserted."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

_SCRIPTS = Path(__file__).parents[2] / "scripts"
_WHAT = (
    "`lineage --help`",
    "`lineage status`",
    "`lineage hook` at a session's end",
    "`lineage hook` at a session's start",
    "`lineage context`",
    "MEMORY.md of 3 sessions in the window, 3 kept",
    "MEMORY.md of 6 sessions in the window, all kept",
    "MEMORY.md, 1,500 sessions in the window",
    "MEMORY.md, against the same with 9 artifacts",
    "search of the workspace",
    "search of 9 passages, 40 questions of 3 to 8 words, against its own SQL",
    "search of 9 passages, 40 questions of 3 to 8 words, against the OR of all words",
    "`lineage reindex --jobs 1` from nothing, against reading",
    "`lineage reindex --jobs 4` from nothing",
    "reindex where nothing changed",
    "session-end of a 2 MB transcript, in process",
    "`lineage session-end`, against the same with 9 artifacts",
    "`lineage session-end` of 1 MB",
    "`lineage hook`, against the same with 9 artifacts",
    "`lineage import` of 4 sessions",
    "`lineage watch`, a burst of 3 files",
    "64 captures by 8 writers",
    "64 captures by 32 writers",
)


def bench(*arguments: str) -> str:
    """The program that `scripts/bench` starts, in the environment of the tests."""
    environment = {**os.environ, "PYTHONPATH": str(_SCRIPTS)}
    command = [sys.executable, "-m", "benchmarks", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_row_is_printed_and_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    printed = bench("--artifacts", "9", "18", "--runs", "1", "--megabytes", "1")
    rows = [line.split("|")[1:-1] for line in printed.splitlines() if line.startswith("| ")]
    for what in _WHAT:
        assert [cells for cells in rows if cells[0].strip().startswith(what)], what
    assert all(len(cells) == 6 for cells in rows)
    assert "cores, " in printed and "SQLite" in printed
    assert printed.count("0 bodies read") == 4
    unmeasured = [line for line in printed.splitlines() if line.endswith(": **not measured**")]
    assert [line for line in unmeasured if "tantivy" not in line or importlib.util.find_spec("tantivy")] == []
    bench("--clean")
    assert not list(tmp_path.iterdir())
