"""How many requests a bucket is asked for, by kind, with nobody else about.

The handbook's table in "Past one machine" counts whole commands, which also open the workspace. Fails where a capture
reads again what it has seen, or takes more than one object of its lease.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import obstore
import pytest

from tests.support.engines import fresh_bucket
from tests.support.houses import end, house_at

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


def test_a_capture_and_the_end_of_a_session_without_news(tmp_path: Path, requests: Counter[str]) -> None:
    with house_at(tmp_path, store=fresh_bucket(locks=tmp_path / "locks")) as house:
        end(house, "s-1")
        requests.clear()
        end(house, "s-2")
        assert asked(requests) == [9, 7, 24, 0]
        end(house, "s-2")
        assert asked(requests) == [2, 2, 13, 0]


def test_a_tombstone_is_read_once_by_a_process(tmp_path: Path, requests: Counter[str]) -> None:
    from tests.unit.pipeline.knowledge.test_context import bury

    with house_at(tmp_path, store=fresh_bucket(locks=tmp_path / "locks")) as house:
        for number in range(3):
            bury(house, f"removed-{number}")
        end(house, "s-1")
        requests.clear()
        end(house, "s-2")
        assert asked(requests) == [9, 7, 24, 0]
