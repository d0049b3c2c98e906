"""The executor that a scheduler's address names. Fails without the parts of `executor_at` that each test names."""

import socket
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from lineage.app import executors
from lineage.app.executors import executor_at
from lineage.app.indexing import VARIABLE
from lineage.cli.main import run
from lineage.core.naming import claim_path
from lineage.errors import ExtraMissing, InvalidInput, WorkspaceError
from lineage.pipeline.upkeep import reindexing
from tests.support import engines
from tests.support.houses import end, house_at, rows
from tests.support.servers import missing


@pytest.mark.parametrize("name", ["", "dask", "dask:", "ray:host:1", "host:8786"])
def test_what_is_no_address_of_a_scheduler_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="not an executor"), executor_at(name):
        pass


def test_without_dask_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["lineage.app.extras"], "find_spec", lambda name: None)
    with pytest.raises(ExtraMissing) as refused, executor_at("dask:127.0.0.1:1"):
        pass
    assert "lineage-memory[dask]" in str(refused.value.hint)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_work_that_a_cluster_does_comes_back_in_order() -> None:
    _need_dask()
    from distributed import LocalCluster

    tokens = [f"token{number}" for number in range(20)]
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None, host="127.0.0.1",
                     protocol="tcp") as cluster,
        executor_at("dask:" + cluster.scheduler_address.removeprefix("tcp://")) as executor,
    ):  # fmt: skip
        assert list(executor.map(claim_path, tokens)) == [claim_path(token) for token in tokens]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_where_no_scheduler_answers_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    _need_dask()
    monkeypatch.setattr(executors, "_CONNECT_SECONDS", 1)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        with pytest.raises(WorkspaceError, match="no Dask scheduler answers"), executor_at(f"dask:{address}"):
            pass


def test_an_index_in_a_file_is_made_by_the_machine_that_has_it(tmp_path: Path) -> None:
    with house_at(tmp_path) as house:
        end(house)
    assert run(["--workspace", str(tmp_path), "reindex", "--executor", "dask:127.0.0.1:1"]) == 2
    assert run(["--workspace", str(tmp_path), "reindex"]) == 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_makes_an_index_on_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _need_dask()
    from distributed import LocalCluster

    monkeypatch.setenv(VARIABLE, engines.postgres().url)
    monkeypatch.setattr(reindexing, "_REBUILT_ASIDE", 3)
    with house_at(tmp_path) as house:
        for number in range(3):
            end(house, f"s-{number}")
        before = rows(house)
        house.index.reset()
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None, host="127.0.0.1",
                      protocol="tcp") as cluster:  # fmt: skip
        name = "dask:" + cluster.scheduler_address.removeprefix("tcp://")
        assert run(["--workspace", str(tmp_path), "reindex", "--executor", name]) == 0
    with house_at(tmp_path) as house:
        assert not house.index.is_new
        assert rows(house) == before


def _need_dask() -> None:
    if find_spec("distributed") is None:
        missing("Dask", "pip install distributed")
