"""`lineage admin mirror` as people and services run it: one round, the loop, what it refuses; over a real bucket.

What each guard rests on: `_check_folder`, the mutex in `open_mirror`, `Rounds.end` at SIGTERM, `run` at a failure.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import pytest

from lineage.app import folder_mirror
from lineage.cli.main import run
from lineage.errors import LineageError
from lineage.pipeline.transfer.mirror.run import MirrorResult
from lineage.store import LocalStore, StoreUnavailable
from tests.scenarios.test_bucket import configure
from tests.support import engines
from tests.support.commands import SAMPLE, SAMPLE_ID, LineageCommand

pytestmark = pytest.mark.slow


@pytest.fixture
def lineage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> LineageCommand:
    made = LineageCommand(tmp_path / "team", capsys)
    made("init")
    made.end_sample()
    return made


def counts(printed: object) -> dict[str, int]:
    assert isinstance(printed, dict)
    return {name: number for name, number in printed.items() if isinstance(number, int) and number}


def test_a_round_fills_a_folder_and_says_what_it_did(lineage: LineageCommand, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    done = lineage("mirror", str(vault), "--once", "--json")
    assert done.code == 0, done.err
    assert set(done.json) == {
        "pulled", "pushed", "merged", "deleted", "restored", "removed", "conflicts", "deferred", "findings",
    }  # fmt: skip
    assert set(counts(done.json)) == {"pulled"}
    (vault / "Plans.md").write_text("mine")
    assert lineage("mirror", str(vault), "--once").out == "1 pushed\n"
    assert (lineage.root / "Plans.md").read_text() == "mine"
    assert lineage("mirror", str(vault), "--once").out == "nothing changed\n"
    here = LineageCommand(vault, lineage._capture)
    assert [row["session_id"] for row in here("sessions", "--json").json["sessions"]] == [SAMPLE_ID]
    assert (vault / "MEMORY.md").read_bytes() == (lineage.root / "MEMORY.md").read_bytes()


@pytest.mark.leaves_findings
def test_findings_are_exit_4(lineage: LineageCommand, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    lineage("mirror", str(vault), "--once")
    summary = next(vault.glob("memory/*--summary.md"))
    summary.unlink()
    summary.write_text("cut off")
    done = lineage("mirror", str(vault), "--once", "--json")
    assert done.code == 4
    assert [found["path"] for found in done.json["findings"]] == [f"memory/{summary.name}"]


def test_what_looks_lost_needs_a_yes(lineage: LineageCommand, tmp_path: Path) -> None:
    vault, ideas = tmp_path / "vault", lineage.root / "ideas"
    ideas.mkdir()
    for number in range(50):
        (ideas / f"{number}.md").write_text("mine")
    lineage("mirror", str(vault), "--once")
    for path in (vault / "ideas").iterdir():
        path.unlink()
    done = lineage("mirror", str(vault), "--once")
    assert (done.code, "--yes" in done.err) == (1, True)
    assert len(list(ideas.iterdir())) == 50
    assert counts(lineage("mirror", str(vault), "--once", "--yes", "--json").json).keys() == {"deleted"}


def test_a_folder_that_can_t_be_a_mirror_is_refused(lineage: LineageCommand, tmp_path: Path) -> None:
    for folder in (str(lineage.root), str(lineage.root / "within"), str(tmp_path), "s3://b/notes"):
        assert lineage("mirror", folder, "--once").code == 2, folder
    assert LineageCommand(tmp_path / "none", lineage._capture)("mirror", str(tmp_path / "vault"), "--once").code == 1
    assert not (tmp_path / "vault").exists()


def test_a_folder_has_one_mirror(lineage: LineageCommand, tmp_path: Path) -> None:
    with LocalStore(tmp_path / "vault").lock("mirror"):
        done = lineage("mirror", str(tmp_path / "vault"), "--once")
    assert (done.code, "mirrored already" in done.err) == (1, True)


def test_the_loop_goes_on_until_sigterm(lineage: LineageCommand, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "lineage", "-w", lineage.root, "mirror", tmp_path / "vault", "--every", "1"]
    with subprocess.Popen([*map(str, command), "--json"], stdout=subprocess.PIPE, env=dict(os.environ)) as process:
        assert process.stdout is not None
        try:
            assert json.loads(process.stdout.readline())["pulled"] > 1
            (lineage.root / "Plans.md").write_text("theirs")
            assert counts(json.loads(process.stdout.readline())) == {"pulled": 1}
            assert (tmp_path / "vault" / "Plans.md").read_text() == "theirs"
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        finally:
            process.kill()


def test_no_failure_of_the_world_ends_the_loop_and_each_is_told_once() -> None:
    rounds, told, done = folder_mirror.RoundTimer(0.0), [], []
    answers: list[MirrorResult | LineageError] = [
        StoreUnavailable("away"),
        StoreUnavailable("away"),
        MirrorResult(),
        StoreUnavailable("away"),
    ]

    def mirror(_: bool) -> MirrorResult:
        answer = answers.pop(0)
        if not answers:
            rounds.stop()
        if isinstance(answer, LineageError):
            raise answer
        return answer

    folder_mirror.run_rounds(mirror, rounds, done.append, lambda error: told.append(error.message))
    assert (told, len(done)) == (["away", "away"], 1)


def test_two_laptops_over_a_bucket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"{engines.start_object_store().url}/{uuid4().hex}"
    vaults = {name: tmp_path / name / "vault" for name in ("one", "two")}

    def on(name: str, *arguments: str) -> Any:
        monkeypatch.setenv("HOME", str(tmp_path / name))
        capsys.readouterr()
        with patch.dict(os.environ):  # what a command sets ends with its process: a mirror silences hooks
            assert run(["-w", url, *arguments, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    for name in vaults:
        configure(tmp_path / name, engines.start_object_store().settings())
    on("one", "init")
    end = ("session-end", "--harness", "claude-code", "--transcript-path", str(SAMPLE), "--session-id")
    on("two", *end, "s-1")
    on("two", *end, "s-2")
    for name, vault in vaults.items():
        assert counts(on(name, "mirror", str(vault), "--once")).keys() == {"pulled"}
    (vaults["one"] / "Plans.md").write_text("mine")
    on("one", "mirror", str(vaults["one"]), "--once")
    token = on("two", "-w", str(vaults["two"]), "remove", "s-1", "--reason", "asked", "--yes")["session_token"]
    assert on("two", "mirror", str(vaults["two"]), "--once")["removed"] == [token]
    assert on("one", "mirror", str(vaults["one"]), "--once")["removed"] == [token]
    for vault in vaults.values():
        assert [path.name for path in vault.rglob(f"*{token}*")] == [f"{token}.md"]
        assert (vault / "Plans.md").read_text() == "mine"
    assert on("one", "verify")["findings"] == []
