"""What every test gets: a home of its own, and no way to the real one; folders in memory, where a machine has room.

Hypothesis takes seconds (profile `dev`, other examples each time), or minutes (`ci`, the same examples each time) where
CI is set; HYPOTHESIS_PROFILE names one, `scripts/test --fast` the one of that name, with the fewest examples.
"""

import gc
import os
import re
import signal
import sys
import tempfile
from collections.abc import Generator, Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from lineage.app.databases import INDEX_VARIABLE
from lineage.app.locations import is_bucket
from lineage.app.workspace import open_workspace
from lineage.harness import registry
from lineage.harness.detect_caller import list_harness_variables
from lineage.pipeline.maintenance.findings import VerifyFinding
from lineage.pipeline.maintenance.reindex import ensure_indexed
from lineage.pipeline.maintenance.verify import verify
from lineage.workspace.workspace import Workspace
from tests.support import engines
from tests.support.installations import build
from tests.support.workspace import open_test_workspace

settings.register_profile("dev", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "ci", max_examples=75, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("fast", settings.get_profile("dev"), max_examples=6, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))

# Started behind a shell's `&`, all that is run here would ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

_REAL_HOME = Path.home()
_OUTER_ENVIRONMENT = dict(os.environ)
_MEMORY, _ROOM = Path("/dev/shm"), 2**32
_IS_SLOW = re.compile(r"^pytestmark = \[?pytest\.mark\.slow\b", re.MULTILINE)
_LONGEST = ("openclaw", "opencode", "qwen", "gemini", "claude-code", "codex", "copilot", "pi")
_POINTERS = (
    "LINEAGE_WORKSPACE", INDEX_VARIABLE, "LINEAGE_SUPPRESS", "LINEAGE_NO_WORKER", "LINEAGE_DEPTH", "LINEAGE_WEB_TOKEN",
    "SIGNET_WORKSPACE", "XDG_STATE_HOME", "XDG_DATA_HOME", "GOOSE_PATH_ROOT", "OPENCODE_DB", "VISUAL", "EDITOR",
    *(name for mark in list_harness_variables() for name in mark.variables),
    *re.findall(r"\$\{(\w+)", Path(registry.__file__).read_text(encoding="utf-8")),  # of the places of harnesses
)  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--index", choices=("sqlite", "postgres"), default="sqlite", help="what holds their rows")
    parser.addoption("--store", choices=("folder", "bucket"), default="folder", help="where workspaces lie")


def _use_memory() -> None:
    """Folders lie in memory, unless TMPDIR says where: each fsync of thousands of workspaces waits for a disk."""
    found = os.statvfs(_MEMORY) if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) else None
    has_room = found and found.f_bavail * found.f_frsize >= _ROOM and not found.f_flag & os.ST_NOEXEC
    if has_room and "TMPDIR" not in os.environ:
        os.environ["TMPDIR"] = tempfile.tempdir = str(_MEMORY)


def pytest_configure(config: pytest.Config) -> None:
    _use_memory()
    if config.getoption("--store") == "bucket":
        engines.use_bucket()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A file that is slow as a whole says so in a line, and a fast run doesn't import it, nor what only it needs."""
    is_left_out = config.getoption("markexpr") == "not slow" and collection_path.suffix == ".py"
    return True if is_left_out and _IS_SLOW.search(collection_path.read_text(encoding="utf-8")) else None


@pytest.fixture(autouse=True)
def _store(request: pytest.FixtureRequest) -> None:
    """Workspaces lie where the run's option says. What is about the files of a folder says that it is."""
    if request.config.getoption("--store") == "bucket" and request.node.get_closest_marker("in_folder"):
        pytest.skip("NOT TESTED: the files of a folder. The workspaces of this run lie in buckets")


