"""How many requests a bucket is asked for, by kind, with nobody else about.

The handbook's table in "Team" counts whole commands, which also open the workspace. Fails where a capture
reads again what it has seen, or takes more than one object of its lease.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import obstore
import pytest

from tests.support.engines import create_bucket
from tests.support.workspace import end_session, open_test_workspace

WRITES, LISTINGS, READS = "put", "list", "get"


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """What is asked from now on, by kind."""
    counted: Counter[str] = Counter()

    def count(kind: str) -> None:
        asked = getattr(obstore, kind)

        def one(*values: Any, **named: Any) -> Any:
            counted[kind] += 1
            return asked(*values, **named)

        monkeypatch.setattr(obstore, kind, one)

    for kind in (WRITES, LISTINGS, READS, "delete"):
        count(kind)
    yield counted


def asked(requests: Counter[str]) -> Sequence[int]:
    figures = [requests[kind] for kind in (WRITES, LISTINGS, READS, "delete")]
    requests.clear()
    return figures


@pytest.mark.slow
def test_a_capture_and_the_end_of_a_session_without_news(tmp_path: Path, requests: Counter[str]) -> None:
    with open_test_workspace(tmp_path, store=create_bucket(locks=tmp_path / "locks")) as ws:
        end_session(ws, "s-1")
        requests.clear()
        end_session(ws, "s-2")
        assert asked(requests) == [12, 7, 41, 0]
        end_session(ws, "s-2")
        assert asked(requests) == [2, 2, 13, 0]


def test_a_tombstone_is_read_once_by_a_process(tmp_path: Path, requests: Counter[str]) -> None:
    from tests.unit.pipeline.memory.test_context import bury

    with open_test_workspace(tmp_path, store=create_bucket(locks=tmp_path / "locks")) as ws:
        for number in range(3):
            bury(ws, f"removed-{number}")
        end_session(ws, "s-1")
        requests.clear()
        end_session(ws, "s-2")
        assert asked(requests) == [12, 7, 41, 0]
