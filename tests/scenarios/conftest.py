"""Fixtures of the scenarios: whole command-line sessions on a real folder."""

from pathlib import Path

import pytest

from tests.support.commands import Lineage


@pytest.fixture
def lineage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Lineage:
    """The command line on a workspace that does not exist yet."""
    return Lineage(tmp_path / "vault", capsys)
