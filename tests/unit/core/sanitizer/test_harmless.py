"""Real output of programs, lock files, logs, key listings and code without a secret: the sanitizer leaves it alone.

Each file of `tests/data/harmless` was made by a program run on a small project of its own. What is found in one
nevertheless stands in `findings.toml`, with the reason.
"""

import tomllib
from collections import Counter
from pathlib import Path

import pytest

from lineage.core.sanitizer import Sanitizer

_HARMLESS = Path(__file__).parents[3] / "data" / "harmless"
_FILES = sorted(path.relative_to(_HARMLESS).as_posix() for path in _HARMLESS.glob("*/*"))
_LISTED = tomllib.loads((_HARMLESS / "findings.toml").read_text(encoding="utf-8")).get("finding", [])


@pytest.mark.parametrize("file", _FILES)
def test_harmless_text_stays(file: str) -> None:
    text = (_HARMLESS / file).read_text(encoding="utf-8")
    listed = {row["rule"]: row["count"] for row in _LISTED if row["file"] == file}
    found = Sanitizer().find_secrets(text)
    lines = text.split("\n")
    told = "\n".join(f"{finding.rule}, line {finding.line}: {lines[finding.line - 1][:200]}" for finding in found)
    assert Counter(finding.rule for finding in found) == listed, told
    if not listed:
        assert Sanitizer().sanitize(text) == text


def test_what_is_listed_has_a_file_and_a_reason_and_is_listed_once() -> None:
    assert {row["file"] for row in _LISTED} <= set(_FILES)
    assert all(row["reason"] and row["count"] > 0 for row in _LISTED)
    assert len({(row["file"], row["rule"]) for row in _LISTED}) == len(_LISTED)
