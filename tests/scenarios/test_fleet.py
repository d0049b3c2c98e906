"""`scripts/fleet` on a small fleet: nothing lost, doubled or brought back, and the figures are printed.

Fails where a capture asks for no tombstone, neither the session's nor its turns' (brought back), and, most of the time,
without the session's mutex between machines (twice).
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import engines

pytestmark = pytest.mark.slow

_PROJECT = Path(__file__).parents[2]
_ZERO = (
    "lost",
    "torn",
    "twice",
    "brought back",
    "errors",
    "findings of verify",
    "machines that see something else",
)


def _fleet(options: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONPATH": f"{_PROJECT / 'scripts'}:{_PROJECT}"}
    command = [sys.executable, "-m", "fleets", *options.split()]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(autouse=True)
def _servers() -> None:
    """Skips where a server is not installed."""
    engines.start_object_store()
    engines.start_postgres()


def test_machines_that_are_killed_and_cut_off_lose_double_and_bring_back_nothing() -> None:
    done = _fleet("--machines 3 --sessions 30 --removals 4 --kills 4 --cut 3")
    assert done.returncode == 0, done.stdout + done.stderr
    figures = dict(line.strip().rsplit(maxsplit=1) for line in done.stdout.splitlines()[1:])
    assert [figures[name] for name in _ZERO] == ["0"] * len(_ZERO)
    assert (figures["sessions"], figures["removed"], figures["machines killed"], figures["machines cut off"]) == (
        "30",
        "4",
        "4",
        "1",
    )
