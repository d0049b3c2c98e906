"""`lineage sanitize`: a file or stdin without its secrets, and a report that says where they are and not what."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import LineageCommand

KEY = "AKIA" + "QWERTYUIOPASDFGH"


def test_a_file_comes_out_without_its_secrets_and_otherwise_as_it_was(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    from lineage.cli.main import run

    notes = tmp_path / "notes.txt"
    notes.write_text(f"first line\nthe key is {KEY}, keep it\nümlaut and 語\n", encoding="utf-8")
    assert run(["sanitize", str(notes)]) == 0
    out = capfdbinary.readouterr().out.decode()
    assert out == "first line\nthe key is [REDACTED:aws-access-key-id], keep it\nümlaut and 語\n"


def test_the_report_names_rule_and_place_and_never_the_secret(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text(f"one\ntwo {KEY}\n")
    lineage = LineageCommand(tmp_path / "vault", capsys)
    shown = lineage("sanitize", "--report", str(notes))
    assert f"{notes}:2:5: aws-access-key-id" in shown.out
    assert "1 finding" in shown.out
    assert KEY not in shown.out
    found = json.loads(lineage("sanitize", "--json", str(notes)).out)
    assert found["findings"] == [{"rule": "aws-access-key-id", "line": 2, "column": 5}]
    assert found["sanitizer_version"].startswith("sanitize_transcript_v1+")


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_stdin_is_read_in_chunks_whatever_its_encoding(tmp_path: Path, encoding: str) -> None:
    filler = "an ordinary line of prose, ünd nothing in it\n"
    text = filler * 30_000 + f"token {KEY}\n" + filler * 10
    done = subprocess.run(
        [sys.executable, "-m", "lineage", "-w", str(tmp_path / "none"), "sanitize"],
        input=text.encode(encoding), capture_output=True, check=True,
    )  # fmt: skip
    assert done.stdout.decode() == text.replace(KEY, "[REDACTED:aws-access-key-id]")


def test_a_missing_file_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert LineageCommand(tmp_path, capsys)("sanitize", str(tmp_path / "none.txt")).code == 2
