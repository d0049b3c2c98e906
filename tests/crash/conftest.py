"""What the sweeps run their commands with."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.strace import TracedProcesses, require_strace, start_process_server


@pytest.fixture
def running(tmp_path: Path) -> Iterator[TracedProcesses]:
    require_strace()
    with start_process_server(tmp_path / "processes") as server:
        yield server
