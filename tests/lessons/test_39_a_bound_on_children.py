"""Lessons, 39: "1,057 child processes, 48 GB. A worker that stops spawns no successor; one worker per workspace; a
bound on everything."

Of the agents that lineage starts: fails where one of them can start others through lineage, where more than four run at
once, where one outlives its time, and where what it started outlives it. (The worker's bounds: scenarios/test_work.py.)
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lineage.app.agent_runs import DEPTH_VARIABLE, MAX_CONCURRENT_RUNS
from tests.support.commands import LineageCommand
from tests.support.fake_programs import FakePrograms

pytestmark = pytest.mark.slow

EAGER = """
words = [sys.executable, "-m", "lineage", "spawn", "codex", "Do it for me.", "--project", os.getcwd()]
codes = [subprocess.run(words).returncode for _ in range(3)]
print(codes)
"""
SLOW = 'Path(f"runs-{os.getpid()}").touch()\nwhile not Path("go").exists(): time.sleep(0.02)'


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakePrograms:
    monkeypatch.delenv(DEPTH_VARIABLE, raising=False)
    return FakePrograms(tmp_path / "bin", monkeypatch)


@pytest.mark.parametrize(("depth", "most"), [(1, 1), (2, 4)])
def test_an_agent_that_has_others_do_its_work_gets_only_so_deep(
    lineage: LineageCommand, programs: FakePrograms, tmp_path: Path, depth: int, most: int
) -> None:
    programs.add("codex", EAGER)
    lineage("init")
    (lineage.root / "lineage.toml").write_text(f"[sessions]\nspawn_depth = {depth}\n")
    done = lineage("spawn", "codex", "Do it.", "--project", str(tmp_path))
    assert done.code == 0
    assert len(programs.calls) == most
    assert "may not start another" in done.err


def test_no_more_than_so_many_run_at_once(lineage: LineageCommand, programs: FakePrograms, tmp_path: Path) -> None:
    programs.add("codex", SLOW)
    lineage("init")
    words = [
        sys.executable,
        "-m",
        "lineage",
        "-w",
        str(lineage.root),
        "spawn",
        "codex",
        "Go.",
        "--project",
        str(tmp_path),
    ]
    started = [subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(8)]
    refused = 0
    while refused < len(started) - MAX_CONCURRENT_RUNS:
        refused = sum(process.poll() is not None for process in started)
        assert len(list(tmp_path.glob("runs-*"))) <= MAX_CONCURRENT_RUNS
        os.sched_yield()
    (tmp_path / "go").touch()
    complaints = [process.communicate(timeout=120)[1] for process in started]
    assert sum(b"4 agents run" in complaint for complaint in complaints) == refused == 4
    assert [process.returncode for process in started].count(0) == MAX_CONCURRENT_RUNS
