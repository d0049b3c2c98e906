"""A workspace that can only be read: a mounted backup, another user's vault.

What each guard rests on: `is_writable` in `run_in_workspace`; the overlay in `open_workspace`; `_copy_databases`, which
passes over what it may not read.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.commands import CommandResult, LineageCommand
from tests.support.concurrency import PROJECT
from tests.support.dead_processes import read_all_files

pytestmark = pytest.mark.slow

READS = (
    ("search", "importer"), ("show", "s-1"), ("sessions",), ("context",), ("status",), ("verify",), ("book", "list"),
    ("book", "show", "global", "note"),
)  # fmt: skip
_AS_NOBODY = ("setpriv", "--reuid=65534", "--regid=0", "--clear-groups")
Run = Callable[..., CommandResult]


@pytest.fixture
def vault(capsys: pytest.CaptureFixture[str]) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # other users don't reach the folder of a test
        lineage = LineageCommand(Path(folder) / "w", capsys)
        assert lineage("init", "--shared").code == 0
        assert lineage.end_sample(session="s-1").code == 0
        assert lineage("remember", "The staging server is rebuilt every night.").code == 0
        yield lineage.root


def run(vault: Path, words: tuple[str, ...], way: str) -> CommandResult:
    command = [sys.executable, "-m", "lineage", "--workspace", str(vault), *words]
    if way == "mount":
        script = f'mount --bind "{vault}" "{vault}" && mount -o remount,bind,ro "{vault}" && exec "$@"'
        command = ["unshare", "--mount", "sh", "-c", script, "sh", *command]
    else:
        command = [*_AS_NOBODY, *command]
    environment = {**os.environ, "HOME": "/nonexistent", "PYTHONPATH": str(PROJECT), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd="/", check=False)
    return CommandResult(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("way", ["mount", "another user"])
@pytest.mark.parametrize("index", [True, False])
def test_everything_that_reads_works_and_writes_nothing(vault: Path, way: str, index: bool) -> None:
    if not index:
        for path in (vault / ".lineage").glob("*.db*"):
            path.unlink()
    probe = run(vault, ("--version",), way)
    if probe.code:
        pytest.skip(f"no such {way} here: {probe.err}")
    before = read_all_files(vault)
    for words in READS:
        ran = run(vault, words, way)
        assert ran.code == 0, (words, ran)
    assert "importer" in run(vault, ("search", "importer"), way).out
    assert "staging server" in run(vault, ("context",), way).out
    assert len(json.loads(run(vault, ("sessions", "--json"), way).out)["sessions"]) == 1
    for words in (("remember", "This can be written nowhere."), ("recover",), ("reindex",)):
        assert run(vault, words, way).code == 1, words
    assert read_all_files(vault) == before
