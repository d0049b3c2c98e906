"""What the sweeps run their commands with."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pytest

from tests.support.crash_flows import FLOWS, REPEATED, VERBS, CrashScene
from tests.support.strace import TracedProcesses, require_strace, start_process_server


@pytest.fixture(scope="session")
def _start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], TracedProcesses]]:
    with ExitStack() as stack:
        folder = tmp_path_factory.mktemp("processes") / "server"
        yield cache(lambda: stack.enter_context(start_process_server(folder)))


@pytest.fixture
def running(_start: Callable[[], TracedProcesses]) -> TracedProcesses:
    """The one server of all sweeps, which starts where the first of them finds its home and its index set up."""
    require_strace()
    return _start()


@pytest.fixture(scope="session")
def _scenes() -> dict[str, CrashScene]:
    return {}


@pytest.fixture
def scene_of(
    running: TracedProcesses, _scenes: dict[str, CrashScene], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], CrashScene]:
    """A flow's scene by its name, prepared once for all sweeps."""

    def find(name: str) -> CrashScene:
        if name not in _scenes:
            _scenes[name] = CrashScene(tmp_path_factory.mktemp(name), running, (FLOWS | VERBS | REPEATED)[name])
        return _scenes[name]

    return find
