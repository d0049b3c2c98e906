"""The process of a harness: real processes, as the system tells of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lineage.processes import find_harness, is_running
from tests.support.hook_process import run_harness

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system has no /proc")


def test_a_named_process_runs_until_it_is_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    with run_harness() as harness:
        monkeypatch.setenv("LINEAGE_HARNESS_PID", str(harness.pid))
        process = find_harness()
        assert process
        assert process.startswith(f"{harness.pid} ")
        assert is_running(process)
        harness.kill()
        os.waitid(os.P_PID, harness.pid, os.WEXITED | os.WNOWAIT)
        assert not is_running(process)  # dead, though nobody has asked for its status
    assert not is_running(process)


@pytest.mark.parametrize("named", ["0", "x", "99999999999", "-1", "²"])
def test_a_name_that_is_no_process_is_no_harness(monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    monkeypatch.setenv("LINEAGE_HARNESS_PID", named)
    assert find_harness() is None


def test_another_process_with_the_id_is_another_process() -> None:
    with run_harness() as harness:
        assert not is_running(f"{harness.pid} 1")


@pytest.mark.parametrize("shells", [[], ["sh", "-c", '"$@"; true', "sh"], ["env", "bash", "-c", '"$@"; true', "bash"]])
def test_shells_wrappers_and_python_between_are_passed_over(tmp_path: Path, shells: list[str]) -> None:
    """A copy of an interpreter under a name of its own stands for the harness."""
    harness = tmp_path / "harness-program"
    harness.symlink_to("/usr/bin/env" if not Path("/usr/bin/perl").exists() else "/usr/bin/perl")
    hook = [sys.executable, "-c", "from lineage.processes import find_harness; print(find_harness())"]
    run = 'open(my $f, ">", $ENV{PLACE}); print $f $$; close $f; system(@ARGV)'
    environment = {key: value for key, value in os.environ.items() if key != "LINEAGE_HARNESS_PID"}
    done = subprocess.run(
        [str(harness), "-e", run, "--", *shells, *hook], capture_output=True, text=True, check=True,
        env={**environment, "PLACE": str(tmp_path / "pid"), "PYTHONPATH": os.getcwd()},  # noqa: PTH109
    )  # fmt: skip
    assert done.stdout.partition(" ")[0] == (tmp_path / "pid").read_text()
