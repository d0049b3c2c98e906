"""Processes that are let go together. (tests/support/concurrency.py)"""

import os
from pathlib import Path

import pytest

from lineage.store import LocalStore, Store
from tests.support.concurrency import run_concurrently

NAME = "LINEAGE_TEST_RACE"

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("said", ["first", "second"])
def test_each_race_has_the_environment_of_its_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    """Fails where the server that processes are forked from has kept that of an earlier race."""
    monkeypatch.setenv(NAME, said)
    seen = run_concurrently(LocalStore(tmp_path), environment, [(), ()])
    assert seen == [(said, os.environ["HOME"])] * 2


def environment(store: Store) -> tuple[str, str]:
    return os.environ[NAME], os.environ["HOME"]
