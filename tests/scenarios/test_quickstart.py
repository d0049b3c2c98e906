"""`scripts/quickstart` in a fresh clone: a real environment, an own home, the sample or own sessions."""

import os
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.commands import SAMPLE, SAMPLE_ID
from tests.support.installations import copy_sources

pytestmark = pytest.mark.slow

SETTINGS = '{"model": "opus"}'


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("quickstart") / "clone"
    copy_sources(folder)
    run_script(folder / "scripts" / "environment", folder.parent)  # what pip leaves in a home is not the script's
    return folder


def run_script(script: Path, folder: Path, *words: str) -> str:
    home = {"HOME": str(folder), "LINEAGE_NO_WORKER": "1"}
    others = {name: value for name, value in os.environ.items() if not name.startswith(("LINEAGE", "SIGNET", "XDG"))}
    done = subprocess.run(
        [str(script), *words], env={**others, **home}, cwd=folder, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def read_files(folder: Path) -> Mapping[str, bytes]:
    """Every file of a home but the set-up's own journal."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    names = {str(path.relative_to(folder)): path.read_bytes() for path in files}
    return {name: data for name, data in names.items() if not name.startswith(".local/state/lineage")}


@pytest.mark.parametrize("has_sessions", [False, True], ids=["sample", "own sessions"])
def test_it_shows_what_an_agent_is_told_and_its_undo_leaves_nothing(
    clone: Path, tmp_path: Path, has_sessions: bool
) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text(SETTINGS, encoding="utf-8")
    words: tuple[str, ...] = ()
    memory = tmp_path / "lineage-trial"
    if has_sessions:
        history = tmp_path / ".claude" / "projects" / "-home-ada-reader" / f"{SAMPLE_ID}.jsonl"
        history.parent.mkdir(parents=True)
        history.write_bytes(SAMPLE.read_bytes())
        words, memory = ("a try",), tmp_path / "a try"
    before = read_files(tmp_path)
    shown = run_script(clone / "scripts" / "quickstart", tmp_path, *words)
    assert ("capturing the bundled sample" in shown) == (not has_sessions)
    told = shown.split("What an agent would be told at its next start in /home/ada/reader:")[1]
    assert "csv module instead of splitting" in told
    assert (memory / "MEMORY.md").is_file()
    assert not (clone / "vault").exists()
    (undo,) = (line.removeprefix("To undo: ") for line in shown.splitlines() if line.startswith("To undo: "))
    assert read_files(tmp_path) != before
    again = run_script(clone / "scripts" / "quickstart", tmp_path, *words)
    assert ("rm -r" in again) == (not has_sessions), "a folder that was there and has no name of ours stays"
    subprocess.run(undo, shell=True, check=True, cwd=tmp_path)
    assert read_files(tmp_path) == before
    assert shlex.split(undo, comments=True) == ["rm", "-r", str(memory)]
