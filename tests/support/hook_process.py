"""Running `lineage hook` in tests as a harness does: a process of its own, a payload on stdin."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from lineage.cli import hook_entry as bell
from lineage.cli.hook_context import read_context
from lineage.pipeline.ingest.locate_transcript import HarnessHistories
from lineage.pipeline.ingest.worker import DrainResult, SweepResult, drain, sweep
from lineage.projects import list_context_names
from lineage.telemetry import SeenSession
from tests.support.concurrency import PROJECT
from tests.support.dead_processes import read_artifacts
from tests.support.workspace import open_test_workspace

LATER = "2099-01-01T00:00:00.000Z"
NO_WORKER = {"LINEAGE_NO_WORKER": "1"}
UNHURRIED_SECONDS = 30.0
"""Time for an answer of recall where a test isn't about the time: a machine may be busy."""

_UNHURRIED = f"""
from lineage.__main__ import main
from lineage.cli import hook_recall
hook_recall.BUDGET_SECONDS = {UNHURRIED_SECONDS}
main()
"""


def hook_command(root: Path, harness: str = "claude-code", *more: str) -> list[str]:
    return [sys.executable, "-m", "lineage", "hook", harness, "--workspace", str(root), *more]


def unhurried_hook_command(root: Path, *more: str) -> list[str]:
    """Claude Code's hook that may take longer to answer than a person waits."""
    return [sys.executable, "-c", _UNHURRIED, *hook_command(root, "claude-code", *more)[3:]]


def build_environment(**more: str) -> dict[str, str]:
    """This process's, with the project importable from anywhere."""
    return {**os.environ, "PYTHONPATH": str(PROJECT), **more}


def make_payload(event: str = "SessionEnd", session: str = "s-1", **more: Any) -> dict[str, Any]:
    """Claude Code's."""
    return {"hook_event_name": event, "session_id": session, "cwd": "/home/ada/demo", **more}


def run_hook(
    root: Path, value: Any, harness: str = "claude-code", *more: str, **variables: str
) -> "subprocess.CompletedProcess[bytes]":
    """Rings with a JSON value, or with bytes as they are; no worker is started unless LINEAGE_NO_WORKER is empty."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return subprocess.run(
        hook_command(root, harness, *more),
        input=data,
        capture_output=True,
        env=build_environment(**{**NO_WORKER, **variables}),
        check=False,
        timeout=120,
    )


def read_spooled_events(root: Path) -> list[dict[str, Any]]:
    """The spooled events as they lie there, by name."""
    return [json.loads(path.read_bytes()) for path in list_spooled_paths(root)]


def list_spooled_paths(root: Path) -> list[Path]:
    return sorted((root / ".lineage/spool/signals").glob("*"))


@contextmanager
def run_harness() -> "Iterator[subprocess.Popen[bytes]]":
    """A process that stands for a harness; it is dead behind the block."""
    with subprocess.Popen(["sleep", "600"]) as process:
        try:
            yield process
        finally:
            process.kill()


def read_hook_log(root: Path) -> str:
    path = root / ".lineage/log/hook.log"
    return path.read_text() if path.exists() else ""


def wait_until(condition: Callable[[], bool], what: str = "") -> None:
    """Waits for what another process does; fails after two minutes."""
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, f"it never came: {what}"
        time.sleep(0.05)


def list_worker_pids(root: Path) -> list[int]:
    """The ids of the processes that are `lineage work` of a workspace. Linux only."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"work" in words and os.fsencode(root) in words and b"lineage" in words:
                found.append(int(entry.name))
    return found


def append_transcript(path: Path, *texts: str) -> Path:
    """A transcript of Claude Code's, or more of it; last written to an hour ago."""
    with path.open("a") as file:
        for number, text in enumerate(texts, path.stat().st_size):
            message = {"role": "user", "content": text}
            record = {"type": "user", "message": message, "uuid": f"{path.stem}-{number}", "sessionId": path.stem}
            file.write(json.dumps({**record, "timestamp": "2026-10-02T09:00:00.000Z", "cwd": "/home/ada/demo"}) + "\n")
    os.utime(path, (1_790_000_000, 1_790_000_000))
    return path


def enqueue_in_process(
    root: Path, value: Mapping[str, Any], harness: str = "claude-code", agent: str = "default"
) -> None:
    """Rings in this process; no worker is started."""
    with patch.dict(os.environ, {"LINEAGE_NO_WORKER": "1"}):
        bell.enqueue(str(root), harness, agent, dict(value))


def make_end_payload(path: Path, session: str | None = None, **more: Any) -> dict[str, Any]:
    return make_payload("SessionEnd", session or path.stem, transcript_path=str(path), **more)


def make_machine(home: Path) -> HarnessHistories:
    return HarnessHistories(home, {})


def drain_spool(root: Path, home: Path, now: str = LATER) -> DrainResult:
    with open_test_workspace(root, now=now) as ws:
        return drain(ws, make_machine(home))


def run_sweep(root: Path, home: Path, now: str = LATER) -> SweepResult:
    with open_test_workspace(root, now=now) as ws:
        return sweep(ws, make_machine(home))


def read_seen_sessions(root: Path) -> list[SeenSession]:
    with open_test_workspace(root) as ws:
        return ws.telemetry.list_seen_sessions()


def list_captured(root: Path, kind: str = "transcript") -> list[Any]:
    return [artifact for artifact in read_artifacts(root) if artifact.kind == kind]


def read_context_block(root: Path, folder: str = "/home/ada/demo", agent: str = "default") -> str:
    return read_context(str(root), agent, list_context_names(folder)).text
