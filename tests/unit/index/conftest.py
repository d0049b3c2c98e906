"""An index for each test."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from lineage.index import Index


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    """An empty index."""
    with closing(Index(tmp_path / "index.db")) as found:
        yield found
