"""`lineage admin sanitize`: a file or stdin without its secrets, and a report that says where they are and not what."""

import base64
import json
import re
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


def test_each_finding_is_explained_and_never_shown_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither with all of its characters nor with more than the first two, and of a short one none."""
    notes = tmp_path / "notes.txt"
    named, short, hidden = "Zk39fjQ2mVx81LpTr7Wq", "xK9#mP2$", base64.b64encode(f"AWS key {KEY}".encode()).decode()
    notes.write_text(f'one\ntwo {KEY}\nAPI_KEY="{named}"\nPGPASSWORD={short}\nsee {hidden}\n')
    lineage = LineageCommand(tmp_path / "vault", capsys)
    shown = lineage("sanitize", "--explain", str(notes)).out
    assert f'{notes}:2:5: aws-access-key-id: its form, which has "akia"\n  20 characters, AK…\n' in shown
    assert re.search(r':3:10: [a-z-]+: a name with "(?:api_)?key" before it\n  20 characters, Zk…\n', shown)
    assert re.search(r':4:12: [a-z-]+: a name with "pass(?:word)?" before it\n  8 characters\n', shown)
    assert ":5:5: aws-access-key-id: a name or form that shows when it is decoded or joined" in shown
    assert "4 findings (sanitize_transcript_v1+" in shown
    for value in (KEY, named, short, hidden):
        assert value[:3] not in shown
    found = json.loads(lineage("sanitize", "--explain", "--json", str(notes)).out)
    assert found["findings"][0] == {
        "rule": "aws-access-key-id", "line": 2, "column": 5, "why": 'its form, which has "akia"', "length": 20,
        "head": "AK",
    }  # fmt: skip
    assert [finding["head"] for finding in found["findings"]] == ["AK", "Zk", "", hidden[:2]]
    assert found["sanitizer_version"].startswith("sanitize_transcript_v1+")


def test_stdin_is_explained_to_a_pipe_and_a_value_that_is_a_rule_s_own_keyword_is_not_cited(tmp_path: Path) -> None:
    (tmp_path / "lineage.toml").write_text('[sanitizer]\nrules_path = "own.toml"\n')
    (tmp_path / "own.toml").write_text(
        '[[rules]]\nid = "mine"\nregex = "the (quokka-of-rottnest)"\nkeywords = ["quokka-of-rottnest"]\n'
    )
    (tmp_path / "memory").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "lineage", "-w", str(tmp_path), "sanitize", "--explain", "-"],
        input="it is the quokka-of-rottnest\n", capture_output=True, check=True, text=True,
    )  # fmt: skip
    assert "<stdin>:1:11: mine: its form\n  18 characters, qu…\n" in done.stdout
    assert "quo" not in done.stdout


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
