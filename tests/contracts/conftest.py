"""The stores and the indexes that every contract of the lower floors is run on."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from lineage.index import Index
from lineage.store import Store
from tests.support.indexes import OPENERS as INDEXES
from tests.support.indexes import open_index
from tests.support.stores import OPENERS, SERVERS

_FAST = ("local", "memory", "sqlite")


def _each(names: Iterable[str]) -> list[object]:
    """The implementations of these names; some stand for all in a fast run."""
    return [name if name in _FAST else pytest.param(name, marks=pytest.mark.slow) for name in names]


@pytest.fixture(params=_each(OPENERS | SERVERS))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """An empty store of each implementation."""
    return (OPENERS | SERVERS)[request.param](tmp_path)


@pytest.fixture(params=_each(INDEXES), scope="session")
def engine(request: pytest.FixtureRequest) -> str:
    """The name of each engine of the index. (tests/support/indexes.py)"""
    name: str = request.param
    return name


@pytest.fixture
def index(engine: str, tmp_path: Path) -> Iterator[Index]:
    """An empty index of each engine."""
    with closing(open_index(engine, tmp_path / "index.db")) as found:
        yield found
