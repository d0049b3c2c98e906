"""The stores that every contract of the lower floors is run on."""

from pathlib import Path

import pytest

from lineage.store import Store
from tests.support.stores import OPENERS, SERVERS


@pytest.fixture(params=[*OPENERS, *(pytest.param(name, marks=pytest.mark.slow) for name in SERVERS)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """An empty store of each implementation."""
    return (OPENERS | SERVERS)[request.param](tmp_path)
