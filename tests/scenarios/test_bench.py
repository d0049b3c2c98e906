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
    "`lineage reindex --jobs 1` from nothing, against the same with 9 artifacts",
    "reindex where nothing changed",
    "session-end of a 2 MB transcript, in process",
    "`lineage session-end` of a 2 MB transcript, against a bare script",
    "`lineage session-end` of a 2 MB transcript, against a bare interpreter",
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


def test_one_measurement_can_be_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    printed = bench("--artifacts", "9", "--runs", "1", "--only", "render")
    assert "MEMORY.md of 3 sessions" in printed
    assert "session-end" not in printed


def test_what_is_kept_is_made_beforehand_and_nothing_begins_when_time_is_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert "| what |" not in bench("--artifacts", "9", "--prepare", "--only", "render-growth", "render")
    kept = {path.name.rsplit("-", 4)[0] for path in (tmp_path / f"lineage-corpora-{os.getuid()}").iterdir()}
    assert kept == {"seed-8-artifacts-9", "ledger-1500-0", "ledger-13-0"}
    printed = bench("--artifacts", "9", "--minutes", "0.000001")
    assert "| what |" in printed and "artifacts |" not in printed
    assert "- session-end: **not measured**" in printed


def test_other_tools_are_in_a_table_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is not installed is said to be so; grep is everywhere."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    printed = bench("--artifacts", "9", "--runs", "1", "--peers-only")
    rows = {line.split("|")[1].strip(): line for line in printed.splitlines() if line.startswith("| ")}
    assert "not installed" in rows["basic-memory"]
    assert [name.split()[0] for name in rows] == ["tool", "lineage", "basic-memory", "qmd,", "memvid", "grep"]
    assert not any("failed" in line or "not ended" in line for line in rows.values())
    answered = [line.split("|")[-2].strip() for name, line in rows.items() if name.startswith(("lineage", "grep"))]
    assert all(map(str.isdecimal, answered)) and len(answered) == 2


@pytest.mark.skipif(not importlib.util.find_spec("matplotlib"), reason="the drawing has an environment of its own")
def test_the_growth_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    bench("--artifacts", "9", "18", "--runs", "1", "--only", "render", "--plot", str(tmp_path / "drawn"))
    assert {path.name for path in (tmp_path / "drawn").iterdir()} == {"growth.png", "growth.svg"}