@pytest.fixture(autouse=True)
def _index(request: pytest.FixtureRequest, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of every workspace are where the run's option says. What is about SQLite's files says that it is."""
    if request.config.getoption("--index") == "postgres":
        if request.node.get_closest_marker("on_sqlite"):
            pytest.skip("NOT TESTED: a file of SQLite's. The rows of this run are in PostgreSQL")
        monkeypatch.setenv(INDEX_VARIABLE, engines.start_postgres().url)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and tests stay to the end: no look for garbage goes through them, which costs more with each that is.

    What was compiled is kept like any cache, whatever the environment says: most of collecting is rewriting asserts.
    """
    gc.disable()
    keeps, sys.dont_write_bytecode = sys.dont_write_bytecode, False
    try:
        return (yield)
    finally:
        sys.dont_write_bytecode = keeps
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin each worker's share with its part of the harness programs, longest first: they wait for minutes.

    Behind all others they would keep one worker busy while the others have nothing left to take from it.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    waiting = sorted((item for item in items if item.nodeid.startswith("tests/harness/")), key=_rank)
    others = [item for item in items if not item.nodeid.startswith("tests/harness/")]
    shares = [(worker + 1) * len(items) // workers - worker * len(items) // workers for worker in range(workers)]
    items.clear()
    for worker, share in enumerate(shares):
        own = waiting[worker::workers]
        rest = max(0, share - len(own))
        items += [*own, *others[:rest]]
        del others[:rest]
    items += others


def _rank(item: pytest.Item) -> int:
    name = item.name.partition("[")[2].rstrip("]")
    return _LONGEST.index(name) if name in _LONGEST else len(_LONGEST)


def pytest_unconfigure() -> None:
    engines.stop_all()


@pytest.fixture(scope="session")
def outer_environment() -> dict[str, str]:
    """The environment of the run, for what installs: it keeps to its caches, and knows where its indexes are."""
    return dict(_OUTER_ENVIRONMENT)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheel and the sdist of this project by their kind, built once for all workers of a run."""
    base = tmp_path_factory.getbasetemp()
    return build((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "built", _OUTER_ENVIRONMENT)


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders that nobody has used; a folder of pytest's own looks at all that there are, for a number of its own."""
    within = tmp_path_factory.mktemp("homes")
    return (within / str(number) for number in count())


@pytest.fixture(autouse=True)
def home(_homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home; a test that would look into the real one finds this instead."""
    folder = next(_homes)
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in _POINTERS:
        monkeypatch.delenv(name, raising=False)
    # Whatever runs the tests is no harness.
    monkeypatch.setenv("LINEAGE_HARNESS_PID", "0")
    return folder


@pytest.fixture(autouse=True, scope="session")
def _real_home_stays_untouched() -> object:
    """Fails the run where a test made or changed a workspace in the real home."""
    agents = _REAL_HOME / ".agents"
    before = agents.stat().st_mtime_ns if agents.exists() else None
    yield
    after = agents.stat().st_mtime_ns if agents.exists() else None
    assert before == after, "a test touched the real home"


@pytest.fixture(autouse=True)
def _verified(request: pytest.FixtureRequest, home: Path) -> Iterator[None]:
    """Whatever workspace a test leaves behind, `verify` finds nothing in it, unless it is marked to leave findings.

    It costs a tenth of all: a fast run leaves it out.
    """
    places = [home] + [request.getfixturevalue("tmp_path")] * ("tmp_path" in request.fixturenames)
    yield
    if request.node.get_closest_marker("leaves_findings") or request.config.getoption("markexpr") == "not slow":
        return
    marks = {"index.db", "index-id"}  # each engine leaves one where a workspace is in use
    folders = (walked for place in places for walked in os.walk(place) if walked[0].endswith("/.lineage"))
    found_in = {Path(folder) for folder, _, files in folders if marks.intersection(files)}
    states = sorted(state for state in found_in if not is_bucket(state.parent))
    found = {str(state.parent): findings for state in states if (findings := _findings(state.parent))}
    assert found == {}


def _findings(root: Path) -> list[VerifyFinding]:
    ws = open_workspace(root)
    try:
        ensure_indexed(ws)
        return verify(ws)
    finally:
        ws.close()


@pytest.fixture
def there(tmp_path: Path) -> Iterator[Workspace]:
    """The workspace that a bundle comes from."""
    with open_test_workspace(tmp_path / "there") as opened:
        yield opened


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Workspace]:
    """The workspace that a bundle comes into."""
    with open_test_workspace(tmp_path / "here") as opened:
        yield opened
