"""`lineage admin telemetry reset`: the operator's own action on what was counted. (spec: re-index)

Fails without the question, and where a reset reaches the index, a file, or what a repeated end counts.
"""

from pathlib import Path
from unittest.mock import patch

import pytest

from tests.support.commands import LineageCommand


@pytest.fixture
def lineage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> LineageCommand:
    made = LineageCommand(tmp_path / "vault", capsys)
    assert made("init").code == 0
    assert made.end_sample().code == 0
    assert made("show", "5f0c2f7e").code == 0
    return made


def read_counters(lineage: LineageCommand) -> dict[str, int]:
    found: dict[str, int] = lineage("status", "--json").json["counters"]
    return found


def test_it_asks_first(lineage: LineageCommand) -> None:
    before = read_counters(lineage)
    done = lineage("telemetry", "reset")
    hint = f"run `lineage --workspace {lineage.root} admin telemetry reset --yes`"  # what was typed, by today's name
    assert (done.code, hint in done.err) == (2, True)
    with patch("sys.stdin.isatty", return_value=True), patch("click.termui.visible_prompt_func", return_value="n"):
        assert lineage("telemetry", "reset").code == 130
    assert read_counters(lineage) == before
    with patch("sys.stdin.isatty", return_value=True), patch("click.termui.visible_prompt_func", return_value="y"):
        assert lineage("telemetry", "reset").code == 0
    assert not any(read_counters(lineage).values())


def test_it_sets_counters_to_zero_and_changes_nothing_else(lineage: LineageCommand) -> None:
    files = {path: path.read_bytes() for path in lineage.root.rglob("*.md")}
    sessions = lineage("sessions", "--json").json
    assert read_counters(lineage)["captures"] == 1
    done = lineage("telemetry", "reset", "--yes")
    assert (done.code, done.out.startswith("set to zero: captures 1, ")) == (0, True)
    assert lineage("telemetry", "reset", "--yes", "--json").json == {"counters": {}}
    assert lineage.end_sample().code == 0  # which was counted before
    assert not any(read_counters(lineage).values())
    assert lineage("sessions", "--json").json == sessions
    assert lineage("verify").code == 0
    assert {path: path.read_bytes() for path in lineage.root.rglob("*.md")} == files
