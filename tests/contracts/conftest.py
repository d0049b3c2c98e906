"""The stores that every contract of the lower floors is run on."""

from pathlib import Path

import pytest

from lineage.store import Store
from tests.support.stores import OPENERS


@pytest.fixture(params=OPENERS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """An empty store of each implementation."""
    return OPENERS[request.param](tmp_path)
