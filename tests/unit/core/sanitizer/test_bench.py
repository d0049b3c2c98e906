"""`scripts/bench sanitize` prints recall, findings and speed, and nothing of what it found. No figure is asserted."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.core.sanitizer.material import SECRETS

_SCRIPTS = Path(__file__).parents[4] / "scripts"


@pytest.mark.slow
def test_findings_in_transcripts_are_counted_and_not_shown(tmp_path: Path) -> None:
    (tmp_path / "session.jsonl").write_text(
        f'{{"text": "it is {SECRETS["npm"]}"}}\nno JSON {SECRETS["aws"]}\n', "utf-8"
    )
    command = [sys.executable, "-m", "benchmarks", "sanitize", "--seed", "3", "--cases", "8", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(_SCRIPTS)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    made_up = ("tokens of ", "passwords and keys in ", "whole/part, in %", "harmless lines unchanged, seed 3")
    for said in ("own families: ", "disguises: ", *made_up, "MB/s", "findings a MB", "changed by a second run: 0"):
        assert said in done.stdout
    assert not any(secret in done.stdout for secret in SECRETS.values())
