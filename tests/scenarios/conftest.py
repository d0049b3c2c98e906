"""Fixtures of the scenarios: whole command-line sessions on a real folder."""

from pathlib import Path

import pytest

from lineage.app.launching import DEPTH
from tests.support.commands import Lineage
from tests.support.programs import Programs


@pytest.fixture
def lineage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Lineage:
    """The command line on a workspace that does not exist yet."""
    return Lineage(tmp_path / "vault", capsys)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """Programs that stand in for harnesses', in the only folder on PATH."""
    monkeypatch.delenv(DEPTH, raising=False)
    return Programs(tmp_path / "bin", monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where sessions run."""
    made = tmp_path / "de mo"
    made.mkdir()
    return made
