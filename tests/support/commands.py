"""Running the command line in tests: in process for speed, as real processes where it matters."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from lineage.cli.main import run

SAMPLE = Path(__file__).parents[2] / "scripts" / "sample" / "claude-code.jsonl"
SAMPLE_ID = "5f0c2f7e-1d7a-5b7e-9c55-7a1d6e0c9b11"


@dataclass(frozen=True)
class CommandResult:
    """How a command ended: exit code, stdout, stderr."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class LineageCommand:
    """The command line on one workspace, in this process; `capture` is pytest's capsys."""

    def __init__(self, root: Path, capture: Any) -> None:
        self.root = root
        self._capture = capture

    def __call__(self, *arguments: str) -> CommandResult:
        self._capture.readouterr()
        make_workspace_for(self.root, arguments)
        with patch.dict(os.environ):  # what a command sets ends with its process: `work` silences hooks
            code = run(["--workspace", str(self.root), *arguments])
        printed = self._capture.readouterr()
        return CommandResult(code, printed.out, printed.err)

    def end_sample(self, *more: str, path: Path = SAMPLE, session: str = SAMPLE_ID) -> CommandResult:
        arguments = ("--harness", "claude-code", "--session-id", session, "--transcript-path", str(path))
        return self("session-end", *arguments, *more)


def make_workspace_for(root: Path, arguments: Sequence[str]) -> None:
    """Make an empty workspace for a command that captures: as `init` and hooks do, and no typing does."""
    is_capture = arguments[0] in ("session-end", "compaction", "import", "work") and "--dry-run" not in arguments
    if is_capture and root.is_absolute() and not root.is_file():
        for folder in (root, root / ".lineage"):
            if not folder.is_symlink():
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def run_process(root: Path, *arguments: str, stdin: bytes = b"", **environment: str) -> CommandResult:
    """The command line as a process of its own."""
    make_workspace_for(root, arguments)
    done = subprocess.run(
        [sys.executable, "-m", "lineage", "--workspace", str(root), *arguments],
        input=stdin,
        capture_output=True,
        env={**os.environ, **environment},
        check=False,
    )
    return CommandResult(done.returncode, done.stdout.decode(), done.stderr.decode())
