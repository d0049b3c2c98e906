"""What the sweeps run their commands with."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.tracing import Processes, needs_strace, processes


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Processes]:
    needs_strace()
    with processes(tmp_path / "processes") as server:
        yield server
