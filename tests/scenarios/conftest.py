"""Fixtures of the scenarios: whole command-line sessions on a real folder."""

from pathlib import Path

import pytest

from lineage.app.agent_runs import DEPTH_VARIABLE
from lineage.cli import hook_recall
from tests.support.commands import LineageCommand
from tests.support.fake_programs import FakePrograms
from tests.support.hook_process import UNHURRIED_SECONDS


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """No hook of this process runs out of time because the machine is busy. A test about the time sets its own."""
    monkeypatch.setattr(hook_recall, "BUDGET_SECONDS", UNHURRIED_SECONDS)


@pytest.fixture
def lineage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> LineageCommand:
    """The command line on a workspace that does not exist yet."""
    return LineageCommand(tmp_path / "vault", capsys)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakePrograms:
    """Programs that stand in for harnesses', in the only folder on PATH."""
    monkeypatch.delenv(DEPTH_VARIABLE, raising=False)
    return FakePrograms(tmp_path / "bin", monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where sessions run."""
    made = tmp_path / "de mo"
    made.mkdir()
    return made
